#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints each figure beside its baseline from the same run, with the ratio and the goal: run.py BUILD [NAME...]

Medians of repeated, alternating runs.  Nothing here is a test: machines are shared and noisy."""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = BUILD / "cli" / "agentbox"
CALLS = BUILD / "bench" / "calls"
NOTIFIED = BUILD / "bench" / "notified"
work = tempfile.mkdtemp(prefix="agentbox-bench.", dir="/var/tmp")
rows = []


def row(name, ours, baseline, unit, goal, against="bare"):
    ratio = ours / baseline if baseline else float("nan")
    rows.append((name, f"{ours:.4g} {unit}", f"{baseline:.4g} {unit} {against}", f"{ratio:.2f}", goal))
    print(f"{name:52} {ours:10.4g} {unit:3} | {baseline:10.4g} {unit:3} {against:18} | ratio {ratio:6.2f} | goal {goal}", flush=True)


def policy(name, **filesystem):
    path = f"{work}/{name}.json"
    document = {"version": 1, "filesystem": {"read": {"allow": ["/"]}, "write": {"allow": [f"{work}/ws", "/tmp"]}}}
    for section, value in filesystem.items():
        document["filesystem"][section] = {**document["filesystem"].get(section, {}), **value}
    with open(path, "w") as file:
        json.dump(document, file)
    return path


def boxed(policy_file, *command):
    return [str(TOOL), "run", "--policy", policy_file, "--workspace", f"{work}/ws", "--var", f"home={work}/home", "--", *command]


def output(command):
    done = subprocess.run(command, capture_output=True, text=True, cwd=f"{work}/ws")
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


# Loops run inside one box, so that only what happens in it is measured, not its opening.
LOOP = ("import subprocess,sys,time\nfor _ in range(int(sys.argv[1])):\n s=time.monotonic(); subprocess.run(sys.argv[2:],stdout=subprocess.DEVNULL,"
        "stderr=subprocess.DEVNULL,check=True); print(time.monotonic()-s)")


def seconds(command, prefix=None, repeats=7):
    loop = [sys.executable if prefix is None else "/usr/bin/python3", "-c", LOOP, str(repeats), *command]
    times = [float(line) for line in output((prefix or []) + loop).split()]
    return statistics.median(times)


def compare(name, command, policy_file, goal, repeats=7):
    prefix = boxed(policy_file)
    both = [(seconds(command, prefix, repeats), seconds(command, None, repeats)) for _ in range(3)]
    row(name, statistics.median(a for a, _ in both) * 1e3, statistics.median(b for _, b in both) * 1e3, "ms", goal)


def calls():
    plain = policy("plain", read={"deny": [f"{work}/secret"]})
    patterns = policy("patterns", read={"deny": ["**/.env"]})
    n = "20001"
    file, outside = f"{work}/ws/d/file", f"{work}/outside"

    def once(kind, path, prefix=()):
        return int(output([*prefix, str(CALLS), kind, path, n])) / 1000

    def both(name, kind, path, policy_file, goal, bare=None, answers=()):
        """`bare`: kind and path of the baseline, where they differ; `answers`: what a program that only answers calls does, each for a
        baseline more, with its name."""
        ours, theirs, least = [], [], {answer: [] for answer in answers}
        for _ in range(5):
            ours.append(once(kind, path, boxed(policy_file)))
            theirs.append(once(*(bare or (kind, path))))
            for answer in answers:
                least[answer].append(once(kind, path, (str(NOTIFIED), answer, path)))
        row(name, statistics.median(ours), statistics.median(theirs), "us", goal)
        for answer, said in dict(answers).items():
            row(f"{name}, least", statistics.median(ours), statistics.median(least[answer]), "us", "-", said)
            row(f"{name}, {said}", statistics.median(least[answer]), statistics.median(theirs), "us", "-")

    both("open for reading, denied reads masked", "read", file, plain, "<= 1.7")
    both("open for reading, read patterns", "read", file, patterns, "<= 6", answers={"given": "asked and answered", "opened": "opened and looked at"})
    both("open for writing, free place", "write", file, plain, "-")
    both("denied open", "denied", outside, plain, "<= 15 us added", ("write", file), answers={"refused": "asked and answered"})
    both("denied open, by the mask", "denied-read", f"{work}/secret/key", plain, "-", ("read", file))


def trees():
    plain = policy("plain", read={"deny": [f"{work}/secret"]})
    patterns = policy("patterns", read={"deny": ["**/.env"]})
    for directory in range(200):
        os.makedirs(f"{work}/ws/tree/{directory}", exist_ok=True)
        for number in range(100):
            with open(f"{work}/ws/tree/{directory}/{number}.c", "w") as f:
                f.write(f"int f{directory}_{number}(void);\n" * 8)
    grep = ["sh", "-c", "grep -r nothing-like-this tree; test $? = 1"]
    compare("recursive grep, 20,000 files, masked", grep, plain, "<= 1.15", 5)
    compare("recursive grep, 20,000 files, read patterns", grep, patterns, "<= 2", 3)
    subprocess.run(["tar", "cf", f"{work}/ws/tree.tar", "tree"], cwd=f"{work}/ws", check=True)
    only = ["sh", "-c", "rm -rf un; mkdir un; s=$(date +%s%N); tar xf tree.tar -C un; e=$(date +%s%N); rm -rf un; echo $((e-s))"]
    times = [(int(output(boxed(plain, *only))), int(output(only))) for _ in range(5)]
    row("unpack 20,000 files", statistics.median(a for a, _ in times) / 1e6, statistics.median(b for _, b in times) / 1e6, "ms", "<= 1.5")
    repository = f"{work}/ws/repo"
    os.makedirs(repository)
    for directory in range(50):
        os.makedirs(f"{repository}/{directory}")
        for number in range(100):
            with open(f"{repository}/{directory}/{number}", "w") as f:
                f.write("x\n")
    git = ["git", "-c", "user.name=b", "-c", "user.email=b@b", "-C", repository]
    subprocess.run(["git", "init", "-q", repository], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    compare("git status, 5,000 files", ["git", "-C", "repo", "status", "--short"], plain, "<= 1.1")


def build():
    plain = policy("plain", read={"deny": [f"{work}/secret"]})
    subprocess.run(["git", "clone", "-q", str(ROOT), f"{work}/ws/agentbox"], check=True)
    script = ("cd agentbox && rm -rf b && meson setup b -Dtests=disabled -Dfuzz=disabled -Dexamples=disabled >/dev/null && s=$(date +%s%N) && "
              "ninja -C b >/dev/null && e=$(date +%s%N) && echo $((e-s))")
    command = ["sh", "-c", script]
    times = [(int(output(boxed(plain, *command))), int(output(command))) for _ in range(3)]
    row("compile of this project", statistics.median(a for a, _ in times) / 1e9, statistics.median(b for _, b in times) / 1e9, "s", "<= 1.05")


def rows_of(command, **more):
    """Of a program that prints rows of its own: name TAB ours TAB baseline TAB unit TAB goal TAB against."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=work, **more) as program:
        for line in program.stdout:
            fields = line.rstrip("\n").split("\t")
            if len(fields) == 6:
                row(fields[0], float(fields[1]), float(fields[2]), fields[3], fields[4], fields[5])


