#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What git says in a box is what it says outside, and no way leads to a hook, a dangerous key or a file that sends git elsewhere.
git_session.py TOOL"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

TOOL = os.path.abspath(sys.argv[1])
SESSION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "git_session.sh")

# Each is a script in a workspace with a repository at the top and one in v/x, and a prepared git directory `evil`.
ATTACKS = {
    "a hook in a repository made in the box": "echo x >v/x/.git/hooks/pre-commit",
    "a key by git config": "git -C v/x config core.fsmonitor /bin/evil",
    "a key by git config --file": "git config -f v/x/.git/config core.hooksPath /bin/evil",
    "an include": "git -C v/x config include.path ../../evil/config",
    "a key of a worktree": "git -C v/x config extensions.worktreeConfig true; git -C v/x config --worktree core.fsmonitor /bin/evil",
    "a prepared configuration that is copied": "cp evil/config v/x/.git/config",
    "a prepared configuration that is renamed": "mv evil/config v/x/.git/config",
    "a hard link to the configuration": "ln v/x/.git/config c; cat evil/config >c",
    "a prepared directory that is renamed": "mkdir m; mv -T evil m/.git",
    "a prepared directory behind a link": "mkdir m; ln -s ../evil m/.git",
    "a prepared file that is renamed": "mkdir m; echo 'gitdir: ../evil' >f; mv f m/.git",
    "a prepared file that is linked": "mkdir m; echo 'gitdir: ../evil' >f; ln f m/.git",
    "a file that leads elsewhere": "mkdir m; echo 'gitdir: ../evil' >m/.git; sleep 0.6",
    "a file that leads to a hook's directory": "mkdir m; echo 'gitdir: ../v/x/.git/objects' >m/.git; sleep 0.6",
    "a file that leads over a link": "ln -s $PWD/.git .git/objects/l; mkdir m; echo gitdir: $PWD/.git/objects/l >m/.git; sleep 0.6",
    "a file that leads out of a link":
        "ln -s $PWD/.git/refs .git/objects/l; mkdir m; echo gitdir: $PWD/.git/objects/l/.. >m/.git; sleep 0.6",
    "a file that leads behind a link": "ln -s v way; mkdir m; echo gitdir: ../way/x/.git >m/.git; sleep 0.6",
    "a separate git directory": "git init -q --separate-git-dir=evil m; sleep 0.6",
    "a worktree whose common directory is elsewhere":
        "mkdir -p .git/worktrees/t; echo ../../../evil >.git/worktrees/t/commondir; sleep 0.6",
    "a template with a hook": "mkdir -p t/hooks; cp evil/hooks/post-checkout t/hooks; git init -q --template=t m",
    "a key by clone": "git clone -q -c core.fsmonitor=/bin/evil v/x m",
    "another case": "mkdir m m/.GIT; cp evil/config m/.GIT/config",
    "a repository whose parent was renamed": "mv v w; echo x >w/x/.git/hooks/pre-commit",
    "a repository that came out of its parent": "mv v/x y; echo x >y/.git/hooks/pre-commit",
    "a git directory that is moved away, changed and moved back": "mv v/x/.git o; echo x >o/hooks/pre-commit; mv o v/x/.git",
    "a name of what was judged": "cp evil/config v/x/.git/.abx-1-0",
    "a repository that stood there": "echo x >old/.git/hooks/pre-commit",
}
PREPARE = """mkdir -p evil/objects evil/refs evil/hooks v; echo 'ref: refs/heads/main' >evil/HEAD
printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = /bin/evil\\n' >evil/config
printf '#!/bin/sh\\n' >evil/hooks/post-checkout; chmod +x evil/hooks/post-checkout
git init -q .; git init -q v/x; """


def run(work, *command):
    return subprocess.run([TOOL, "run", "--policy", f"{work}/policy.json", "--workspace", f"{work}/ws", "--var", f"home={work}/home",
                           "--cwd", f"{work}/ws", "--events", f"{work}/events", "--", *command],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=work)


def make(work):
    os.makedirs(f"{work}/ws")
    with open(f"{work}/policy.json", "w") as file:
        file.write('{"version":1,"extends":"workspace-write"}')


def compare_session(work):
    make(work)
    with open(SESSION) as file:
        script = file.read()
    outside = subprocess.run(["sh", "-c", script], cwd=f"{work}/ws", stdin=subprocess.DEVNULL, capture_output=True, text=True)
    shutil.rmtree(f"{work}/ws")
    os.mkdir(f"{work}/ws")
    inside = run(work, "sh", "-c", script)
    return [f"{name}:\n- {a}\n+ {b}" for name, x, y in (("output", outside.stdout, inside.stdout), ("errors", outside.stderr, inside.stderr))
            for a, b in zip(x.splitlines() + [""], y.splitlines() + [""]) if a != b]


# Whoever wrote a file that leads to a git directory, and goes on to something else, finds it.
FOLLOW = """git init -q .; git init -q v/x; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
mkdir m$i; echo 'gitdir: ../v/x/.git' >m$i/.git; : >/dev/null; [ -f m$i/.git ] || echo "m$i/.git is not there"; done"""


def planted(top):
    """What git would run, or follow, in directories of git below `top`."""
    found = []
    for directory, names, files in os.walk(top):
        parts = [p.lower() for p in directory.split("/")]
        for name in files + names:
            path = f"{directory}/{name}"
            if name.lower() == ".git" and (os.path.islink(path) or os.path.isfile(path)):
                found.append(path)
            if ".git" in parts and (parts[-1] == "hooks" and not name.endswith(".sample") or name == "commondir"):
                found.append(path)
            if ".git" in parts and name.startswith("config") and os.path.isfile(path) and "evil" in open(path).read():
                found.append(path)
    return found


def main():
    top = tempfile.mkdtemp(prefix="agentbox-git.", dir="/var/tmp")
    os.environ.update(GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null")
    wrong = compare_session(f"{top}/session")
    make(f"{top}/follow")
    wrong += run(f"{top}/follow", "sh", "-c", FOLLOW).stdout.splitlines()
    for i, (name, script) in enumerate(ATTACKS.items()):
        work = f"{top}/{i}"
        make(work)
        subprocess.run(["git", "init", "-q", f"{work}/ws/old"], check=True)
        result = run(work, "sh", "-c", PREPARE + script)
        with open(f"{work}/events") as file:
            denials = [e for e in map(json.loads, file) if e["type"] == "denial"]
        if planted(f"{work}/ws"):
            wrong.append(f"{name}: {planted(f'{work}/ws')}")
        if not denials:
            wrong.append(f"{name}: no event; {result.stderr}")
    shutil.rmtree(top)
    print("\n".join(wrong) if wrong else f"git is as outside; {len(ATTACKS)} attacks fail")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
