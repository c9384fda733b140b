#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/make-api.py makes of a small header, against golden files; what it refuses: test_api.py SOURCE-ROOT
AGENTBOX_UPDATE_GOLDEN=1 rewrites the files."""
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
GOLDEN = ROOT / "tests/bindings/golden"
sys.path.insert(0, str(ROOT / "tools"))
from api import describe, emit_node, emit_python, emit_rust  # noqa: E402
from api.header import HeaderError  # noqa: E402

EMITTERS = {"python": emit_python, "node": emit_node, "rust": emit_rust}
STATUSES = 'STATUS(OK, 0, "0.1", "it worked", "")\nSTATUS(ERR_INVALID, -1001, "0.1", "an argument is wrong",\n        "correct the call")\n' \
           'STATUS(ERR_STATE, -1003, "0.2", "the wrong time", "")\n'


def described(text):
    return describe.describe(text, STATUSES)


class Golden(unittest.TestCase):
    maxDiff = None

    def same(self, name, text):
        path = GOLDEN / name
        if os.environ.get("AGENTBOX_UPDATE_GOLDEN"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.assertEqual(text, path.read_text(), name)

    def test_description_of_a_header(self):
        self.same("api.json", describe.as_text(described((GOLDEN / "sample.h").read_text())))

    def test_each_emitter(self):
        api = described((GOLDEN / "sample.h").read_text())
        for language, emitter in EMITTERS.items():
            for name, text in emitter.files(api).items():
                self.same(f"{language}/{name}", text)


class Refused(unittest.TestCase):
    def refuse(self, text, words):
        with self.assertRaisesRegex(HeaderError, words):
            described("typedef struct abx_lamp abx_lamp; /* [I] */\n" + text)

    def test_pointer_whose_owner_no_name_says(self):
        self.refuse("ABX_API void abx_lamp_fill(abx_lamp *lamp, char *text);\n", "parameter text .* who owns it")
        self.refuse("ABX_API const char *abx_lamp_name(abx_lamp *lamp);\n", "abx_lamp_name returns .* who owns it")

    def test_data_without_a_length(self):
        self.refuse("ABX_API void abx_lamp_fill(abx_lamp *lamp, const void *oil);\n", "oil: no parameter says its length")

    def test_struct_with_a_hole(self):
        self.refuse("typedef struct abx_x {\n    uint32_t size;\n    uint64_t a;\n} abx_x;\n", "abx_x.a is not aligned")

    def test_enum_without_values(self):
        self.refuse("enum abx_x_values { ABX_X_A };\n", "no explicit value")

    def test_declaration_of_another_kind(self):
        self.refuse("extern int32_t abx_global;\n", "cannot use")


unittest.main()
