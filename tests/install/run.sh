#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs into a throw-away prefix and uses what is there.
# run.sh BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /var/tmp/agentbox-install.XXXXXX)
trap 'rm -rf "$work"' EXIT
DESTDIR=$work/root meson install -C "$1" --no-rebuild --quiet
sh "$here/use.sh" "$work/root" "$work"
