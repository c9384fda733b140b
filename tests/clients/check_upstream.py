# SPDX-License-Identifier: Apache-2.0
"""Boxes whose way outside leads through a proxy of somebody else, tinyproxy, which wants a user and a password."""
from check_clients import denied
from check_trust import PAGES, policy
from run import check, expect

PROXY = "http://worker:%73esame-1@proxy.outside.test:3128"
SECRETS = ("sesame-1", "%73esame-1", "d29ya2VyOnNlc2Ft")


def log(world):
    return (world.folder / "tinyproxy.log").read_text()


def through(world, *allow, url=PROXY, **more):
    document = policy(world, *(allow or ("sub.allowed.test", "git.allowed.test", "git.allowed.test:22")), **more)
    document["network"]["upstream"] = url
    return document


def keeps_its_secret(result):
    told = result.out + "".join(map(str, result.events))
    expect(not any(secret in told for secret in SECRETS), result, "the secret of the proxy is seen")


def asks(name, *argv):
    """Plain requests by URL, TLS by CONNECT; the name is sent as a name."""
    def run(world):
        words = [str(word).replace("@", str(world.programs)) for word in argv]
        before = len(log(world))
        result = world.box([*words, "http://sub.allowed.test/x"], through(world))
        expect(result.code == 0 and "hello" in result.out and "tinyproxy" in result.out and not result.denials(layer="network"), result, "plain")
        keeps_its_secret(result)
        trusting = through(world, environment={"SSL_CERT_FILE": world.bundle, "NODE_EXTRA_CA_CERTS": world.bundle, "REQUESTS_CA_BUNDLE": world.bundle})
        result = world.box([*words, "https://sub.allowed.test/x"], trusting)
        expect(result.code == 0 and "hello" in result.out and not result.denials(layer="network"), result, "TLS")
        keeps_its_secret(result)
        told = log(world)[before:]
        expect("GET http://sub.allowed.test/x HTTP/1.1" in told and "CONNECT sub.allowed.test:443 HTTP/1.1" in told, result, "the proxy was asked for something else:\n" + told)

    run.__name__ = name + "_through_a_proxy_outside"
    check(run)


asks("curl", "curl", "-sS", "--fail", "--noproxy", "*")
asks("curl_by_proxy", "curl", "-sS", "--fail")
asks("urllib", "/usr/bin/python3", "@/fetch.py", "urllib")
asks("requests", "@/venv/bin/python", "@/fetch.py", "requests")
asks("node_fetch", "node", "@/fetch.mjs")
asks("go_static", "@/fetch-go")


@check
def git_through_a_proxy_outside(world):
    result = world.box("git clone -q https://git.allowed.test/git/one.git c && cat c/README", through(world))
    expect(result.code == 0 and "a repository" in result.out, result)


@check
def requests_that_are_read_go_through_it_too(world):
    curl = ["curl", "-sS", "--noproxy", "*"]
    result = world.box([*curl, "https://sub.allowed.test/x"], through(world, PAGES))
    expect(result.code == 0 and "hello" in result.out, result)
    result = world.box([*curl, "-d", "x", "https://sub.allowed.test/x"], through(world, PAGES))
    expect("403" in result.out and result.denials(layer="network"), result)


@check
def what_the_policy_denies_is_not_asked_for(world):
    before = len(log(world))
    document = world.policy({"upstream": PROXY})
    denied(world, "curl", "-sS", "--noproxy", "*", "https://denied.test/x", port=443, policy=document)
    denied(world, "curl", "-sS", "--fail", "http://denied.test/x", policy=document)
    result = world.box("curl -sS -m 10 --noproxy '*' http://10.9.9.9/; curl -sS -m 10 http://169.254.169.254/", document)
    expect(result.denials(target="10.9.9.9") and result.denials(target="169.254.169.254"), result)
    expect("denied.test" not in log(world)[before:] and "10.9.9.9" not in log(world)[before:] and "169.254" not in log(world)[before:], result, log(world)[before:])


@check
def the_environment_of_the_host_names_it_and_its_exceptions(world):
    host = {"https_proxy": PROXY, "http_proxy": PROXY, "no_proxy": "allowed.example,.git.allowed.test:443"}
    document = through(world, url="environment")
    before = len(log(world))
    result = world.box(["curl", "-sS", "--fail", "--noproxy", "*", "http://sub.allowed.test/x"], document, environment=host)
    expect(result.code == 0 and "tinyproxy" in result.out, result)
    keeps_its_secret(result)
    result = world.box("git ls-remote https://git.allowed.test/git/one.git", document, environment=host)
    expect(result.code == 0 and "git.allowed.test" not in log(world)[before:], result, "an exception was not dialled")
    result = world.box("env; cat /proc/1/environ", document, environment=host)
    keeps_its_secret(result)
    result = world.box(["curl", "-sS", "--fail", "--noproxy", "*", "http://sub.allowed.test/x"], document)
    expect(result.code == 0 and "tinyproxy" not in result.out, result, "there is no proxy, and it was asked")


@check
def a_proxy_that_refuses_or_is_gone_is_told_and_nothing_goes_past_it(world):
    plain, encrypted = "http://sub.allowed.test/x", "https://sub.allowed.test/x"
    for url, port, kind, targets in (("http://proxy.outside.test:3128", 3128, "denial", (plain, encrypted)),
                                     ("http://worker:wrong@proxy.outside.test:3128", 3128, "denial", (encrypted,)),  # to plain requests tinyproxy says 401, as an origin would
                                     ("http://proxy.outside.test:3129", 3129, "notice", (plain, encrypted))):
        before = len(world.seen())
        for target in targets:
            for option in ("", "--noproxy '*'"):
                result = world.box(f"curl -sS -k -m 20 {option} {target}", through(world, url=url))
                told = [event for event in result.events if event.get("rule") == "network:upstream" and event["type"] == kind]
                expect(told and f"port {port}" in told[0]["reason"] and "hello" not in result.out and "wrong" not in str(result.events), result, f"{kind} {target}")
        expect(len(world.seen()) == before, result, "the server saw something")
