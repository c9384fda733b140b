# SPDX-License-Identifier: Apache-2.0
"""Names, and servers for them, on the loopback of a throw-away world's own network namespace (harness/labsrv.py says which).
What they saw is one JSON line for each request in $B/srv.log.  The cases and the attacks have it."""
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTS = """127.0.0.1 localhost
::1 localhost ip6-localhost
45.45.45.10 allowed.test sub.allowed.test xn--bcher-kva.test
45.45.45.20 evil.test evilallowed.test allowed.test.evil.test other.test
169.254.169.254 rebind.allowed.test
10.9.9.9 priv.allowed.test
"""
# For a shell in the world, with LIB the folder that `make` was given and B one that may be written.
START = """for i in 45.45.45.10 45.45.45.20 45.45.45.30 10.9.9.9 10.9.9.10 169.254.169.254; do ip addr add $i/32 dev lo; done
mount --bind $LIB/hosts /etc/hosts
/usr/bin/python3 $LIB/labsrv.py $B/srv.log $LIB >/dev/null 2>&1 &
for i in $(seq 100); do [ -e $B/srv.log.ready ] && break; sleep 0.05; done
chmod 666 $B/srv.log 2>/dev/null || { : > $B/srv.log; chmod 666 $B/srv.log; }
"""


def make(library, more_hosts=""):
    """The servers, their certificate, and the names."""
    shutil.copy(HERE + "/harness/labsrv.py", library)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=lab", "-keyout",
                    library + "/key.pem", "-out", library + "/cert.pem", "-addext",
                    "subjectAltName=DNS:allowed.test,DNS:evil.test,DNS:*.allowed.test"], stderr=subprocess.DEVNULL)
    with open(library + "/hosts", "w") as hosts:
        hosts.write(HOSTS + more_hosts)
