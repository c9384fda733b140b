# SPDX-License-Identifier: Apache-2.0
"""Node's raw layer: what koffi reads, the constants with their types, an error class for each status."""
import json

from . import names

WARNING = "// SPDX-License-Identifier: Apache-2.0\n// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.\n"


def plain(api, kind):
    """A type without its qualifiers, aliases resolved."""
    words = kind.replace("const ", "").replace(" const", "").replace("*const", "*").strip()
    name, _, stars = words.partition(" ")
    return f"{api['aliases'].get(name, name)} {stars.replace(' ', '')}".strip()


def koffi_type(api, kind, is_data=False):
    """`is_data`: bytes with a length beside them, which are no text."""
    text = plain(api, kind)
    if text == "char *":
        return "void *" if is_data else "str"
    return {"char **": "str *", "void **": "void **"}.get(text, text)


def parameter(api, one):
    kind = koffi_type(api, one["type"], "length" in one)
    if one.get("callback"):
        kind = "void *"
    if one["direction"] == "out":
        kind = "_Out_ " + ("void **" if plain(api, one["type"]) == "char **" else kind)
    elif one["direction"] == "inout":
        kind = "_Inout_ " + kind
    return f"{kind} {one['name']}"


def prototype(api, function):
    returned = koffi_type(api, function["returns"]["type"], "length" in function["returns"])
    return f"{returned} {function['name']}({', '.join(parameter(api, one) for one in function['parameters'])})"


def comment(words, indent=""):
    return f"{indent}/** {words.replace('*/', '* /')} */\n" if words else ""


def raw(api):
    text = WARNING + "\nexport const HANDLES = " + json.dumps([one["name"] for one in api["handles"]]) + ";\n\n"
    text += "/** Fields with their types; a number behind one is how many there are. */\nexport const STRUCTS = {\n"
    for one in api["structs"]:
        fields = ", ".join(f"{field['name']}: {json.dumps([koffi_type(api, field['type']), field['count']])}" for field in one["fields"])
        text += f"  {one['name']}: {{ size_of: {one['size']}, fields: {{ {fields} }} }},\n"
    text += "};\n\nexport const FUNCTIONS = {\n"
    text += "".join(f"  {one['name']}: {json.dumps(prototype(api, one))},\n" for one in api["functions"])
    return text + "};\n"


def constants(api):
    text = WARNING
    for group in api["constants"]:
        text += f"\nexport const {names.class_of(group['group'])} = Object.freeze({{\n"
        text += "".join(f"  {name}: {value},\n" for name, value, _ in names.members(group)) + "});\n"
    return text


def constant_types(api):
    text = WARNING
    for group in api["constants"]:
        name = names.class_of(group["group"])
        text += "\n" + comment(group["doc"]) + f"export declare const {name}: {{\n"
        text += "".join(comment(doc, "  ") + f"  readonly {member}: {value};\n" for member, value, doc in names.members(group)) + "};\n"
        text += f"export type {name} = (typeof {name})[keyof typeof {name}];\n"
    return text


def errors(api):
    text = WARNING + "import { AgentboxError } from './failure.js';\n"
    for one in names.errors(api):
        text += f"\nexport class {names.error_class(one)} extends AgentboxError {{}}\n"
    rows = "".join(f"  [{one['value']}, {names.error_class(one)}],\n" for one in names.errors(api))
    return text + f"\nexport const BY_STATUS = new Map([\n{rows}]);\n"


def error_types(api):
    text = WARNING + "import { AgentboxError } from './failure.js';\n"
    for one in names.errors(api):
        text += "\n" + comment(f"{one['meaning']}{'; ' + one['remedy'] if one['remedy'] else ''}")
        text += f"export declare class {names.error_class(one)} extends AgentboxError {{}}\n"
    return text


def files(api):
    return {"interface.js": raw(api), "constants.js": constants(api), "constants.d.ts": constant_types(api), "errors.js": errors(api), "errors.d.ts": error_types(api)}
