#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A page of the manual from a page of the documentation.
# man.sh LOWDOWN VERSION NAME SECTION "WHAT IT IS" INPUT OUTPUT
set -eu
title=$(echo "$3" | tr '[:lower:]' '[:upper:]')
{
    printf '# NAME\n\n%s - %s\n\n' "$3" "$5"
    cat "$6"
} | "$1" -s -Tman -m title="$title" -m section="$4" -m source="libagentbox $2" -o "$7"
