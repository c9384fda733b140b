# SPDX-License-Identifier: Apache-2.0
"""The raw layer against the description of the C interface, and against the library."""
import json
import pathlib
import unittest

from agentbox import _raw, constants, errors

API = json.loads((pathlib.Path(__file__).resolve().parents[2] / "api.json").read_text())


class Raw(unittest.TestCase):
    def test_library_has_each_function(self):
        for function in API["functions"]:
            self.assertTrue(hasattr(_raw.lib, function["name"]), function["name"])

    def test_structs_are_laid_out_as_described(self):
        for struct in API["structs"]:
            self.assertEqual(_raw.ffi.sizeof(struct["name"]), struct["size"], struct["name"])
            for field in struct["fields"]:
                self.assertEqual(_raw.ffi.offsetof(struct["name"], field["name"]), field["offset"], f"{struct['name']}.{field['name']}")

    def test_each_error_status_has_a_class(self):
        for status in constants.Status:
            if status < 0:
                self.assertTrue(issubclass(errors.BY_STATUS[status], errors.AgentboxError), status)
                self.assertEqual(_raw.decode(_raw.lib.abx_status_name(status)), f"ABX_{status.name}")

    def test_no_call_takes_a_function_of_the_interpreter(self):
        used = "".join(path.read_text() for path in pathlib.Path(_raw.__file__).parent.glob("*.py") if path.name not in ("_cdef.py", "_abi.py"))
        for word in ("abx_context_dispatch", "ffi.callback", "def_extern"):
            self.assertNotIn(word, used)


if __name__ == "__main__":
    unittest.main()
