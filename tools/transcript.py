#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints docs/transcript.md from real runs, or checks that it still is what they print: transcript.py AGENTBOX [--check]

Numbers and the words of the programs themselves may differ between versions; the explanation may not."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests/clients/programs"
URL = "https://api.example.com/v1/report"
POLICY = {"version": 1, "name": "report", "extends": "workspace-write", "filesystem": {"read": {"allow": ["/"]}},
          "network": {"mode": "filtered", "allow": ["docs.example.com"],
                      "deny": [{"host": "api.example.com", "id": "no-api", "reason": "reports leave by review only", "instead": "write it to report.md"}]}}
HEAD = """# What the model sees

One request that the policy denies, made with three programs. Each block is all that a harness would hand to the model: first what the program
printed, then the same with what `abx_process_explain` adds (`agentbox run --explain`). Made by `tools/transcript.py` from real runs.

curl goes to the host itself here and says only that it could not connect; Go and Python take the proxy of their environment and print its refusal,
which names the rule and no more. A model that reads only that looks for a broken network or another way out. The explanation names the destination,
the rule, the reason and what to do instead.
"""


def see(tool, work, command, more):
    done = subprocess.run([tool, "run", "--policy", work / "policy.json", "--workspace", work, *more, "--", *command], cwd=work, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    if done.returncode == 0:
        sys.exit(f"{command}: it was not denied\n{done.stdout}")
    return done.stdout.rstrip()


def transcript(tool):
    text = HEAD
    with tempfile.TemporaryDirectory(prefix="agentbox-transcript.", dir="/var/tmp") as folder:
        work = pathlib.Path(folder)
        os.chmod(work, 0o755)
        (work / "policy.json").write_text(json.dumps(POLICY))
        go = dict(os.environ, CGO_ENABLED="0", GO111MODULE="off", GOCACHE=str(work / "cache"))
        subprocess.run(["go", "build", "-o", work / "fetch-go", PROGRAMS / "fetch.go"], check=True, env=go)
        (work / "fetch.py").write_text((PROGRAMS / "fetch.py").read_text())
        for title, words in (("curl", ["curl", "-sS", "--noproxy", "*", URL]), ("Go", [f"{work}/fetch-go", URL]),
                             ("Python", ["/usr/bin/python3", f"{work}/fetch.py", "urllib", URL])):
            shown = " ".join(words).replace(f"{work}/", "").replace(" * ", " '*' ")
            for how, more in (("", []), (", with the explanation", ["--explain"])):
                text += f"\n## {title}{how}\n\n```\n$ {shown}\n{see(tool, work, words, more)}\n```\n".replace(str(work), "/srv/report")
    return text


def shape(text):
    """Each block's title, whether its program said something, and the explanation without numbers."""
    found = []
    for block in re.split(r"^## ", text, flags=re.M)[1:]:
        words, sandbox, explanation = block.partition("The sandbox")
        found.append((words.splitlines()[0], len(words.split("```")[1].strip().splitlines()) > 1, re.sub(r"[\d.]+", "N", sandbox + explanation)))
    return found


made = transcript(os.path.abspath(sys.argv[1]))
if sys.argv[2:] != ["--check"]:
    print(made, end="")
elif shape(made) != shape((ROOT / "docs/transcript.md").read_text()):
    sys.exit(f"docs/transcript.md is another:\n{made}")
else:
    print("docs/transcript.md is what the programs print")
