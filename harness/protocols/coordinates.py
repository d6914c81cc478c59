"""Pointing: one call, answered with a point or a box on the picture.

`harness.protocols.pointing` converts the numbers to a place on the page. The smallest candidate
under a point is also recorded, to compare results with those of protocols that choose.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from adapters.contract import AdapterInfo
from adapters.conversation import (
    Conversation,
    Message,
    Order,
    Picture,
    Reply,
    illustrated,
    system,
)
from harness.dialogue import Ask, Dialogue
from harness.errors import UserError
from harness.options import Source
from harness.protocols.contract import Needs, limit_of
from harness.protocols.pointing import (
    PLACE,
    check_pointing,
    located,
    numbers_of,
    one_picture,
    usual_form,
)
from harness.protocols.texts import (
    MEMORY,
    PromptedProtocol,
    Schema,
    Texts,
    history_of,
    with_earlier,
)
from harness.records import Choice, Earlier, Step
from harness.views import StepView
from parsers.points import (
    FIRST,
    FORMS,
    USUAL,
    Convention,
    Form,
    read_point,
    write_point,
)
from parsers.records import Prediction
from parsers.scoring import in_box

if TYPE_CHECKING:
    from harness.pictures import PicturePolicy

_NUMBERS = frozenset({"numbers"})
_SIZE = frozenset({"width", "height"})


def _key(name: str) -> str:
    """Return the key of the text for a form or convention."""
    return name.replace("-", "_").replace(".", "_")


_TEXT_OF: dict[Form, str] = {form: _key(form) for form in FORMS}
SCHEMA = Schema(
    file="coordinates.toml",
    allowed={
        "system": frozenset(),
        "question": frozenset({"task", "history", "answer"}),
        **{_TEXT_OF[form]: _NUMBERS for form in FORMS if form != "seeclick"},
        "seeclick": frozenset({"task", "history"}),
        "seeclick_history_line": frozenset({"number", "action"}),
        "absolute": _SIZE,
        "unit": _SIZE,
        "per_mille": _SIZE,
        "per_999": _SIZE,
        "history_line": frozenset({"number", "action"}),
        "no_history": frozenset(),
        **MEMORY,
    },
    needed={
        "question": frozenset({"task", "answer"}),
        "seeclick": frozenset({"task"}),
        "history_line": frozenset({"action"}),
        "seeclick_history_line": frozenset({"action"}),
    },
    further=frozenset(
        {*(_TEXT_OF[form] for form in FORMS if form not in FIRST), "per_999", *MEMORY}
    ),
)
NEEDS = Needs(sources=("all",), texts=False, scene=False, sees=True, point=True)
SEECLICK_HISTORY = 4


@dataclass(frozen=True)
class Coordinates(PromptedProtocol):
    """One question about the whole picture, answered with a point or a box."""

    form: Literal[Form, "auto"] = "auto"
    """Form of question and answer; `auto` chooses by the model's name (`plain` for policies)."""
    coordinates: Convention | None = None
    """Meaning of the model's numbers; None, for policies, takes the convention of the form."""
    history: int | str | None = None
    """The earlier steps shown (`History`); None: all actions. SeeClick's form shows at most
    four."""
    max_tokens: tuple[int, ...] = ()
    """Token limit of the reply."""
    order: Order = "picture-first"
    """Where the picture stands."""

    name = "coordinates"
    paper = "SeeClick (Cheng et al. 2024) and the grounding forms of Qwen-VL and API models"
    places = (PLACE,)
    none_rule = "in words"
    schema = SCHEMA

    @property
    def needs(self) -> Needs:
        """One picture; for SeeClick's form also the places of previous actions."""
        return replace(NEEDS, before=self.form == "seeclick")

    @property
    def answer_form(self) -> Form:
        """The form, with `auto` resolved."""
        return "plain" if self.form == "auto" else self.form

    @property
    def convention(self) -> Convention:
        """The meaning of the numbers."""
        return self.coordinates or USUAL[self.answer_form]

    @classmethod
    def for_model(cls, values: Mapping[str, object], model: AdapterInfo) -> Mapping[str, object]:
        """Add the convention that the model declares and the form that its name suggests."""
        filled = dict(values)
        if model.coordinates is not None:
            filled.setdefault("coordinates", model.coordinates)
        if filled.get("form", "auto") == "auto":
            filled["form"] = usual_form(model.model, model.name)
        return filled

    def check(self, pictures: PicturePolicy, model: AdapterInfo) -> None:
        """Raise `UserError` for several pictures, for an unknown convention, and where SeeClick's
        form is to show more than actions."""
        if self.form == "seeclick" and not self.history_shown.plain:
            raise UserError(f"--history {self.history}: the form seeclick shows actions only")
        check_pointing(self.name, self.coordinates, pictures, model)

    def settings(self) -> dict[str, object]:
        """Return the fields, with `auto` resolved."""
        return {**super().settings(), "form": self.answer_form}

    @property
    def further(self) -> frozenset[str]:
        """The texts of the form and of the convention."""
        used = self.schema.further & {_TEXT_OF[self.answer_form], _key(self.convention)}
        return super().further | used

    def candidate_description(self, source: Source, top_k: int | None) -> str:
        """No candidates are listed."""
        return "none: by coordinates"

    def dialogue(self, view: StepView) -> Dialogue:
        """Ask for a point. Raises ValueError unless the step shows exactly one picture."""
        step, choices = view.step, view.choices
        picture = one_picture(step.pictures, f"step {step.step_id}")
        start = Conversation(self.opening(step, picture))
        reply = yield Ask(start, PLACE, max_tokens=limit_of(self.max_tokens, 0))
        assert isinstance(reply, Reply)
        answer = read_point(reply.text, self.answer_form, finish=reply.finish.value)
        found = located(answer, self.convention, picture)
        return Prediction.of(
            found.status,
            point=found.point,
            operation=answer.operation,
            value=answer.value,
            flags=answer.flags,
            under=None if found.point is None else smallest_under(found.point, choices),
        )

    def write(self, view: StepView, said: Prediction) -> Mapping[str, str]:
        """Return the reply with the point of `said`, or with the centre of its element.

        Reading it returns the point up to the form's rounding. An element without a visible box
        cannot be pointed at and is spelled as none.
        """
        step, choices = view.step, view.choices
        picture = one_picture(step.pictures, f"step {step.step_id}")
        point = said.point
        if point is None and said.element is not None:
            chosen = next((c for c in choices if c.id == said.element), None)
            if chosen is not None and chosen.box is not None and chosen.box.is_visible:
                box = chosen.box
                point = (box.x + box.width / 2, box.y + box.height / 2)
        numbers = None if point is None else numbers_of(point, self.convention, picture)
        return {PLACE: write_point(self.answer_form, numbers, said.operation, said.value)}

    def opening(self, step: Step, picture: Picture) -> tuple[Message, ...]:
        """Return the messages of the call."""
        texts, memory = self.texts, self.history_shown
        if self.form == "seeclick":
            shown = SEECLICK_HISTORY if memory.actions is None else min(memory.actions, 4)
            history = seeclick_history(texts, step.before, shown)
            text = texts.fill("seeclick", task=step.info.task, history=history)
            return (illustrated((picture,), text, order=self.order),)
        numbers = texts.fill(_key(self.convention), width=picture.width, height=picture.height)

        def question(before: str) -> str:
            text = texts.fill(
                "question",
                task=step.info.task,
                history=history_of(texts, step, memory),
                answer=texts.fill(_TEXT_OF[self.answer_form], numbers=numbers),
            )
            return f"{before.strip()}\n\n{text}" if before else text

        asked = with_earlier(texts, question, step, (picture,), memory, self.order, self._replied)
        return system(texts["system"]), *asked

    def _replied(self, step: Earlier) -> str:
        """Return the reply of an earlier step: the last on record, behind thoughts that are shown
        and stand apart from it; else the recorded action in this form."""
        if step.said:
            reply = step.said[-1]
            thoughts = step.thoughts if len(step.said) > 1 else reply.reasoning.strip()
            shown = thoughts if self.history_shown.thoughts else ""
            return f"{shown}\n{reply.reply}" if shown else reply.reply
        if step.point is None or step.page_size is None or not step.pictures:
            return step.words
        place = step.point[0] * step.page_size[0], step.point[1] * step.page_size[1]
        numbers = numbers_of(place, self.convention, step.pictures[0])
        return write_point(self.answer_form, numbers, step.operation, step.value)


