#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Uses what is installed below a folder: programs built with pkg-config, shared and static, and the tool.
# use.sh ROOT SCRATCH
set -eu
root=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
pc=$(find "$root" -name agentbox.pc)
[ -n "$pc" ] || { echo "no agentbox.pc was installed"; exit 1; }
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH="$libdir/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror -std=c99 -o "$work/shared" "$here/use.c" $(pkg-config --cflags --libs agentbox)
LD_LIBRARY_PATH=$libdir "$work/shared"
# What the documentation sends its readers to.
for example in "$here"/../../examples/*.c; do
    # shellcheck disable=SC2046
    cc -Wall -Werror -std=gnu17 -fsyntax-only $(pkg-config --cflags agentbox) "$example"
done
sed -n 's/^Requires.private: //p' "$pc" | grep -q libseccomp || { echo "private requirements are missing"; exit 1; }
# shellcheck disable=SC2046
env -u PKG_CONFIG_SYSROOT_DIR cc -std=c99 -o "$work/static" "$here/use.c" -I"$root$(pkg-config --variable=includedir agentbox | sed "s|^$root||")" \
    "$libdir/libagentbox.a" $(env -u PKG_CONFIG_SYSROOT_DIR pkg-config --libs libseccomp jansson nettle) -lpthread
"$work/static"
c++ -Wall -Wextra -Werror -std=c++11 -x c++ -fsyntax-only $(pkg-config --cflags agentbox) "$here/use.c"
tool=$root$(sed -n 's/^prefix=//p' "$pc")/bin/agentbox
"$tool" version >/dev/null 2>&1 || LD_LIBRARY_PATH=$libdir "$tool" version
