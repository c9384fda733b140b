# SPDX-License-Identifier: Apache-2.0
"""What is checked of each client: allowed works, denied is told with name and port, asked is held until answered."""
import glob
import os

from run import USER, check, checks, expect  # noqa: F401


def allowed(world, *argv, policy=None, told="hello"):
    result = world.box(list(argv), policy)
    expect(result.code == 0 and told in result.out, result, "allowed, and did not work")
    expect(not result.denials(layer="network"), result, "allowed, and there are denials")
    return result


def denied(world, *argv, port=80, host="denied.test", told=None, policy=None):
    result = world.box(list(argv), policy)
    expect(result.code != 0 or result.out.startswith("403"), result, "denied, and worked")  # the proxy answers, too
    expect(result.denials(target=host, port=port), result, "no event with name and port")
    one = result.denials(target=host, port=port)[0]
    expect(one["reason"] == "nothing goes to denied.test" and one["alternative"] == "use allowed.test", result, "reason or alternative is another")
    expect(result.seconds < 15, result, "a denial took long")
    expect(told is None or told in result.out, result, "the client does not say it")


def asked(world, *argv, port=80):
    result = world.box(list(argv), ask="once")
    expect(result.code == 0 and "hello" in result.out, result, "granted, and did not work")
    expect(len(world.questions()) >= 1 and world.questions()[0]["target"] == "asked.test" and world.questions()[0]["port"] == port, result, "the question is another")
    result = world.box(list(argv), ask="deny")
    expect((result.code != 0 or result.out.startswith("403")) and result.denials(target="asked.test", port=port), result, "refused, and worked or was not told")


def fetches(name, *argv, https=True, environment=None):
    """The three outcomes of a program that takes URLs, over http and, where it can, https."""
    def words(world):
        return [str(word).replace("@", str(world.programs)) for word in argv]

    def run_allowed(world):
        allowed(world, *words(world), "http://allowed.test/x")
        if https:
            allowed(world, *words(world), "https://sub.allowed.test/x")

    def run_denied(world):
        denied(world, *words(world), "http://denied.test/x")
        if https:
            denied(world, *words(world), "https://denied.test/x", port=443)

    def run_asked(world):
        asked(world, *words(world), "http://asked.test/x")

    for suffix, fn in (("allowed", run_allowed), ("denied", run_denied), ("asked", run_asked)):
        fn.__name__ = f"{name}_{suffix}"
        check(fn)


MACHINES = sorted(glob.glob("/usr/lib/jvm/*-jdk-*/bin/java") + glob.glob("/usr/lib/jvm/java-[0-9][0-9]-*/bin/java"))
JAVA_PLAIN = ["-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx256m", "-cp", "@", "Fetch"]
JAVA = ["java", "-Djavax.net.ssl.trustStore=@/../root.p12", "-Djavax.net.ssl.trustStorePassword=changeit", *JAVA_PLAIN]
fetches("curl", "curl", "-sS", "--fail", "--noproxy", "*")
fetches("curl_by_proxy", "curl", "-sS", "--fail")
fetches("wget", "wget", "-q", "-O", "-", "--tries=1", "--no-proxy")
fetches("urllib", "/usr/bin/python3", "@/fetch.py", "urllib")
fetches("requests", "@/venv/bin/python", "@/fetch.py", "requests")
fetches("httpx", "@/venv/bin/python", "@/fetch.py", "httpx")
fetches("asyncio", "/usr/bin/python3", "@/fetch.py", "asyncio", https=False)
fetches("node_fetch", "node", "@/fetch.mjs")
fetches("go_static", "@/fetch-go")
fetches("rust_static", "@/fetch-rust", https=False)
fetches("java_nio", *JAVA)


@check
def curl_says_why(world):
    denied(world, "curl", "-sS", "--noproxy", "*", "http://denied.test/", told="use allowed.test")
    result = world.box("curl -sS https://denied.test/")
    expect("403" in result.out, result, "curl does not print the proxy's refusal")
    result = world.box("curl -sS http://denied.test/")
    for word in ("denied.test", "nothing goes to denied.test", "use allowed.test", "rule"):
        expect(word in result.out, result, f"the problem document has no {word}")


@check
def git_over_https(world):
    result = world.box("git clone -q https://git.allowed.test/git/one.git c && cd c && cat README && git checkout -q -b topic-$$ && git commit -q --allow-empty -m x && git push -q origin HEAD")
    expect(result.code == 0 and "a repository" in result.out, result)
    denied(world, "git", "clone", "https://denied.test/git/one.git", "d", port=443)


def ssh_command(world, host):
    key = world.work / "key"
    key.write_bytes((world.folder / "user_key").read_bytes())
    key.chmod(0o600)
    if world.user == "user":
        os.chown(key, USER, USER)
    return f"ssh -F none -i {key} -o UserKnownHostsFile={world.folder}/known_hosts -o StrictHostKeyChecking=yes -o BatchMode=yes"


