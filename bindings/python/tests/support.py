# SPDX-License-Identifier: Apache-2.0
"""What the tests share: a workspace, and policies that use it."""
import os
import pathlib
import shutil
import tempfile
import unittest

import agentbox

ASK = {"version": 1, "filesystem": {"write": {"ask": [{"path": "${workspace}/release", "id": "release", "reason": "a release needs a person"}]}}}
ASK_EXEC = {"version": 1, "filesystem": {"exec": {"ask": [{"path": "/usr/bin/id", "id": "identity"}]}}}
PATIENCE = 30  # seconds in which something that must happen happens


class Workspace(unittest.TestCase):
    """A new directory for each test, and what the process had open before."""

    def setUp(self):
        self.workspace = pathlib.Path(tempfile.mkdtemp(prefix="agentbox-python.", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, self.workspace, True)

    def policy(self, *documents):
        return agentbox.Policy.from_profile("workspace-write", *documents, workspace=self.workspace, home="/home/somebody")


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def threads():
    return len(os.listdir("/proc/self/task"))
