# SPDX-License-Identifier: Apache-2.0
import unittest

import agentbox
from agentbox import Access, Policy, PolicyBuilder, Relation, Request, Verdict
from agentbox.errors import InvalidError, PolicyError, StateError
from support import ASK, Workspace


class Policies(Workspace):
    def test_malformed_policy_says_where(self):
        with self.assertRaises(PolicyError) as caught:
            Policy.from_json('{"version": 1, "filesytem": {}}')
        self.assertEqual(caught.exception.status, agentbox.Status.ERR_POLICY)
        self.assertEqual(caught.exception.step, "policy:/filesytem")
        self.assertIn("filesystem", caught.exception.remedy)

    def test_setter_raises_what_is_wrong_with_it(self):
        with PolicyBuilder("workspace-write") as builder, self.assertRaises(InvalidError) as caught:
            builder.variable("workspace", "/srv").variable("home", "/home/x").path("relative", Access.READ, 7)
        self.assertTrue(caught.exception.message)

    def test_text_with_a_nul_is_refused_not_cut(self):
        with self.assertRaises(InvalidError):
            Request.read("/etc/passwd\0/srv")._struct()
        with self.assertRaises(InvalidError):
            PolicyBuilder().variable("a", "b\0c")

    def test_decisions(self):
        policy = self.policy(ASK)
        for request, verdict in ((Request.write(self.workspace / "a"), Verdict.ALLOW), (Request.write("/etc/motd"), Verdict.DENY),
                                 (Request.write(self.workspace / "release/1"), Verdict.ASK), (Request.connect("example.org", 443), Verdict.DENY)):
            self.assertEqual(policy.evaluate(request).verdict, verdict, request)
        self.assertIsNone(policy.evaluate(Request.write("/etc/motd")).rule)
        self.assertEqual(policy.explain(Request.write(self.workspace / "release/1"))["verdict"], "ask")

    def test_path_of_any_bytes(self):
        name = b"/srv/\xff\xfe"
        policy = PolicyBuilder().path(name, Access.READ, Verdict.ALLOW).build()
        self.assertEqual(policy.evaluate(Request.read(name)).verdict, Verdict.ALLOW)
        self.assertEqual(policy.evaluate(Request.read(name.decode("utf-8", "surrogateescape"))).verdict, Verdict.ALLOW)

    def test_documents_both_ways(self):
        policy = self.policy(ASK)
        again = Policy.from_json(policy.to_json())
        self.assertEqual(policy.digest, again.digest)
        self.assertIn(str(self.workspace), policy.describe())

    def test_comparison_and_ceiling(self):
        narrow, wide = self.policy(ASK), self.policy()
        with narrow.compare(wide) as found:
            self.assertEqual(found.relation, Relation.WIDER)
            self.assertEqual(found.get(0, "change"), "wider")
            self.assertEqual(len(list(found)), len(found))
        self.assertEqual(wide.under(narrow).evaluate(Request.write(self.workspace / "release/1")).verdict, Verdict.ASK)

    def test_closed_handle_cannot_be_used(self):
        policy = self.policy()
        policy.close()
        policy.close()
        with self.assertRaises(StateError):
            policy.digest

    def test_functions_are_documented_from_the_header(self):
        self.assertIn("Never wider than either", Policy.under.__doc__)
        self.assertIn("SHA-256", Policy.digest.__doc__)


class Hosts(unittest.TestCase):
    def test_preflight_names_the_box(self):
        with agentbox.preflight() as report:
            self.assertGreater(len(report), 0)


if __name__ == "__main__":
    unittest.main()
