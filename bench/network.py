#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the network costs in a box, each figure beside the same without a box: network.py BUILD WORK [PART...]

The server is an nginx on the loopback of a throw-away network namespace.  For the figures that are said to be on one core it has the other
one; program and library share theirs.  Sides take turns, and medians are compared.  What a machine that has other work says of time is little:
so what the process with the library uses of a processor is told, too.  Prints rows for run.py: name TAB ours TAB baseline TAB unit TAB goal TAB
against."""
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
WORK = pathlib.Path(sys.argv[2]).resolve() / "network"
TOOL = BUILD / "cli" / "agentbox"
HTTP, HTTPS = BUILD / "bench" / "http", BUILD / "bench" / "https"
ADDRESS = "45.45.45.10"
HOST, READ = "plain.test", "read.test"  # requests to the second one are read by the library
CORES = sorted(os.sched_getaffinity(0))
ONE_CORE, OTHER_CORE = (["taskset", "-c", str(core)] for core in (CORES[0], CORES[-1]))
BULK = 512 << 20
SECONDS = 0.6  # of each run that counts answers
LIMIT = 240  # seconds for all of it

NGINX = """daemon off; master_process off; pid {work}/{name}.pid; error_log {work}/{name}.log;
events {{ worker_connections 8192; }}
http {{
  access_log off; sendfile on; keepalive_requests 100000000; keepalive_timeout 1h;
  client_body_temp_path {work}/t; proxy_temp_path {work}/t; fastcgi_temp_path {work}/t; uwsgi_temp_path {work}/t; scgi_temp_path {work}/t;
  {servers}
}}
"""
SERVER = """server {{
    listen {address}:80 backlog=4096; listen {address}:443 ssl;
    ssl_certificate {work}/server.pem; ssl_certificate_key {work}/server.key;
    root {work}/files;
    location = /small {{ default_type text/plain; return 200 "ok\\n"; }}
  }}"""
# A proxy that everyone knows, for scale.
PROXY = """upstream there {{ server {address}:80; keepalive 64; }}
  server {{
    listen {address}:8080 backlog=4096;
    location / {{ proxy_pass http://there; proxy_http_version 1.1; proxy_set_header Connection ""; }}
  }}"""


def row(name, ours, baseline, unit, goal, against="direct"):
    print(name, ours, baseline, unit, goal, against, sep="\t", flush=True)


# ---- the world ----
def run(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_world():
    (WORK / "files").mkdir(parents=True)
    (WORK / "ws").mkdir()
    with open(WORK / "files/large", "wb") as large:
        large.truncate(BULK)
    (WORK / "hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} {HOST} {READ}\n")
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={READ}",
        "-addext", f"subjectAltName=DNS:{HOST},DNS:{READ}", "-keyout", WORK / "server.key", "-out", WORK / "server.pem")
    document = {"version": 1, "filesystem": {"read": {"allow": ["/"]}, "write": {"allow": [str(WORK / "ws"), "/tmp"]}},
                "environment": {"pass": ["PATH"]},
                "network": {"mode": "filtered", "extra_ca": str(WORK / "server.pem"),
                            "allow": [HOST, {"host": READ, "http": [{"methods": ["GET"], "path": "/**"}]}]}}
    (WORK / "policy.json").write_text(json.dumps(document))


def enter_world():
    """Own addresses and names; what is changed here nobody else sees."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "addr", "add", f"{ADDRESS}/32", "dev", "lo")
    run("mount", "--bind", WORK / "hosts", "/etc/hosts")
    # Ports of connections that are over are used again, or a bare client soon has none left.
    pathlib.Path("/proc/sys/net/ipv4/tcp_tw_reuse").write_text("1")
    pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("1024 65000")


def start_nginx(name, core, servers):
    text = NGINX.format(work=WORK, name=name, servers=servers.format(address=ADDRESS, work=WORK))
    (WORK / f"{name}.conf").write_text(text)
    server = subprocess.Popen([*core, "nginx", "-c", str(WORK / f"{name}.conf")], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(200):
        if (WORK / f"{name}.pid").exists():
            return server
        time.sleep(0.02)
    sys.exit(f"nginx did not start: {(WORK / (name + '.log')).read_text()}")


# ---- measuring ----
def boxed(*words):
    return [str(TOOL), "run", "--policy", str(WORK / "policy.json"), "--workspace", str(WORK / "ws"), "--var", f"home={WORK}", "--", *map(str, words)]


def cpu_us(pid):
    """What a process has used itself, with all its threads, in user mode and in the kernel."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")


def measure(command):
    """The figures that it prints, and what it used itself."""
    command = [str(word) for word in command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=WORK / "ws") as process:
        printed = process.stdout.read()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        used = cpu_us(process.pid)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: {process.returncode}\n{printed}")
    return [float(word) for word in printed.split()], used


def output(command):
    return measure(command)[0]


def medians(runs):
    """Figure by figure."""
    return [statistics.median(figures) for figures in zip(*runs)]


def compare(commands, times):
    """The medians of each command's figures, of runs that take turns."""
    return [medians(side) for side in zip(*[[output(command) for command in commands] for _ in range(times)])]


def bulk():
    words = ["/large"]
    name = "bulk, bytes as they are"
    [ours], [direct], [proxy] = compare([boxed(HTTP, "bulk", HOST, 80, *words), [HTTP, "bulk", HOST, 80, *words], [HTTP, "bulk", HOST, 8080, *words]], 5)
    row(name, ours / 1e6, direct / 1e6, "MB/s", ">= 0.6")
    row(name, ours / 1e6, proxy / 1e6, "MB/s", "-", "nginx as a proxy")
    [ours], [direct] = compare([boxed(HTTP, "bulk", READ, 80, *words), [HTTP, "bulk", READ, 80, *words]], 5)
    row("bulk, requests read", ours / 1e6, direct / 1e6, "MB/s", "-")


def rate(host, keep, proxy):
    """Answers in a second, and us of a processor for each: in a box, bare and through the proxy."""
    def words(port):
        return [HTTP, "rate", host, port, "/small", keep, 8, SECONDS]

    def through_proxy():
        before = cpu_us(proxy.pid)
        per_second, count = output([*ONE_CORE, *words(8080)])
        return per_second, (cpu_us(proxy.pid) - before) / count

    def in_box():
        (per_second, count), used = measure([*ONE_CORE, *boxed(*words(80))])
        return per_second, (used - opening) / count

    opening = statistics.median(measure([*ONE_CORE, *boxed("true")])[1] for _ in range(5))
    return [medians(side) for side in zip(*[(in_box(), output([*ONE_CORE, *words(80)]), through_proxy()) for _ in range(5)])]


def rates(proxy):
    for keep, kind, goal in (("keep", "keep-alive", ">= 10,000/s"), ("close", "new connections", ">= 4,000/s")):
        for host, how, target in ((HOST, "", goal), (READ, ", requests read", "-")):
            ours, direct, other = rate(host, keep, proxy)
            name = f"small requests, {kind}{how}, one core"
            row(name, ours[0], direct[0], "/s", target)
            row(name, ours[0], other[0], "/s", "-", "nginx as a proxy")
            row(f"processor for each, {kind}{how}", ours[1], other[1], "us", "-", "nginx as a proxy")


def latencies():
    words = ["/small", 501]
    ours, direct = compare([boxed(HTTP, "latency", HOST, 80, *words), [HTTP, "latency", HOST, 80, *words]], 9)
    row("a new connection stands", ours[0], direct[0], "us", "<= 300 us added")
    row("a new connection and its first answer", ours[1], direct[1], "us", "-")


def tls():
    if not HTTPS.exists():
        return
    ours, direct = compare([boxed("sh", "-c", f"{HTTPS} {READ} 443 /small $SSL_CERT_FILE"), [HTTPS, READ, 443, "/small", WORK / "server.pem"]], 11)
    row("first request of a box, TLS ends here", ours[0] / 1e3, direct[0] / 1e3, "ms", "<= 6 ms added")
    row("next request on it", ours[1] / 1e3, direct[1] / 1e3, "ms", "<= 1 ms added")
    row("later connection to it", ours[2] / 1e3, direct[2] / 1e3, "ms", "-")


# ---- many, and slow ones ----
def pss_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(float(line.split()[1]) for line in file if line.startswith("Pss:"))


def memory_with(count):
    """PSS of the process that has the library, with so many connections of the box that say nothing."""
    process = subprocess.Popen(boxed(HTTP, "idle", HOST, 80, count), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=WORK / "ws")
    if process.stdout.readline() != "ready\n":
        sys.exit("idle connections: they do not stand")
    time.sleep(0.5)
    kib = pss_kib(process.pid)
    process.stdin.close()
    process.wait()
    return kib


def idle():
    many = 1000
    each = statistics.median((memory_with(many) - memory_with(1)) / (many - 1) for _ in range(3))
    row("memory of each of 1,000 idle tunnels", each, 32, "KiB", "<= 1", "32 KiB")


def stuck():
    """Others, before and while some connections of their box have all that they can hold, and nobody reads."""
    for host, how in ((HOST, "bytes as they are"), (READ, "requests read")):
        others = f"{HTTP} rate {host} 80 /small keep 4 {SECONDS}"
        begin = f"mkfifo /tmp/s; {HTTP} stuck {host} 80 /large 32 </tmp/s >/tmp/ready & exec 3>/tmp/s; until [ -s /tmp/ready ]; do sleep 0.05; done"
        [alone, _, ours, _] = medians([output(boxed("sh", "-c", f"{others}; {begin}; {others}")) for _ in range(9)])
        row(f"small requests beside 32 stuck ones, {how}", ours, alone, "/s", ">= 0.9", "without them")


def inside():
    enter_world()
    servers = [start_nginx("server", OTHER_CORE, SERVER), start_nginx("proxy", ONE_CORE, PROXY)]
    parts = {"bulk": bulk, "rates": lambda: rates(servers[1]), "latencies": latencies, "tls": tls, "idle": idle, "stuck": stuck}
    try:
        for name in sys.argv[4:] or parts:
            parts[name]()
    finally:
        for server in servers:
            server.terminate()


def main():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if sys.argv[3:4] == ["--inside"]:
        return inside()
    make_world()
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    space = ["unshare", *user, "-m", "--propagation", "private", "-n", "--pid", "--fork", "--kill-child", "--mount-proc"]
    try:  # all that was started ends with the namespace
        return subprocess.run([*space, sys.executable, __file__, str(BUILD), sys.argv[2], "--inside", *sys.argv[3:]], timeout=LIMIT).returncode
    except subprocess.TimeoutExpired:
        return f"network.py: more than {LIMIT} seconds"


sys.exit(main())
