# SPDX-License-Identifier: Apache-2.0
"""Builds a wheel that carries the C library, for every Python 3 of this machine's kind.

The library is built from the checkout that this folder is part of, or $AGENTBOX_LIBRARY names one that is built."""
import os
import pathlib
import runpy
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NAME = "libagentbox.so.0"


def library(folder):
    """A built library: what the tests and the tool are made of too is left out."""
    given = os.environ.get("AGENTBOX_LIBRARY")
    if given:
        return pathlib.Path(given)
    if not (ROOT / "meson.build").exists():
        raise SystemExit("agentbox: the C library's sources are not here: build from a checkout, or set AGENTBOX_LIBRARY to a built libagentbox.so.0")
    build = folder / "c"
    if not (build / "build.ninja").exists():
        subprocess.run(["meson", "setup", "--buildtype=release", "-Dtests=disabled", "-Dfuzz=disabled", "-Dexamples=disabled", str(build), str(ROOT)], check=True)
    subprocess.run(["meson", "compile", "-C", str(build), "lib/agentbox:shared_library"], check=True)
    return build / "lib" / NAME


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        package = pathlib.Path(self.build_lib).resolve() / "agentbox"
        shutil.copy(library(pathlib.Path(self.get_finalized_command("build").build_temp).resolve()), package / NAME)
        self.read_interface(package / "_abi.py")

    def read_interface(self, output):
        """What cffi would otherwise read at each import."""
        from cffi import FFI

        ffi = FFI()
        ffi.cdef(runpy.run_path(str(HERE / "agentbox/_cdef.py"))["CDEF"])
        ffi.set_source("agentbox._abi", None)
        ffi.emit_python_code(str(output))


class WheelOfOneKind(bdist_wheel):
    """No part of the package is compiled against Python; the library is for this machine's kind."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


setup(distclass=WithLibrary, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelOfOneKind})