@check
def git_over_ssh(world):
    command = ssh_command(world, "git.allowed.test")
    result = world.box(f"GIT_SSH_COMMAND='{command}' git clone -q root@git.allowed.test:{world.folder}/repositories/one.git s && cat s/README")
    expect(result.code == 0 and "a repository" in result.out, result)
    denied(world, "sh", "-c", f"{command} root@denied.test true", port=22)


@check
def postgres(world):
    result = world.box(["psql", "-h", "db.allowed.test", "-U", "test", "-d", "postgres", "-Atc", "select 40 + 2"])
    expect(result.code == 0 and "42" in result.out, result)
    denied(world, "psql", "-h", "denied.test", "-U", "test", "-d", "postgres", "-c", "select 1", port=5432)


@check
def grpc_over_http2(world):
    python = "/usr/bin/python3"
    result = world.box([python, world.programs / "call_grpc.py", "grpc.allowed.test:50051"])
    expect(result.code == 0 and "answer heard hello" in result.out, result)
    result = world.box([python, world.programs / "call_grpc.py", "grpc.allowed.test:50052", world.folder / "root.pem"])
    expect(result.code == 0 and "answer heard hello" in result.out, result)
    denied(world, python, world.programs / "call_grpc.py", "denied.test:50051", port=50051)


@check
def websocket(world):
    for url in ("ws://ws.allowed.test:8090/", "wss://ws.allowed.test:8453/"):
        result = world.box(["node", world.programs / "socket.mjs", url])
        expect(result.code == 0 and "echo ping" in result.out, result)
    denied(world, "node", world.programs / "socket.mjs", "ws://denied.test:8090/", port=8090)


@check
def socks(world):
    result = world.box('curl -sS --fail -x "socks5h://${HTTP_PROXY#http://}" http://allowed.test/ && ! curl -sS -x "socks5h://${HTTP_PROXY#http://}" http://denied.test/')
    expect(result.code == 0 and "hello" in result.out and result.denials(target="denied.test", port=80), result)


@check
def own_server_beside_an_outside_service(world):
    """A dev server in the box on the port of an allowed outside service, on 127.0.0.1 and on 0.0.0.0."""
    for address in ("127.0.0.1", "0.0.0.0"):
        result = world.box(f"""mkdir -p site && echo mine >site/index.html && cd site && python3 -m http.server --bind {address} 8080 >/dev/null 2>&1 &
for i in $(seq 100); do curl -sf --noproxy '*' http://127.0.0.1:8080/ && break; sleep 0.1; done
curl -sS --fail --noproxy '*' http://allowed.test:8080/""")
        expect(result.code == 0 and "mine" in result.out and "hello" in result.out and not result.denials(layer="network"), result, address)


@check
def private_addresses(world):
    result = world.box("curl -sS -m 10 http://private.allowed.test/; curl -sS -m 10 http://metadata.allowed.test/; curl -sS -m 10 --noproxy '*' http://10.9.9.9/")
    expect(result.code != 0 and "hello" not in result.out, result)
    for name in ("private.allowed.test", "metadata.allowed.test", "10.9.9.9"):
        expect(result.denials(target=name, port=80), result, "no event for " + name)


@check
def host_loopback(world):
    result = world.box("curl -sS -m 10 --noproxy '*' http://127.0.0.1:8123/")
    expect(result.code != 0 and "hello" not in result.out, result)
    policy = world.policy({"host_loopback": [8123]})
    for address in ("127.0.0.1", "localhost"):
        result = world.box(f"curl -sS -m 10 --fail --noproxy '*' http://{address}:8123/", policy)
        expect(result.code == 0 and "hello" in result.out, result)


@check
def offline_tools_are_quick(world):
    """Mode none: no tool waits for a time-out, and the event names host and port."""
    tools = {"pip": f"{world.programs}/venv/bin/pip install --disable-pip-version-check --retries 0 -q nothing-of-that-name", "npm": "npm view --fetch-retries 0 nothing-of-that-name",
             "git": "git ls-remote https://outside.test/x.git", "go": "cd /tmp && mkdir g && cd g && go mod init x.test/y 2>/dev/null && GOFLAGS=-mod=mod go get outside.test/m@v1.0.0",
             "cargo": "CARGO_HOME=/tmp/cargo cargo search nothing-of-that-name", "curl": "curl -sS https://outside.test/"}
    for name, command in tools.items():
        result = world.box(command, world.policy({"mode": "none", "allow": [], "ask": [], "deny": []}, environment={"pass": ["PATH", "LANG"], "set": {"HOME": str(world.work)}}))
        expect(result.code not in (0, 125, 126, 127), result, name)
        expect([e for e in result.denials(request="connect") if e.get("port") in (443, 80) and "." in e["target"]], result, name + ": no event with host and port")
        expect(result.seconds < 10, result, name + " waits")
