#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages, looks for mistakes in them, unpacks them and uses what is there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /var/tmp/agentbox-debian.XXXXXX)
trap 'rm -rf "$work"' EXIT
version=$(dpkg-parsechangelog -l "$here/../../debian/changelog" -S Version)
source=$work/libagentbox-${version%-*}
mkdir "$source" "$work/root"
cd "$here/../.."
tar cf - --exclude=./.git --exclude='./build*' --exclude=target --exclude=node_modules . | tar xf - -C "$source"
tar czf "$work/libagentbox_${version%-*}.orig.tar.gz" -C "$work" --exclude=debian "${source##*/}"
cd "$source"
dpkg-buildpackage -us -uc >"$work/log" 2>&1 || { tail -40 "$work/log"; exit 1; }
cd "$work"
lintian --allow-root --fail-on error ./*.changes
for package in libagentbox0 libagentbox-dev agentbox; do
    dpkg-deb -x "$package"_*.deb "$work/root"
done
[ -f "$work/root/usr/share/man/man1/agentbox.1.gz" ] || { echo "the manual is missing"; exit 1; }
sh "$here/use.sh" "$work/root" "$work"
