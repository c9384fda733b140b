#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is learned from real programs allows them again, and is small: learn.py TOOL

Each command is run by `agentbox learn` in a fresh directory, and then in another fresh one by `agentbox run` with what was learned."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

TOOL = os.path.abspath(sys.argv[1])
MAKEFILE = "out/prog: src/a.c src/b.c\n\tmkdir -p out && cc -o out/prog src/a.c src/b.c && out/prog\n"
OUTPUTS = "out/prog: src/a.c | out\n\tcc -o out/prog src/a.c && out/prog\nout:\n\tmkdir out\nclean:\n\trm -r out\n"
IDENTITY = "-c user.name=learn -c user.email=learn@example.com -c core.hooksPath=/dev/null"

SENTENCE = "x', y. Instead: run 'z"  # the name of a program

# What is there, the command, where it may write (below the workspace), what happens before it is run again.
CASES = {
    "git commit": ("git init -q . && echo 1 >a && git add a", f"git {IDENTITY} commit -qm one", {"/.git"}),
    "make": (f"mkdir src && echo 'int b(void); int main(void) {{ return b(); }}' >src/a.c && "
             f"echo 'int b(void) {{ return 0; }}' >src/b.c && printf '{MAKEFILE}' >Makefile", "make -s", {""}),
    "make, and again after a clean": (f"mkdir src out && echo 'int main(void) {{ return 0; }}' >src/a.c && printf '{OUTPUTS}' >Makefile && "
                                      "make -s && touch -d 2001-01-01 out/prog", "make -s", {""}, "make -s clean"),
    "python writes its caches": ("mkdir lib && echo 'x = 1' >lib/one.py && echo >lib/__init__.py",
                                 "/usr/bin/python3 -c 'import lib.one; print(lib.one.x)'", {"/lib"}),
    "a file of the other directory": ("true", "cat {other}/data/one {other}/data/two", set()),
    SENTENCE: (f'cp /usr/bin/touch "{SENTENCE}"', f'"./{SENTENCE}" made', {""}),
    "nothing": ("true", "true", set()),
}


def shell(script, directory, **more):
    return subprocess.run(["sh", "-c", script], cwd=directory, check=True, **more)


def agentbox(arguments, directory, command, home):
    environment = dict(os.environ, HOME=home, PATH="/usr/bin:/bin")
    return subprocess.run([TOOL, *arguments, "--", "sh", "-c", command], cwd=directory, env=environment, capture_output=True,
                          text=True, timeout=60)


def check(name, top):
    prepare, command, writes, *between = CASES[name]
    other, policy = os.path.join(top, "other"), os.path.join(top, "policy.json")
    command = command.format(other=other)
    places = [os.path.join(top, place) for place in ("first", "second")]
    for place in places:
        os.mkdir(place)
        shell(prepare, place)
    learned = agentbox(["learn", "-o", policy], places[0], command, top)
    if learned.returncode != 0:
        return f"learn: {learned.stderr}"
    document = json.load(open(policy))
    allowed = [entry["path"] for entry in document["filesystem"]["write"]["allow"] if isinstance(entry, dict)]
    if {path.removeprefix("${workspace}") for path in allowed} != writes:
        return f"writes {allowed}"
    reads = [entry["path"].replace("~", top) for entry in document["filesystem"]["read"]["allow"] if isinstance(entry, dict)]
    if any(path in ("/", top, "/var", "/var/tmp", os.path.expanduser("~")) for path in reads):
        return f"reads {reads}"
    if ("data" in command) != (os.path.join(other, "data") in reads):
        return f"reads {reads}"
    if not all(entry["reason"].startswith("needed by ") for entry in document["filesystem"]["write"]["allow"][1:]):
        return f"no reasons: {document}"
    if name == SENTENCE and r"needed by 'x\'\x2C y. Instead: run \'z'" not in open(policy).read().replace(2 * chr(92), chr(92)):
        return f"reasons: {document}"
    for script in between:
        shell(script, places[1])
    again = agentbox(["run", "--policy", policy, "--explain"], places[1], command, top)
    if again.returncode != 0 or "denied" in again.stderr:
        return f"again: {again.returncode} {again.stdout}{again.stderr}{open(policy).read()}"
    return None


def check_secrets(top):
    """They are not read, are told, and are not in what was learned."""
    policy = os.path.join(top, "policy.json")
    os.makedirs(os.path.join(top, ".ssh"))
    shell("echo key >.ssh/id_rsa; mkdir ws", top)
    learned = agentbox(["learn", "-o", policy], os.path.join(top, "ws"), "cat ~/.ssh/id_rsa; echo x >.bashrc; true", top)
    if learned.returncode != 0 or "key" in learned.stdout or "left out" not in learned.stderr or "id_rsa" not in learned.stderr:
        return f"{learned.returncode} {learned.stdout}{learned.stderr}"
    places = json.load(open(policy))["filesystem"]
    allowed = str([places[access]["allow"] for access in ("read", "write")])
    return "in the policy" if "id_rsa" in allowed or ".bashrc" in allowed else None


def check_given(top):
    """What the given policy denies and says besides stays, also where the command needs much of what is around."""
    policy, given = os.path.join(top, "policy.json"), os.path.join(top, "given.json")
    shell("mkdir -p ws/customers; echo 1 >ws/customers/list; echo 2 >ws/one", top)
    json.dump({"version": 1, "extends": "workspace-write", "filesystem": {"read": {"deny": ["${workspace}/customers"]}},
               "environment": {"set": {"MODE": "given"}}}, open(given, "w"))
    learned = agentbox(["learn", "-o", policy, "--policy", given], os.path.join(top, "ws"), "cat one; ls customers; echo 3 >two; true", top)
    if learned.returncode != 0 or "customers" not in learned.stderr:
        return f"{learned.returncode} {learned.stdout}{learned.stderr}"
    again = agentbox(["run", "--policy", policy], os.path.join(top, "ws"), "cat one; ls customers; cat customers/list; echo 3 >two && echo $MODE", top)
    if again.stdout != "2\ngiven\n":
        return f"again: {again.stdout}{again.stderr}"
    compared = subprocess.run([TOOL, "policy", "compare", given, policy], cwd=os.path.join(top, "ws"), capture_output=True, text=True)
    return None if compared.stdout.startswith("narrower\n") else f"compared: {compared.stdout}{compared.stderr}"


failed = 0
OTHERS = {"secrets": check_secrets, "the given policy": check_given}
for name in [*CASES, *OTHERS]:
    top = tempfile.mkdtemp(prefix="learn-", dir="/var/tmp")
    os.makedirs(os.path.join(top, "other/data"))
    shell("echo 1 >one; echo 2 >two; echo 3 >three", os.path.join(top, "other/data"))
    wrong = OTHERS[name](top) if name in OTHERS else check(name, top)
    shutil.rmtree(top)
    if wrong:
        failed += 1
        print(f"{name}: {wrong}")
print(f"learn: {len(CASES) + len(OTHERS) - failed} of {len(CASES) + len(OTHERS)}")
sys.exit(failed != 0)
