# SPDX-License-Identifier: Apache-2.0
"""Python's raw layer: what cffi reads, the constants as enums, an exception for each status, the header's words as docstrings."""
import textwrap

from . import names

WARNING = "# SPDX-License-Identifier: Apache-2.0\n# Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.\n"


def spaced(kind, name):
    return f"{kind}{'' if kind.endswith('*') else ' '}{name}"


def signature(parameters):
    return ", ".join(spaced(one["type"], one["name"]) for one in parameters) or "void"


def cdef(api):
    lines = [f"typedef {kind} {name};" for name, kind in api["aliases"].items()]
    lines += [f"typedef struct {one['name']} {one['name']};" for one in api["handles"]]
    for one in api["structs"]:
        lines.append("typedef struct {")
        lines += [f"    {spaced(field['type'], field['name'])}{'[%d]' % field['count'] if field['count'] > 1 else ''};" for field in one["fields"]]
        lines.append(f"}} {one['name']};")
    lines += [f"typedef {spaced(one['returns'], '(*' + one['name'] + ')')}({signature(one['parameters'])});" for one in api["callbacks"]]
    lines += [f"{spaced(one['returns']['type'], one['name'])}({signature(one['parameters'])});" for one in api["functions"]]
    return "\n".join(lines)


def wrapped(words, indent):
    return textwrap.fill(words, 118, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def raw(api):
    docs = [f"    {one['name']!r}:\n" + "\n".join(f"        {part!r}" for part in parts(one["doc"])) + "," for one in api["functions"] if one["doc"]]
    return (WARNING + '"""The C interface as cffi reads it, and what the header says of each function."""\n\n'
            f'CDEF = """\\\n{cdef(api)}\n"""\n\nDOCS = {{\n' + "\n".join(docs) + "\n}\n")


def parts(words):
    """A long text as lines that, one after the other, are it again."""
    lines = textwrap.wrap(words, 110, break_on_hyphens=False)
    return [line + " " for line in lines[:-1]] + lines[-1:]


def constants(api):
    text = WARNING + '"""The constants of the C interface, by group."""\nfrom enum import IntEnum, IntFlag\n'
    for group in api["constants"]:
        base = "IntFlag" if group["group"] in names.FLAGS else "IntEnum"
        about = group["doc"] or f"ABX_{group['group'].upper()}_*"
        if group["group"] == "status":
            about = "What a call says of its outcome"
        text += f'\n\nclass {names.class_of(group["group"])}({base}):\n    """{about}"""\n\n'
        for name, value, doc in names.members(group):
            text += f"    {name} = {value}" + (f"  # {doc}" if doc else "") + "\n"
    return text


def errors(api):
    text = WARNING + '"""An exception for each status that is an error."""\nfrom typing import Dict, Type\n\nfrom ._failure import AgentboxError\nfrom .constants import Status\n'
    for one in names.errors(api):
        meaning = one["meaning"] + (f"; {one['remedy']}" if one["remedy"] else "")
        text += f'\n\nclass {names.error_class(one)}(AgentboxError):\n' + wrapped(f'"""{meaning[0].upper()}{meaning[1:]}."""', "    ") + "\n"
    rows = "".join(f"    Status.{one['name'].replace('ABX_', '')}: {names.error_class(one)},\n" for one in names.errors(api))
    return text + f"\n\nBY_STATUS: Dict[int, Type[AgentboxError]] = {{\n{rows}}}\n"


def files(api):
    return {"_cdef.py": raw(api), "constants.py": constants(api), "errors.py": errors(api)}
