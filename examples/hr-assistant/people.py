# SPDX-License-Identifier: Apache-2.0
"""In the place of the people who are asked, and of their security keys."""
import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass, field
from typing import Iterator, List

import agentbox


@dataclass
class Approver:
    name: str
    security_key: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def agree(self, event: agentbox.Event) -> agentbox.Answer:
        """A yes; where the policy wants evidence, with what the security key makes of the very thing that is asked.  A real harness
        checks that before it answers; the library keeps its digest."""
        asked = json.dumps([event.principal, event.agent_session, event.delegation, event.ticket, event.deadline_ms, event.target, event.verb]).encode()
        evidence = hmac.new(self.security_key, asked, hashlib.sha256).hexdigest() if event.step_up else None
        return agentbox.Answer.allow(agentbox.Scope.ONCE, approver=self.name, evidence=evidence)


ANNA, BEN = Approver("anna.weiss@nordwind.example"), Approver("ben.okafor@nordwind.example")


class HrDesk:
    """Shows each question, and asks who is at work one after the other until as many have agreed as the policy wants."""

    def __init__(self, by_hand: bool) -> None:
        self.by_hand = by_hand  # whoever runs this answers for them
        self.at_work: Iterator[List[Approver]] = iter([[ANNA], [ANNA], [ANNA, BEN]])  # when the first, second and third question comes

    def agrees(self, approver: Approver) -> bool:
        try:
            return input(f"  {approver.name}: do you agree? [yes/no] ").startswith("y")
        except EOFError:
            print("nobody is there to answer, which is a no")
            return False

    def ask(self, context: agentbox.Context, event: agentbox.Event) -> agentbox.Answer:
        print("\n" + "".join(f"  | {line}\n" for line in event.to_text().splitlines()), end="")
        for approver in next(self.at_work, [ANNA, BEN]):
            if self.by_hand and not self.agrees(approver):
                return agentbox.Answer.deny(f"{approver.name} said no", approver=approver.name)
            try:
                enough = context.answer(event, approver.agree(event))
            except agentbox.errors.StateError:
                print("  too late: the time for an answer is over")
                break
            print(f"  {approver.name} says yes" + ("" if enough else ", and another one has to"))
        return agentbox.Answer.deny("nobody else of HR is at work now; ask again when somebody is", approver="the HR desk")
