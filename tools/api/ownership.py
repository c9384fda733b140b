# SPDX-License-Identifier: Apache-2.0
"""Direction and ownership of parameters and results, from their names and types, as the header's first comment says:
what a `ret_` parameter, *_new, *_from_*, *_ref or *_take_* gives is the caller's; what *_get_* gives is lent."""
from .header import HeaderError


def released_by(kind, handles):
    """How the owner of such a thing lets it go."""
    name = kind.replace("*", "").strip()
    if name in handles:
        return f"{name}_unref"
    return "abx_free" if kind == "char *" else None


def parameter(one, follows, handles, structs, callbacks):
    name, kind = one["name"], one["type"]
    target = kind.replace("const ", "").replace(" const", "").rstrip("* ").strip()
    if name == "reterr":
        return {"direction": "out", "ownership": "owned", "release": "abx_error_unref", "nullable": True}
    if name.startswith("ret_"):
        inner = kind[:-1].strip()
        release = released_by(inner, handles)
        return {"direction": "out", "ownership": "owned" if release else "value", **({"release": release} if release else {})}
    if target in structs:
        return {"direction": "in" if kind.startswith("const ") else "inout", "ownership": "borrowed", "struct": target}
    if target in handles and kind.endswith("*"):
        return {"direction": "in", "ownership": "borrowed", "handle": target}
    if kind == "const char *const *":
        return {"direction": "in", "ownership": "borrowed", "array": "strings, as many as `count` says" if follows is not None and follows["name"] == "count" else "strings, NULL at the end"}
    if kind in ("const char *", "const void *"):
        return {"direction": "in", "ownership": "borrowed"}
    if kind == "void *":
        return {"direction": "in", "ownership": "passed back" if name == "user_data" else "taken"}
    if kind in callbacks:
        return {"direction": "in", "ownership": "called", "callback": kind}
    if "*" in kind:
        raise HeaderError(f"parameter {name} of type {kind}: its name does not say who owns it")
    return {"direction": "in", "ownership": "value"}


def length_of(one, follows):
    """The parameter with the length of what this one points to; None: it ends with a NUL, or is no data."""
    if follows is not None and (one["name"].startswith("ret_") and follows["name"] == "ret_length" or
                                one["type"] == "const char *" and follows["name"] == "length" or
                                one["type"] == "const void *" and follows["type"] == "size_t"):
        return follows["name"]
    if one["type"] == "const void *":
        raise HeaderError(f"parameter {one['name']}: no parameter says its length")
    return None


def result(function, handles):
    name, kind = function["name"], function["returns"]
    if kind == "void":
        return {"type": kind, "ownership": "none"}
    if name.endswith("_ref"):
        return {"type": kind, "ownership": "owned", "release": released_by(kind, handles)}
    if "_take_" in name:
        return {"type": kind, "ownership": "owned", "release": "close"}
    if "*" in kind:
        if "_get_" not in name and name not in ("abx_version_string", "abx_status_name"):
            raise HeaderError(f"{name} returns {kind}: its name does not say who owns it")
        sized = any(one["name"] == "ret_length" for one in function["parameters"])
        return {"type": kind, "ownership": "borrowed" if "_get_" in name else "static", **({"length": "ret_length"} if sized else {})}
    return {"type": kind, "ownership": "value"}


def complete(functions, handles, structs, callbacks):
    for function in functions:
        function["returns"] = result(function, handles)
        given = function["parameters"]
        for one, follows in zip(given, given[1:] + [None]):
            one.update(parameter(one, follows, handles, structs, callbacks))
            length = length_of(one, follows)
            if length:
                one["length"] = length
    return functions
