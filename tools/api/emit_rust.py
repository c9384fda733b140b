# SPDX-License-Identifier: Apache-2.0
"""Rust's raw layer: functions, structs and constants as C has them, with the header's words."""
import textwrap

from . import names

WARNING = "// SPDX-License-Identifier: Apache-2.0\n// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.\n"
SCALARS = {"uint8_t": "u8", "uint16_t": "u16", "int32_t": "i32", "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64", "size_t": "usize", "char": "c_char",
           "void": "c_void"}
KEYWORDS = {"box", "fn", "type", "match", "ref", "use", "where", "move", "in", "impl", "loop", "mod"}


def escaped(name):
    return f"r#{name}" if name in KEYWORDS else name


def rust_type(kind):
    """`const char *const *` is `*const *const c_char`."""
    constant, kind = kind.startswith("const "), kind.replace("const ", "", 1) if kind.startswith("const ") else kind
    name, pointers = kind.split("*")[0].strip(), kind.split("*")[1:]
    text = SCALARS.get(name, name)
    for pointer in pointers:
        text = f"*{'const' if constant else 'mut'} {text}"
        constant = "const" in pointer
    return text


def parameters(given):
    return ", ".join(f"{escaped(one['name'])}: {rust_type(one['type'])}" for one in given)


def comment(words, indent=""):
    lines = textwrap.wrap(words, 116, break_on_hyphens=False)
    return "".join(f"{indent}/// {line}\n" for line in lines)


def constant(group, one):
    status = group["group"] == "status"
    return comment(one["doc"]) + f"pub const {one['name']}: {'i32' if status else 'u32'} = {one['value']};\n"


def structs(api):
    text = ""
    for one in api["structs"]:
        text += "\n" + comment(one["doc"]) + f"#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {one['name']} {{\n"
        for field in one["fields"]:
            kind = rust_type(field["type"])
            text += comment(field["doc"], "    ") + f"    pub {escaped(field['name'])}: {f'[{kind}; %d]' % field['count'] if field['count'] > 1 else kind},\n"
        text += "}\n"
    return text


def layout(api):
    """What the compiler makes of the structs, against what the header's are."""
    rows = "".join(f"        assert_eq!(std::mem::size_of::<{one['name']}>(), {one['size']});\n" for one in api["structs"])
    return f"\n#[cfg(test)]\nmod tests {{\n    use super::*;\n\n    #[test]\n    fn structs_have_their_sizes() {{\n{rows}    }}\n}}\n"


def library(api):
    text = WARNING + "//! The C interface of libagentbox; the crate `agentbox` is the safe one.\n#![allow(non_camel_case_types)]\n#![no_std]\n"
    text += "#[cfg(test)]\nextern crate std;\n\nuse core::ffi::{c_char, c_void};\n\n"
    text += "".join(f"pub type {name} = {rust_type(kind)};\n" for name, kind in api["aliases"].items())
    for one in api["handles"]:
        text += "\n" + comment(one["doc"]) + f"#[repr(C)]\npub struct {one['name']} {{\n    _opaque: [u8; 0],\n}}\n"
    for one in api["callbacks"]:
        text += f"\npub type {one['name']} = Option<unsafe extern \"C\" fn({parameters(one['parameters'])})>;\n"
    for group in api["constants"]:
        text += "\n" + "".join(constant(group, one) for one in group["values"])
    text += structs(api) + "\nextern \"C\" {\n"
    for one in api["functions"]:
        returned = rust_type(one["returns"]["type"])
        text += comment(one["doc"], "    ")
        text += f"    pub fn {one['name']}({parameters(one['parameters'])}){'' if returned == 'c_void' else f' -> {returned}'};\n"
    return text + "}\n" + layout(api)


def errors(api):
    """The kinds of the safe crate's error."""
    text = WARNING + "//! What kind of error a status is.\n\n/// Grows with the library.\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n#[non_exhaustive]\npub enum ErrorKind {\n"
    for one in names.errors(api):
        meaning = one["meaning"] + (f"; {one['remedy']}" if one["remedy"] else "")
        text += comment(f"{meaning[0].upper()}{meaning[1:]}.", "    ") + f"    {names.error_class(one)[:-len('Error')]},\n"
    text += "    /// A status that this crate does not know yet.\n    Other,\n}\n\nimpl ErrorKind {\n    pub(crate) fn of(status: i32) -> ErrorKind {\n        match status {\n"
    text += "".join(f"            {one['value']} => ErrorKind::{names.error_class(one)[:-len('Error')]},\n" for one in names.errors(api))
    return text + "            _ => ErrorKind::Other,\n        }\n    }\n}\n"


def constants(api):
    """A number with names: what a newer library adds is a number here."""
    text = WARNING + "//! The constants of the C interface, by group.\n"
    for group in api["constants"]:
        name, kind = names.class_of(group["group"]), "i32" if group["group"] == "status" else "u32"
        text += "\n" + comment(group["doc"] or f"`ABX_{group['group'].upper()}_*`")
        text += f"#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]\npub struct {name}(pub {kind});\n\nimpl {name} {{\n"
        text += "".join(comment(doc, "    ") + f"    pub const {short}: {name} = {name}({value});\n" for short, value, doc in names.members(group)) + "}\n"
        rows = "".join(f"            {name}::{short} => f.write_str(\"{short}\"),\n" for short, _, _ in names.members(group))
        text += (f"\nimpl std::fmt::Debug for {name} {{\n    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {{\n        match *self {{\n"
                 f"{rows}            {name}(value) => write!(f, \"{{value}}\"),\n        }}\n    }}\n}}\n")
        if group["group"] in names.FLAGS:
            text += (f"\nimpl std::ops::BitOr for {name} {{\n    type Output = {name};\n\n    fn bitor(self, other: {name}) -> {name} {{\n"
                     f"        {name}(self.0 | other.0)\n    }}\n}}\n")
    return text


def files(api):
    return {"agentbox-sys/src/lib.rs": library(api), "agentbox/src/kind.rs": errors(api), "agentbox/src/constants.rs": constants(api)}
