# SPDX-License-Identifier: Apache-2.0
"""In a model's place: it looks at the result of each call, and reacts to what stopped it as a model should."""
import pathlib
from dataclasses import dataclass
from typing import Dict, Optional

DENIED = "It is policy, not a fault of the command"


@dataclass
class Call:
    id: str
    thought: str
    tool: str
    arguments: Dict[str, str]


class ScriptedModel:
    def __init__(self, work: pathlib.Path) -> None:
        self.workspace, self.log, self.calls, self.report = work / "checkout", work / "agents.log", 0, ""
        self.then = self.look

    def start(self, tools: Dict[str, str]) -> str:
        """A real model is told of its tools here."""
        return "\n".join(tools.values())

    def next(self, result: str) -> Optional[Call]:
        """The next call, given the result of the one before; None: done."""
        return self.then(result)

    def command(self, thought: str, command: str) -> Call:
        return self.call(thought, "run_command", command=f"cd {self.workspace} && {command}")

    def call(self, thought: str, tool: str, **arguments: str) -> Call:
        self.calls += 1
        return Call(f"call-{self.calls}", thought, tool, arguments)

    def look(self, _: str) -> Call:
        self.then = self.write_log
        return self.command("I look at what there is to do.", "cat notes.txt")

    def write_log(self, _: str) -> Call:
        self.then = self.ask_for_log
        return self.command("I add to the log that all agents share.", f"echo started >>{self.log}")

    def ask_for_log(self, result: str) -> Call:
        if DENIED not in result:
            return self.read_customers(result)
        self.then = self.write_log_again
        return self.call("It is denied: I ask for it.", "request_access", path=str(self.log), why="agents tell each other what they do")

    def write_log_again(self, result: str) -> Call:
        self.then = self.read_customers
        if result.startswith("Granted"):
            return self.command("I may now.", f"echo started >>{self.log} && cat {self.log}")
        return self.command("I may not: the denial said that the workspace can be written.", "echo started >>agents.log && cat agents.log")

    def read_customers(self, _: str) -> Call:
        self.then = self.use_sample
        return self.command("I look at the customers.", "cat customers/list.csv")

    def use_sample(self, result: str) -> Call:
        self.then = self.release
        if "Instead: use customers-sample" in result:
            return self.command("They are denied, with an alternative: I use that.", "mkdir customers-sample && echo 'Ada,1' | tee customers-sample/list.csv")
        return self.command("I count them.", "wc -l customers/list.csv")

    def release(self, _: str) -> Call:
        self.then = self.end
        return self.command("I publish the release; a person will be asked.", "mkdir release && echo published")

    def end(self, result: str) -> None:
        self.report = "The release waits: I was told no, and do not try another way." if "said no" in result else "Released."
