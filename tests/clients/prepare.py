# SPDX-License-Identifier: Apache-2.0
"""Makes what the world's servers and clients need: certificates of a test root, keys, a database, built programs: prepare.py FOLDER
Runs as root outside of the world (package registries are reached here and nowhere else).  Besides curl, wget, git, go, cargo,
node, npm, Python with grpcio and websockets, and a JDK it wants openssh-server, postgresql, nginx and tinyproxy."""
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
NAMES = "nginx.allowed.test,allowed.test,git.allowed.test,ws.allowed.test,grpc.allowed.test,db.allowed.test,denied.test,asked.test,sub.allowed.test"
HOSTS = """127.0.0.1 localhost
::1 localhost
45.45.45.10 allowed.test sub.allowed.test stranger.allowed.test nginx.allowed.test git.allowed.test ws.allowed.test grpc.allowed.test db.allowed.test
45.45.45.20 denied.test denied.allowed.test
45.45.45.30 asked.test
45.45.45.40 proxy.outside.test
10.9.9.9 private.allowed.test
169.254.169.254 metadata.allowed.test
"""


def run(*words, **more):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, **more)


def certificates(folder):
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=Test Root",
        "-keyout", folder / "root.key", "-out", folder / "root.pem", "-addext", "keyUsage=critical,keyCertSign", stderr=subprocess.DEVNULL)
    run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=allowed.test",
        "-keyout", folder / "server.key", "-out", folder / "server.csr", stderr=subprocess.DEVNULL)
    (folder / "server.ext").write_text("subjectAltName=" + ",".join("DNS:" + name for name in NAMES.split(",")) + "\n")
    run("openssl", "x509", "-req", "-in", folder / "server.csr", "-CA", folder / "root.pem", "-CAkey", folder / "root.key", "-CAcreateserial",
        "-days", "2", "-extfile", folder / "server.ext", "-out", folder / "server.pem", stderr=subprocess.DEVNULL)
    # Of nobody that the host trusts.
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=stranger.allowed.test",
        "-keyout", folder / "stranger.key", "-out", folder / "stranger.pem", "-addext", "subjectAltName=DNS:stranger.allowed.test", stderr=subprocess.DEVNULL)
    run("keytool", "-importcert", "-noprompt", "-alias", "root", "-file", folder / "root.pem", "-keystore", folder / "root.p12",
        "-storetype", "PKCS12", "-storepass", "changeit", stderr=subprocess.DEVNULL)


def nginx(folder):
    (folder / "nginx").mkdir()
    (folder / "nginx/index.html").write_text("hello from nginx\n")
    (folder / "nginx.conf").write_text(f"""user root;
pid {folder}/nginx/pid;
error_log {folder}/nginx/log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/nginx/body; proxy_temp_path {folder}/nginx/proxy; fastcgi_temp_path {folder}/nginx/fastcgi;
    uwsgi_temp_path {folder}/nginx/uwsgi; scgi_temp_path {folder}/nginx/scgi;
    server {{
        listen 45.45.45.10:8443 ssl;
        ssl_certificate {folder}/server.pem;
        ssl_certificate_key {folder}/server.key;
        root {folder}/nginx;
    }}
}}
""")


def proxy(folder):
    (folder / "tinyproxy.conf").write_text(f"""User root
Group root
Listen 45.45.45.40
Port 3128
BasicAuth worker sesame-1
LogFile "{folder}/tinyproxy.log"
LogLevel Connect
MaxClients 50
ConnectPort 443
ConnectPort 22
""")


def ssh(folder):
    for name in ("host_key", "user_key"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name)
    shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    (folder / "known_hosts").write_text("allowed.test,git.allowed.test " + (folder / "host_key.pub").read_text())
    (folder / "sshd_config").write_text(f"""ListenAddress 45.45.45.10:22
ListenAddress 45.45.45.20:22
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
StrictModes no
PermitRootLogin yes
UsePAM no
PidFile none
""")


def database(folder):
    home = folder / "postgres"
    home.mkdir()
    shutil.chown(home, "postgres")
    bin_folder = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    as_owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    run(*as_owner, bin_folder / "initdb", "-D", home / "data", "-A", "trust", "-U", "test", "--no-sync", stderr=subprocess.DEVNULL, cwd="/")
    with open(home / "data/pg_hba.conf", "a") as rules:
        rules.write("host all all 45.45.45.0/24 trust\n")
    start = home / "start"
    start.write_text(f"""#!/bin/sh
cd / && exec {bin_folder}/pg_ctl -D {home}/data -l {home}/log -w -o "-h 45.45.45.10,45.45.45.20 -k {home} -F" start >/dev/null
""")
    start.chmod(0o755)


def programs(folder):
    out = folder / "programs"
    shutil.copytree(HERE / "programs", out)
    environment = dict(os.environ, CGO_ENABLED="0", GOFLAGS="-mod=mod", GO111MODULE="off", GOCACHE=str(folder / "gocache"))
    run("go", "build", "-o", out / "fetch-go", out / "fetch.go", env=environment)
    run("javac", "-d", out, out / "Fetch.java")
    run("cargo", "build", "-q", "--release", "--manifest-path", out / "rust/Cargo.toml",
        env=dict(os.environ, RUSTFLAGS="-C target-feature=+crt-static", CARGO_TARGET_DIR=str(folder / "cargo")), stderr=subprocess.DEVNULL)
    shutil.copy(folder / "cargo/release/fetch", out / "fetch-rust")
    run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", out, "ws@8", env=dict(os.environ, npm_config_cache=str(folder / "npm")))
    run("/usr/bin/python3", "-m", "venv", "--system-site-packages", out / "venv")
    run(out / "venv/bin/pip", "install", "-q", "--disable-pip-version-check", "--no-cache-dir", "requests", "httpx")


def prepare(folder):
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    (folder / "hosts").write_text(HOSTS)
    certificates(folder)
    nginx(folder)
    proxy(folder)
    ssh(folder)
    database(folder)
    programs(folder)
    for cache in ("gocache", "cargo", "npm"):
        shutil.rmtree(folder / cache, ignore_errors=True)
    subprocess.run(["chmod", "-R", "a+rX", str(folder)], check=True)
    (folder / "postgres/data").chmod(0o700)
    (folder / "host_key").chmod(0o600)


if __name__ == "__main__":
    prepare(pathlib.Path(sys.argv[1]))
