"""A protocol whose model calls the functions of AutoWebGLM, and knows elements by their ids."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adapters import Conversation, Reply, user
from harness.dialogue import Ask, Dialogue
from harness.protocols import Needs, StepProtocol
from harness.records import Choice, Step
from parsers.actions import Action, ActionKind, ActionSpace, Argument, Counterpart
from parsers.records import Prediction, Status

ID = Argument("id", "element")
FUNCTIONS = ActionSpace(
    "autowebglm",
    (
        ActionKind("click", (ID,)),
        ActionKind("hover", (ID,)),
        ActionKind("select", (ID, Argument("option", "text"))),
        ActionKind(
            "type_string",
            (ID, Argument("content", "text"), Argument("press_enter", "flag", required=False)),
        ),
        ActionKind("scroll_page", (Argument("direction", "choice", ("up", "down")),)),
        ActionKind("go", (Argument("direction", "choice", ("forward", "backward")),)),
        ActionKind("jump_to", (Argument("url", "text"), Argument("new_tab", "flag"))),
        ActionKind("switch_tab", (Argument("index", "number"),)),
        ActionKind("user_input", (Argument("message", "text"),)),
        ActionKind("finish", (Argument("answer", "text", required=False),)),
    ),
)


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

    def dialogue(self, step: Step, choices: Sequence[Choice]) -> Dialogue:
        lines = [step.info.task, *(f"{choice.id}: {choice.text}" for choice in choices)]
        reply = yield Ask(Conversation((user("\n".join(lines)),)), "act")
        assert isinstance(reply, Reply)
        return read(reply.text)

    def spell(
        self, step: Step, choices: Sequence[Choice], prediction: Prediction
    ) -> Mapping[str, str]:
        action = prediction.action
        if action is None:
            return {"act": "finish()"}
        values = [] if action.element is None else [action.element]
        listed = map(repr, (*values, *action.arguments.values()))
        return {"act": f"{action.name}({', '.join(listed)})"}


class Unwritten(Functions):
    """The same without counterparts."""

    name = "unwritten"
    counterparts = {}  # noqa: RUF012


class Misspelt(Functions):
    """The same with a counterpart that does not exist."""

    name = "misspelt"
    counterparts = {"mind2web": {"click": Counterpart("PRESS")}}  # noqa: RUF012


def read(text: str) -> Prediction:
    """What a call says, by the names that the function's arguments have."""
    try:
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        values = [ast.literal_eval(value) for value in call.args]
    except (AssertionError, SyntaxError, ValueError):
        return Prediction(Status.PARSE_ERROR)
    name = call.func.id
    kinds = FUNCTIONS[name].arguments if name in FUNCTIONS else ()
    names = [kind.name for kind in kinds] + [f"more_{number}" for number in range(len(values))]
    given = dict(zip(names, values, strict=False))
    element = given.pop("id", None)
    return Prediction(Status.ANSWERED, Action(name, element, arguments=given))