def programs():
    for name in ("spawn", "bench_evaluate", "bench_decide", "bench_compare", "bench_audit", "boxes"):
        program = BUILD / "bench" / name
        if program.exists():  # what misses its own limit still has rows to print
            rows_of([str(program)])


def network():
    rows_of([sys.executable, str(ROOT / "bench/network.py"), str(BUILD), work])


def bindings():
    rows_of([sys.executable, str(ROOT / "bench/python.py"), str(BUILD / "lib/libagentbox.so.0"), f"{work}/ws"])
    for tool, rows_of_language in (("npm", node), ("cargo", rust)):
        if shutil.which(tool):
            rows_of_language()
        else:
            print(f"no row of {rows_of_language.__name__}: there is no {tool}", flush=True)


def node():
    """In the package as its own test makes it, with what it depends on."""
    subprocess.run([sys.executable, str(ROOT / "tests/install/node.py"), str(BUILD), f"{work}/node"], check=True, stdout=subprocess.DEVNULL)
    with open(ROOT / "bench/denials.py") as script:
        rows_of(["node", str(ROOT / "bench/denials.mjs"), f"{work}/node/package", f"{work}/ws"], stdin=script)


def rust():
    project = f"{work}/rust"
    os.makedirs(f"{project}/src")
    shutil.copy(ROOT / "bench/denials.rs", f"{project}/src/main.rs")
    with open(f"{project}/Cargo.toml", "w") as file:
        file.write('[package]\nname = "denials"\nversion = "0.1.0"\nedition = "2021"\n\n'
                   f'[dependencies]\nagentbox = {{ path = "{ROOT}/bindings/rust/agentbox" }}\n')
    libraries = str(BUILD / "lib")
    environment = dict(os.environ, AGENTBOX_LIB_DIR=libraries, LD_LIBRARY_PATH=libraries)
    subprocess.run(["cargo", "build", "--quiet", "--release", "--offline", "--target-dir", "target"], cwd=project, env=environment, check=True)
    with open(ROOT / "bench/denials.py") as script:
        rows_of([f"{project}/target/release/denials", f"{work}/ws"], stdin=script, env=environment)


def main():
    for directory in ("ws/d", "secret", "home"):
        os.makedirs(f"{work}/{directory}")
    for file in ("ws/d/file", "outside", "secret/key"):
        with open(f"{work}/{file}", "w") as f:
            f.write("x\n")
    groups = {"programs": programs, "calls": calls, "trees": trees, "build": build, "network": network, "bindings": bindings}
    try:
        for name in sys.argv[2:] or groups:
            groups[name]()
    finally:
        shutil.rmtree(work, ignore_errors=True)


main()
