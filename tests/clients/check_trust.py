# SPDX-License-Identifier: Apache-2.0
"""Clients whose TLS ends at the box's way out: each believes it by the files and variables of the box, with none of its own."""
import pathlib
import secrets
import subprocess
import threading
import time

from check_clients import JAVA_PLAIN, MACHINES
from run import check, expect

PAGES = {"host": "sub.allowed.test", "id": "pages", "http": [{"methods": ["GET"], "path": "/**"}]}
GIT = {"host": "git.allowed.test", "http": [{"methods": ["GET", "POST"], "path": "/git/**"}]}
NGINX = {"host": "nginx.allowed.test:8443", "http": [{"methods": ["GET"], "path": "/**"}]}
NO_VARIABLES = ["env", "-u", "SSL_CERT_FILE", "-u", "CURL_CA_BUNDLE", "-u", "REQUESTS_CA_BUNDLE", "-u", "NODE_EXTRA_CA_CERTS", "-u", "GIT_SSL_CAINFO", "-u", "JAVA_TOOL_OPTIONS"]


def policy(world, *allow, **more):
    return world.policy({"allow": list(allow), "ask": [], "deny": []},
                        environment={"pass": ["PATH", "LANG"], "set": {"HOME": str(world.work), **more.pop("environment", {})}}, **more)


def reads(name, *argv, refused="403"):
    """A GET that a rule about requests allows, and a POST that it denies, over TLS."""
    def run(world):
        words = [str(word).replace("@", str(world.programs)) for word in argv]
        result = world.box([*words, "https://sub.allowed.test/x"], policy(world, PAGES))
        expect(result.code == 0 and "hello" in result.out and not result.denials(layer="network"), result, "allowed, and did not work")
        before = len(world.seen())
        post = [word for word in words if word != "--fail"] + (["-d", "x"] if "curl" in words else ["--post-data=x"] if "wget" in words else ["POST"])
        result = world.box([*post, "https://sub.allowed.test/x"], policy(world, PAGES))
        told = [denial for denial in result.denials(layer="network") if "sub.allowed.test" in denial["target"]]
        expect(told and refused in result.out and len(world.seen()) == before, result, "denied, and not refused, not told, or the server saw it")

    run.__name__ = name + "_believes_what_reads_its_requests"
    check(run)


reads("curl", "curl", "-sS", "--fail", "--noproxy", "*")
reads("curl_by_proxy", "curl", "-sS", "--fail")
reads("curl_without_variables", *NO_VARIABLES, "curl", "-sS", "--noproxy", "*")
reads("wget", "wget", "-q", "-O", "-", "--tries=1", "--no-proxy", "--content-on-error")
reads("urllib", "/usr/bin/python3", "@/fetch.py", "urllib")
reads("urllib_without_variables", *NO_VARIABLES, "/usr/bin/python3", "@/fetch.py", "urllib")
reads("requests", "@/venv/bin/python", "@/fetch.py", "requests")
reads("httpx", "@/venv/bin/python", "@/fetch.py", "httpx_plain")
reads("node_fetch", "node", "@/fetch.mjs")
reads("go_static", "@/fetch-go")
reads("rust_static", "@/fetch-rust")
for number, machine in enumerate(MACHINES):
    reads(f"java_{number}", machine, *JAVA_PLAIN)
    reads(f"java_{number}_without_variables", *NO_VARIABLES, machine, *JAVA_PLAIN)


@check
def git_over_https_that_is_read(world):
    result = world.box("git clone -q https://git.allowed.test/git/one.git c && cat c/README && cd c && git checkout -q -b read-$$ && git commit -q --allow-empty -m x && git push -q origin HEAD",
                       policy(world, GIT, environment={"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.email", "GIT_CONFIG_VALUE_0": "t@t", "GIT_AUTHOR_NAME": "t", "GIT_COMMITTER_NAME": "t"}))
    expect(result.code == 0 and "a repository" in result.out and not result.denials(layer="network"), result)


@check
def the_store_of_java_is_one_that_keytool_reads(world):
    result = world.box("keytool -list -keystore /run/agentbox/cacerts -storepass changeit && keytool -list -cacerts -storepass changeit -rfc | openssl crl2pkcs7 -nocrl -certfile /dev/stdin | openssl pkcs7 -print_certs -noout",
                       policy(world, PAGES))
    expect(result.code == 0 and "trustedCertEntry" in result.out and "agentbox" in result.out.lower() and "CN = Test Root" in result.out, result)


@check
def certificates_enter_the_box_and_keys_do_not(world):
    """Whatever stands in the file of more authorities; and nothing of it is left on the host."""
    (world.work / "corporate.pem").write_text((world.folder / "root.key").read_text() + (world.folder / "root.pem").read_text())
    (world.work / "corporate.pem").chmod(0o644)
    result = world.box("cat /run/agentbox/ca-certificates.crt; cmp /run/agentbox/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt && touch /run/agentbox/x 2>&1",
                       world.policy({"allow": [PAGES], "ask": [], "deny": [], "extra_ca": str(world.work / "corporate.pem")}))
    expect("PRIVATE" not in result.out and result.out.count("BEGIN CERTIFICATE") > 2 and "differ" not in result.out and "Permission denied" in result.out, result)


