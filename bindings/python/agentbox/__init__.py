# SPDX-License-Identifier: Apache-2.0
"""Runs untrusted commands inside a boundary: files, network, processes; every denial is an event.

    policy = agentbox.Policy.from_profile("workspace-write", workspace="/srv/checkout", home="/home/somebody")
    with agentbox.Context() as context, context.open_box(policy) as box:
        result = box.run(["make", "test"], label="tool-call-1")
        print(result.stdout.decode(), result.explanation)

`AsyncContext` is the same for asyncio.  A failing call raises a class of `agentbox.errors`, all of them `AgentboxError`."""
from . import _raw, errors
from ._failure import AgentboxError
from .aio import AsyncBox, AsyncContext, AsyncProcess
from .box import Box
from .constants import Access, Audit, AuditSync, Class, EventType, ExitReason, Field, Layer, Limit, Relation, Replay, RequestKind, Retry, Scope, Status, Stdio, Verdict, Weaken
from .context import Context, Stats
from .event import Answer, Event
from .identity import Identity
from .policy import Policy, PolicyBuilder
from .process import Exit, Process, Result
from .report import Comparison, Report, preflight, redact_audit, render_audit, replay_audit, verify_audit
from .request import Attempt, Decision, Request

__all__ = [
    "Access", "AgentboxError", "Answer", "Attempt", "AsyncBox", "AsyncContext", "AsyncProcess", "Audit", "AuditSync", "Box", "Class", "Comparison", "Context", "Decision", "Event", "EventType",
    "Exit", "ExitReason", "Field", "Identity", "Layer", "Limit", "Policy", "PolicyBuilder", "Process", "Relation", "Replay", "Report", "Request", "RequestKind", "Result",
    "Retry", "Scope", "Stats", "Status", "Stdio", "Verdict", "Weaken", "errors", "library_version", "preflight", "redact_audit", "render_audit", "replay_audit", "verify_audit",
]


def library_version() -> str:
    """The version of the C library that was loaded."""
    return _raw.decode(_raw.lib.abx_version_string()) or ""
