"""The protocol of environments, in which the caller of `step` takes the place of the model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from adapters.conversation import Conversation, Reply
from harness.benchmarks.step.predictions import under
from harness.dialogue import Ask, Dialogue, hold
from harness.page import Page
from harness.protocols import Lettering, Needs, StepProtocol
from harness.protocols.action_strings import ON_RECORDED_PAGES
from harness.records import Choice, Row
from harness.views import StepView
from parsers import browsergym
from parsers.actions import Action, ActionSpace, Value
from parsers.browsergym import FUNCTIONS, STOPS
from parsers.option_text import letter
from parsers.records import Prediction, Status
from parsers.settling import settled

PLACE = "action"
_LETTERED = 701
"""Most choices with a letter; one letter remains for "none of these"."""
_OPERATIONS = {
    "CLICK": "click",
    "TYPE": "fill",
    "SELECT": "select_option",
    "HOVER": "hover",
    "ENTER": "press",
    "PRESS ENTER": "press",
}
_WRITTEN = {"click": "CLICK", "fill": "TYPE", "select_option": "SELECT"}
_VALUES = {"fill": "value", "select_option": "options"}
_CALL = 'write one call, such as click("12")'


@dataclass(frozen=True)
class ActionStrings(StepProtocol):
    """One action per step, a string in BrowserGym's syntax (`parsers.browsergym`).

    Its question is empty: the caller has the observation.
    """

    name = "browsergym"
    places = (PLACE,)
    needs = Needs(pictures="none", picture_policy="none", point=True)
    actions = FUNCTIONS
    counterparts = {  # noqa: RUF012
        "mind2web": ON_RECORDED_PAGES,
    }

    def letters(self, count: int) -> Lettering:
        """Assign a letter to each choice and one to none of them, while there are letters."""
        if count > _LETTERED:
            return super().letters(count)
        return Lettering(tuple(letter(number) for number in range(count)), letter(count))

    def dialogue(self, view: StepView) -> Dialogue:
        """Read the action; the prediction uses `FUNCTIONS`, without `choose`."""
        choices = view.choices
        reply = yield Ask(Conversation(()), PLACE)
        assert isinstance(reply, Reply)
        prediction = browsergym.read(reply.text)
        if prediction.action is None or prediction.action.name != "choose":
            return prediction
        return self._chosen(prediction, prediction.action.arguments, choices)

    def write(self, view: StepView, said: Prediction) -> Mapping[str, str]:
        """Write the action of a prediction in terms of `FUNCTIONS`; `noop()` if there is none."""
        choices = view.choices
        action = said.action
        if action is None or action.name not in FUNCTIONS:
            action = Action("noop")
        values = {_VALUES[action.name]: "", **action.arguments} if action.name in _VALUES else {}
        none = self.letters(len(choices)).none
        if said.status is Status.NONE and none is not None and action.name in _WRITTEN:
            chosen = (none, _WRITTEN[action.name], *values.values())
            names = ("letter", "operation", "value")
            action = Action("choose", arguments=dict(zip(names, chosen, strict=False)))
        elif action.element is None and action.point is not None:
            action = Action("mouse_click", point=action.point)
        else:
            action = replace(action, arguments=values)
        return {PLACE: browsergym.spell(action)}

    def _chosen(
        self, prediction: Prediction, values: Mapping[str, Value], choices: Sequence[Choice]
    ) -> Prediction:
        """Translate `choose(letter, operation, value)`."""
        operation, value = values.get("operation", "CLICK"), values.get("value")
        name = _OPERATIONS.get(str(operation).strip().upper(), str(operation))
        arguments = {_VALUES[name]: value or ""} if name in _VALUES else {}
        wanted = str(values.get("letter", "")).strip().upper()
        lettering = self.letters(len(choices))
        if wanted and wanted == lettering.none:
            return replace(prediction, status=Status.NONE, action=Action(name, arguments=arguments))
        element = next(
            (choice.id for choice in choices if wanted and choice.letter == wanted), None
        )
        status = Status.OUT_OF_RANGE if element is None else prediction.status
        action = Action(name, element, arguments=arguments)
        return replace(prediction, status=status, action=action, letter=wanted if element else None)


class ParsedAction(NamedTuple):
    """A parsed action.

    prediction: the prediction in terms of the benchmark.
    error: the reason why it cannot be carried out; "" if it can.
    stops: True if it ends the episode.
    """

    prediction: Prediction
    error: str
    stops: bool


def read_action(
    text: str, view: StepView, row: Row, page: Page, space: ActionSpace | None
) -> ParsedAction:
    """Parse an action on a step's page into the `space` of its benchmark.

    No text raises an exception.
    """
    protocol = ActionStrings()
    parsed = hold(protocol.dialogue(view), lambda _: Reply(text))
    action = parsed.action
    if action is not None and action.element is not None and action.element not in page:
        left = replace(action, element=None)
        parsed = replace(parsed, status=Status.OUT_OF_RANGE, action=left)
    counterparts = protocol.counterparts.get(space.name if space else "", {})
    found = settled(parsed, space, FUNCTIONS, counterparts)
    if found.status is Status.ANSWERED and found.element is None and found.point is not None:
        found = replace(found, under=under(row, page, found.point))
    stops = action is not None and action.name in STOPS
    return ParsedAction(found, _error(text, parsed, found), stops)


def _error(text: str, parsed: Prediction, found: Prediction) -> str:
    """Explain the error of an action, whose readable part is `found`."""
    action = parsed.action
    if parsed.status is Status.OUT_OF_RANGE:
        return f"not on this page, or not listed: {_shortened(text)}"
    if parsed.status is Status.AMBIGUOUS:
        return f"several different calls, and only one can be done: {_shortened(text)}"
    if action is None:
        return f"no action could be read: {_CALL}, not {_shortened(text)}"
    if action.name not in FUNCTIONS:
        known = ", ".join(kind.name for kind in FUNCTIONS.actions)
        return f"{_shortened(action.name)} is not an action here; there are {known}"
    kind = FUNCTIONS[action.name]
    answered = parsed.status is Status.ANSWERED
    nowhere = answered and kind.places and action.element is None and action.point is None
    if nowhere or {"wrong_argument", "missing_argument"} & set(found.flags):
        takes = ", ".join(argument.name for argument in kind.arguments)
        return f"{action.name} takes ({takes}), not {_shortened(text)}"
    return ""


def _shortened(text: str) -> str:
    """Quote a text on one line, without the end of a long one."""
    return json.dumps(text if len(text) <= 60 else text[:59] + "…", ensure_ascii=False)