@check
def an_origin_that_nobody_trusts_is_refused(world):
    """Outside, the host's store and what the policy adds decide."""
    result = world.box(["curl", "-sS", "--noproxy", "*", "https://stranger.allowed.test:8444/x"], policy(world, {"host": "stranger.allowed.test:8444", "http": [{"methods": ["GET"], "path": "/**"}]}))
    expect("hello" not in result.out and ("502" in result.out or result.code != 0), result, "believed")
    more = world.policy({"allow": [{"host": "stranger.allowed.test:8444", "http": [{"methods": ["GET"], "path": "/**"}]}], "ask": [], "deny": [], "extra_ca": str(world.folder / "stranger.pem")})
    result = world.box(["curl", "-sS", "--fail", "--noproxy", "*", "https://stranger.allowed.test:8444/x"], more)
    expect(result.code == 0 and "hello" in result.out, result, "added, and not believed")


@check
def an_authority_of_the_policy_is_believed_inside(world):
    """Without a rule about requests: TLS passes, and the program verifies the origin itself."""
    more = policy(world, "stranger.allowed.test:8444")
    result = world.box(["curl", "-sS", "--noproxy", "*", "https://stranger.allowed.test:8444/x"], more)
    expect(result.code == 60, result, "a stranger is believed")
    more["network"]["extra_ca"] = str(world.folder / "stranger.pem")
    result = world.box(["curl", "-sS", "--fail", "--noproxy", "*", "https://stranger.allowed.test:8444/x"], more)
    expect(result.code == 0 and "hello" in result.out, result)


@check
def nginx_as_origin(world):
    result = world.box(["curl", "-sS", "--fail", "--noproxy", "*", "https://nginx.allowed.test:8443/"], policy(world, NGINX))
    expect(result.code == 0 and "from nginx" in result.out, result)
    result = world.box(["curl", "-sS", "--noproxy", "*", "-d", "x", "https://nginx.allowed.test:8443/"], policy(world, NGINX))
    expect("403" in result.out and result.denials(layer="network"), result)


@check
def a_file_that_the_host_replaces_leaves_the_boxs_own(world):
    """A mount over a name goes with the name; what the variables lead to stays."""
    store, ready, go = pathlib.Path("/etc/ssl/certs/java/cacerts"), world.work / "ready", world.work / "go"

    def replace():
        while not ready.exists() and not go.exists():
            time.sleep(0.05)
        new = store.with_name("new")
        new.write_text("the host's new one\n")
        new.replace(store)
        go.touch()

    subprocess.run(["mount", "-t", "tmpfs", "none", store.parent], check=True)
    try:
        store.write_text("the host's\n")
        host = threading.Thread(target=replace)
        host.start()
        result = world.box(f"cmp {store} /run/agentbox/cacerts && cp /run/agentbox/cacerts before && touch ready; for i in $(seq 200); do [ -e go ] && break; sleep 0.1; done; "
                           f"cat {store}; cmp before /run/agentbox/cacerts && echo stays", policy(world, PAGES))
        go.touch()
        host.join()
        expect(result.code == 0 and result.out.startswith("the host's new one") and "stays" in result.out, result)
    finally:
        subprocess.run(["umount", store.parent], check=True)


@check
def where_the_host_lacks_something(world):
    """Without network namespaces the same by the proxy; without mounts nothing that programs would not believe."""
    argv = ["curl", "-sS", "--fail", "https://sub.allowed.test/x"]
    result = world.box(argv, policy(world, PAGES), environment={"AGENTBOX_TEST_CAPS": "netns=0"})
    expect(result.code == 0 and "hello" in result.out, result, "no network namespace")
    result = world.box(argv, policy(world, PAGES), environment={"AGENTBOX_TEST_CAPS": "userns=0"})
    expect(result.code != 0 and "would not believe" in result.out and "hello" not in result.out, result, "no mounts")


def with_credential(name, command):
    """The program sends what stands for the secret; the server sees the secret, the program never does."""
    def run(world):
        secret = "tok_" + secrets.token_hex(16)
        more = policy(world, "sub.allowed.test", credentials=[{"name": "api", "env": "TOKEN", "hosts": ["sub.allowed.test"], "as": "bearer"}])
        result = world.box(command.replace("@", str(world.programs)), more, environment={"API_SECRET": secret}, options=["--credential", "api=env:API_SECRET"])
        expect(result.code == 0 and "hello" in result.out and secret not in result.out, result)
        expect(secret not in "".join(map(str, result.events)), result, "the secret is in an event")
        expect(world.seen()[-1]["headers"]["Authorization"] == "Bearer " + secret, result, "the server did not see the secret")

    run.__name__ = name
    check(run)


with_credential("curl_with_a_credential", 'curl -sS --fail -H "Authorization: Bearer $TOKEN" https://sub.allowed.test/x')
with_credential("python_with_a_credential", "/usr/bin/python3 @/fetch.py urllib https://sub.allowed.test/x")
with_credential("requests_with_a_credential", "@/venv/bin/python @/fetch.py requests https://sub.allowed.test/x")
