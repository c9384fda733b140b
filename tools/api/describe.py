# SPDX-License-Identifier: Apache-2.0
"""bindings/api.json: the C interface as data, from which each language's raw layer is written."""
import json
import re

from . import ownership
from .header import Header


def statuses(table):
    rows = re.findall(r'STATUS\((\w+), (-?\d+), "([^"]*)", "([^"]*)",\s*"([^"]*)"\)', table)
    return [{"name": f"ABX_{name}", "value": int(value), "since": since, "meaning": meaning, "remedy": remedy}
            for name, value, since, meaning, remedy in rows]


def describe(header_text, status_table):
    header = Header(header_text)
    handles = {one["name"] for one in header.handles}
    structs = {one["name"] for one in header.structs}
    callbacks = {one["name"] for one in header.callbacks}
    version = re.search(r"^#define ABX_VERSION_HEX (0x[0-9a-f]+)", header_text, re.M)
    return {
        "version_hex": version.group(1) if version else "0x000000",
        "aliases": header.aliases,
        "handles": header.handles,
        "constants": header.constants,
        "statuses": statuses(status_table),
        "structs": header.structs,
        "callbacks": header.callbacks,
        "functions": ownership.complete(header.functions, handles, structs, callbacks),
    }


def as_text(api):
    return json.dumps(api, indent=1, ensure_ascii=False) + "\n"
