# SPDX-License-Identifier: Apache-2.0
"""Reads the public header: its declarations by pycparser, its comments by their lines.

The comment convention: a comment behind a declaration, on one of its lines, is about that declaration; a comment
that ends on the line before one is about it too.  `/* ---- words --- */` begins a section.  Ownership follows from
names, as the header's first comment says; a name that it does not cover stops the generation."""
import bisect
import re

from pycparser import c_ast, c_parser

SCALARS = {"uint8_t": 1, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8, "size_t": 8}
POINTER = 8  # offsets are those of 64-bit systems
SECTION = re.compile(r"^-{4} (.*?) -+$")


class HeaderError(Exception):
    """The header has something that bindings cannot be made of."""


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def words_of(comment):
    """The text of a comment without its marks, on one line."""
    inside = re.sub(r"^/\*+|\*+/$", "", comment)
    return " ".join(" ".join(re.sub(r"^\s*\* ?", "", line).split()) for line in inside.splitlines()).strip()


class Comments:
    def __init__(self, text):
        self.behind, self.before, self.sections = {}, {}, []
        for found in re.finditer(r"/\*.*?\*/", text, re.S):
            first = text.count("\n", 0, found.start()) + 1
            last = first + found.group().count("\n")
            words = words_of(found.group())
            section = SECTION.match(words)
            if section:
                self.sections.append((first, section.group(1)))
            elif text[text.rfind("\n", 0, found.start()) + 1:found.start()].strip():
                self.behind[first] = words
            else:
                self.before[last] = words

    def about(self, first, last):
        """What is said of a declaration on these lines."""
        said = [self.before.get(first - 1, "")] + [self.behind.get(line, "") for line in range(first, last + 1)]
        return " ".join(words for words in said if words)

    def section(self, line):
        at = bisect.bisect([first for first, _ in self.sections], line)
        return self.sections[at - 1][1] if at else ""


def declarations_of(text):
    """The same lines without comments, preprocessor and what C has no grammar for."""
    text = re.sub(r"/\*.*?\*/", lambda found: blank(found.group()), text, flags=re.S)
    text = re.sub(r"^#ifdef __cplusplus$.*?^#endif$", lambda found: blank(found.group()), text, flags=re.S | re.M)
    text = re.sub(r"^[ \t]*#.*$", "", text, flags=re.M)
    text = re.sub(r"\bABX_API\b", "       ", text)
    return "".join(f"typedef int {name}; " for name in SCALARS) + text


def last_line(text, line):
    """The line on which the declaration that begins here ends."""
    start, depth = sum(len(part) + 1 for part in text.split("\n")[:line - 1]), 0
    for at in range(start, len(text)):
        depth += (text[at] in "{(") - (text[at] in "})")
        if text[at] == ";" and depth == 0:
            return text.count("\n", 0, at) + 1
    raise HeaderError(f"line {line}: no end")


def spell(node):
    """A type as C writes it, without the name."""
    if isinstance(node, c_ast.PtrDecl):
        inner = spell(node.type)
        const = "const" if "const" in node.quals else ""
        return f"{inner}{'' if inner.endswith('*') else ' '}*{const}"
    if isinstance(node, c_ast.ArrayDecl):
        return spell(node.type)
    if isinstance(node, (c_ast.TypeDecl, c_ast.Typename)):
        const = "const " if "const" in node.quals else ""
        return const + spell(node.type)
    if isinstance(node, c_ast.IdentifierType):
        return " ".join(node.names)
    raise HeaderError(f"{node.coord}: a type that bindings cannot use")


def value_of(node):
    if isinstance(node, c_ast.UnaryOp) and node.op == "-":
        return -value_of(node.expr)
    if isinstance(node, c_ast.Constant):
        return int(node.value.rstrip("uUlL"), 0)
    raise HeaderError(f"{node.coord}: an enum value that is no number")


class Header:
    def __init__(self, text):
        self.text, self.plain, self.comments = text, declarations_of(text), Comments(text)
        self.aliases, self.handles, self.structs, self.callbacks, self.constants, self.functions = {}, [], [], [], [], []
        for node in c_parser.CParser().parse(self.plain).ext:
            self.take(node)

    def take(self, node):
        kind = node.type
        if isinstance(node, c_ast.Typedef) and node.name in SCALARS:
            return
        if isinstance(node, c_ast.Decl) and isinstance(kind, c_ast.Enum):
            self.constants.append(self.enum(kind))
        elif isinstance(node, c_ast.Typedef) and isinstance(kind, c_ast.TypeDecl) and isinstance(kind.type, c_ast.Struct):
            self.handle_or_struct(node, kind.type)
        elif isinstance(node, c_ast.Typedef) and isinstance(kind, c_ast.TypeDecl):
            self.aliases[node.name] = spell(kind)
        elif isinstance(node, c_ast.Typedef):
            self.callbacks.append(self.named(node, **self.signature(kind.type)))
        elif isinstance(node, c_ast.Decl) and isinstance(kind, c_ast.FuncDecl):
            self.functions.append(self.named(node, section=self.comments.section(node.coord.line), **self.signature(kind)))
        else:
            raise HeaderError(f"{node.coord}: a declaration that bindings cannot use")

    def first_line(self, node):
        """A function's coordinate is that of its name; its declaration may begin a line earlier."""
        line = node.coord.line
        lines = self.plain.split("\n")
        while line > 1 and lines[line - 2].strip() and not re.search(r"[;{}]\s*$", lines[line - 2]):
            line -= 1
        return line

    def named(self, node, **more):
        first = self.first_line(node)
        return {"name": node.name, **more, "doc": self.comments.about(first, last_line(self.plain, first))}

    def enum(self, node):
        line = node.coord.line
        values, begin = [], line
        for one in node.values.enumerators:
            if one.value is None:
                raise HeaderError(f"{one.coord}: {one.name} has no explicit value")
            single = self.plain.split("\n")[one.coord.line - 1].count("=") == 1
            doc = self.comments.behind.get(one.coord.line, "") if single and one.coord.line != begin else ""
            values.append({"name": one.name, "value": value_of(one.value), "doc": doc})
        opening = self.comments.behind.get(line, "")
        return {"group": re.sub(r"^abx_|_values$", "", node.name), "section": self.comments.section(line),
                "doc": " ".join(part for part in (self.comments.before.get(line - 1, ""), opening) if part), "values": values}

    def handle_or_struct(self, node, struct):
        line = node.coord.line
        if struct.decls is None:
            thread, _, doc = self.comments.behind.get(line, "").partition("] ")
            self.handles.append({"name": node.name, "thread": thread.strip("["), "doc": doc})
            return
        fields, offset = [], 0
        for field in struct.decls:
            count = value_of(field.type.dim) if isinstance(field.type, c_ast.ArrayDecl) else 1
            kind = spell(field.type)
            width = self.width(kind)
            if offset % width:
                raise HeaderError(f"{field.coord}: {node.name}.{field.name} is not aligned")
            fields.append({"name": field.name, "type": kind, "count": count, "offset": offset,
                           "doc": self.comments.about(field.coord.line, field.coord.line)})
            offset += width * count
        before = self.comments.before.get(self.first_line(struct) - 1, "")
        self.structs.append({"name": node.name, "size": offset, "doc": before, "fields": fields})

    def width(self, kind):
        return POINTER if "*" in kind else SCALARS[self.aliases.get(kind, kind)]

    def signature(self, node):
        given = [] if node.args is None else [one for one in node.args.params if not isinstance(one, c_ast.Typename)]
        return {"returns": spell(node.type), "parameters": [{"name": one.name, "type": spell(one.type)} for one in given]}
