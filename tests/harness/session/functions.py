"""A protocol whose model calls the functions of AutoWebGLM, and knows elements by their ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adapters import Conversation, Reply, user
from harness.dialogue import Ask, Dialogue
from harness.protocols import Needs, StepProtocol
from harness.views import StepView
from parsers.actions import Counterpart
from parsers.autowebglm import FUNCTIONS, read, spell
from parsers.records import Prediction


@dataclass(frozen=True)
class Functions(StepProtocol):
    """One call per step, answered by a call of a function."""

    name = "functions"
    places = ("act",)
    needs = Needs(pictures="none", picture_policy="none", scene=False)
    actions = FUNCTIONS
    counterparts = {  # noqa: RUF012
        "mind2web": {
            "click": Counterpart("CLICK"),
            "hover": Counterpart("CLICK", mapped=True),
            "select": Counterpart("SELECT", {"option": "value"}),
            "type_string": Counterpart("TYPE", {"content": "value"}),
        }
    }

    def dialogue(self, view: StepView) -> Dialogue:
        step, choices = view.step, view.choices
        lines = [step.info.task, *(f"{choice.id}: {choice.text}" for choice in choices)]
        reply = yield Ask(Conversation((user("\n".join(lines)),)), "act")
        assert isinstance(reply, Reply)
        return read(reply.text)

    def write(self, view: StepView, said: Prediction) -> Mapping[str, str]:
        action = said.action
        if action is None:
            return {"act": "finish()"}
        return {"act": spell(action)}


class Unwritten(Functions):
    """The same without counterparts."""

    name = "unwritten"
    counterparts = {}  # noqa: RUF012


class Misspelt(Functions):
    """The same with a counterpart that does not exist."""

    name = "misspelt"
    counterparts = {"mind2web": {"click": Counterpart("PRESS")}}  # noqa: RUF012