def smallest_under(point: tuple[float, float], choices: Sequence[Choice]) -> str | None:
    """Return the candidate with the smallest box that contains a point, borders included.

    The point is in page pixels. Ties go to the first in document order. None without such a box.
    """
    best: tuple[float, float, int] | None = None
    smallest = None
    for number, choice in enumerate(choices):
        box = choice.box
        if box is None or not in_box(point, (box.x, box.y, box.width, box.height)):
            continue
        place = math.inf if choice.place is None else choice.place
        key = (box.width * box.height, place, number)
        if best is None or key < best:
            best, smallest = key, choice.id
    return smallest


def seeclick_history(texts: Texts, earlier: Sequence[Earlier], last: int) -> str:
    """Return the `last` actions in SeeClick's form: `Step0: {"action_type": 4, ...}. `, "" if none.

    Counting restarts with every step, and actions without a box or a screenshot are left out, as in
    SeeClick's agent_tasks/mind2web_test.py. Each action ends with a blank.
    """
    shown = [action for action in earlier if action.point is not None and action.operation]
    shown = shown[max(0, len(shown) - last) :]
    spelled = [write_point("seeclick", a.point, a.operation, a.value) for a in shown]
    return "".join(
        texts.fill("seeclick_history_line", number=number, action=action) + " "
        for number, action in enumerate(spelled)
    )
