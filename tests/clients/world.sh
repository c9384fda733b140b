# SPDX-License-Identifier: Apache-2.0
# Makes the clients' world in fresh mount, net, pid and uts namespaces: world.sh FOLDER, then runs the rest of its words.
# Addresses are local to the namespace, so nothing leaves the machine.  The resolver has a search list and ndots:5,
# as in a cluster.
set -e
F=$1
shift
mount -t proc proc /proc
ip link set lo up
for ip in 45.45.45.10 45.45.45.20 45.45.45.30 45.45.45.40 10.9.9.9 169.254.169.254; do ip addr add $ip/32 dev lo; done
mount --bind "$F/hosts" /etc/hosts
printf 'search default.svc.cluster.local svc.cluster.local\noptions ndots:5\nnameserver 127.0.0.99\n' >"$F/resolv.conf"
mount --bind "$F/resolv.conf" "$(readlink -f /etc/resolv.conf)"
cat /etc/ssl/certs/ca-certificates.crt "$F/root.pem" >"$F/bundle.pem"
mount --bind "$F/bundle.pem" /etc/ssl/certs/ca-certificates.crt
(cat /etc/passwd && echo "client:x:12345:12345:client:/nonexistent:/bin/sh") >"$F/passwd"  # ssh looks its user up
mount --bind "$F/passwd" /etc/passwd
mkdir -p /run/sshd
/usr/sbin/sshd -f "$F/sshd_config" -E "$F/sshd.log"
chown -R postgres "$F/postgres"
setpriv --reuid=postgres --regid=postgres --clear-groups "$F/postgres/start"
nginx -c "$F/nginx.conf"
touch "$F/tinyproxy.log"
tinyproxy -c "$F/tinyproxy.conf"
/usr/bin/python3 "$(dirname "$0")/servers.py" "$F" >"$F/servers.log" 2>&1 &
for i in $(seq 200); do [ -e "$F/ready" ] && break; sleep 0.05; done
[ -e "$F/ready" ] || { cat "$F/servers.log"; echo "the servers did not start"; exit 1; }
exec "$@"
