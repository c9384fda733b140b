#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions that a guest in its host's process must not call, and marks that must not stay."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
BANNED = """strcpy strcat sprintf vsprintf gets strtok strtol atoi system popen signal sleep usleep alarm
getenv localtime gethostbyname getpwnam exit abort dup dup2 waitpid wait pthread_atfork printf fprintf
puts perror chdir umask setenv putenv""".split()
word = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
bad = []
for path in sorted((root / "lib").rglob("*.[ch]")):
    if "init" in path.parts:
        continue
    text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), path.read_text(), flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    for number, line in enumerate(text.splitlines(), 1):
        for found in word.finditer(line):
            bad.append(f"{path.relative_to(root)}:{number}: {found.group(1)} is banned in lib/")
        if re.search(r"(^|[^:\"'])//", line):
            bad.append(f"{path.relative_to(root)}:{number}: // comment")
for folder in ("lib", "cli", "include", "tests", "bench", "fuzz", "tools", "examples", "bindings"):
    for path in sorted((root / folder).rglob("*")):
        if path.suffix not in (".c", ".h", ".py", ".sh") or path.name == "check-words.py":
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if re.search(r"\b(TO" + r"DO|XX" + r"X|HA" + r"CK)\b", line):
                bad.append(f"{path.relative_to(root)}:{number}: left-over mark")
print("\n".join(bad) or "words: none that are banned")
sys.exit(1 if bad else 0)
