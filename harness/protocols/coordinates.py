"""Models that point: one call, and a point or a box on the picture for an answer.

What the numbers mean (pixels of the picture as sent, shares, thousandths) is what the model's
adapter declares or the user says; it is never guessed from their size. A box counts by its centre.
The point is turned into page pixels by the picture's recipe, and the smallest candidate under it is
looked up beside, so that results can stand next to those of protocols that choose.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from adapters.contract import AdapterInfo
from adapters.conversation import Conversation, Message, Picture, Reply, system, user
from harness.dialogue import Ask, Dialogue
from harness.errors import UserError
from harness.pictures import Recipe
from harness.protocols.contract import Needs
from harness.protocols.groups import history_lines, limit_of
from harness.protocols.texts import PromptedProtocol, Schema, Texts
from harness.records import Choice, Earlier, Step
from harness.settings import Source
from parsers.points import (
    FORMS,
    USUAL,
    Convention,
    Form,
    PointAnswer,
    from_pixels,
    read_point,
    spell_point,
    to_pixels,
)
from parsers.records import Prediction, Status
from parsers.scoring import in_box

if TYPE_CHECKING:
    from harness.pictures import PicturePolicy

_NUMBERS = frozenset({"numbers"})
_SIZE = frozenset({"width", "height"})
_TEXT_OF: dict[Form, str] = {form: form.replace("-", "_").replace(".", "_") for form in FORMS}
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
        "history_line": frozenset({"number", "action"}),
        "no_history": frozenset(),
    },
    needed={
        "question": frozenset({"task", "answer"}),
        "seeclick": frozenset({"task"}),
        "history_line": frozenset({"action"}),
        "seeclick_history_line": frozenset({"action"}),
    },
)
NEEDS = Needs(sources=("all",), texts=False, forms=False, scene=False, sees=True, point=True)
PLACE = "answer"
SEECLICK_HISTORY = 4

FAMILIES: tuple[tuple[str, Form], ...] = (
    ("seeclick", "seeclick"),
    ("qwen3", "qwen3-vl"),
    ("qwen2.5", "qwen2.5-vl"),
    ("qwen2-vl", "qwen2-vl"),
    ("qwen-vl", "qwen-vl"),
    ("claude", "computer-use"),
    ("gpt-", "computer-use"),
    ("chatgpt", "computer-use"),
    ("gemini", "gemini"),
)
"""The form of a model in whose name the word occurs, the first that does; else it is `plain`."""


def usual_form(name: str) -> Form:
    """The form in which a model of this name was trained to point.

    >>> usual_form("openai:Qwen/Qwen2.5-VL-7B-Instruct"), usual_form("google:gemini-3.8-flash")
    ('qwen2.5-vl', 'gemini')
    """
    plain = name.lower().replace("_", "-")
    return next((form for word, form in FAMILIES if word in plain), "plain")


@dataclass(frozen=True)
class Coordinates(PromptedProtocol):
    """One question about the whole picture, answered with a point or a box."""

    form: Literal[Form, "auto"] = "auto"
    """How the model is asked and answers; `auto` goes by the model's name, and is `plain` without
    a model."""
    coordinates: Convention | None = None
    """What the model's numbers mean; None takes what the form's own models use, for baselines."""
    history: int | None = None
    """Number of previous actions shown; None shows all, SeeClick's form four at most."""
    max_tokens: tuple[int, ...] = ()
    """Token limit of the reply."""

    name = "coordinates"
    paper = "SeeClick (Cheng et al. 2024) and the grounding forms of Qwen-VL and API models"
    places = (PLACE,)
    none_rule = "in words"
    schema = SCHEMA

    @property
    def needs(self) -> Needs:
        """One picture; for SeeClick's form also where the previous actions were done."""
        return replace(NEEDS, earlier=self.form == "seeclick")

    @property
    def answer_form(self) -> Form:
        """The form that `form` comes to."""
        return "plain" if self.form == "auto" else self.form

    @property
    def convention(self) -> Convention:
        """What the numbers mean."""
        return self.coordinates or USUAL[self.answer_form]

    @classmethod
    def for_model(cls, values: Mapping[str, object], model: AdapterInfo) -> Mapping[str, object]:
        """With the convention that the model declares and the form that its name suggests."""
        filled = dict(values)
        if model.coordinates is not None:
            filled.setdefault("coordinates", model.coordinates)
        if filled.get("form", "auto") == "auto":
            filled["form"] = usual_form(f"{model.name} {model.model}")
        return filled

    def check(self, pictures: PicturePolicy, model: AdapterInfo) -> None:
        """Raise `UserError` for several pictures, and if the meaning of numbers is unknown."""
        if pictures.name == "tiles":
            raise UserError(
                "--image-policy tiles shows several pictures, and a point would not say which it "
                f"means: ask '{self.name}' with full, viewport or candidates"
            )
        if self.coordinates is None and model.provider != "policy":
            raise UserError(
                f"it is not known what the coordinates of {model.name} mean: say "
                "--protocol-option coordinates=absolute (pixels of the picture), unit (0 to 1) or "
                "per-mille (0 to 1000)"
            )

    def settings(self) -> dict[str, object]:
        """The fields, with the form that was used."""
        return {**super().settings(), "form": self.answer_form}

    def candidate_description(self, source: Source, top_k: int | None) -> str:
        """None are offered."""
        return "none: by coordinates"

    def dialogue(self, step: Step, choices: Sequence[Choice]) -> Dialogue:
        """Ask for the place. Raises ValueError for a step that shows no or several pictures."""
        picture, recipe = _picture(step)
        start = Conversation(self.opening(step, picture))
        reply = yield Ask(start, PLACE, max_tokens=limit_of(self.max_tokens, 0))
        assert isinstance(reply, Reply)
        said = read_point(reply.text, self.answer_form, finish=reply.finish.value)
        return self._placed(said, (picture.width, picture.height), recipe, choices)

    def _placed(
        self,
        said: PointAnswer,
        size: tuple[int, int],
        recipe: Recipe,
        choices: Sequence[Choice],
    ) -> Prediction:
        status, point, under = said.status, None, None
        if said.point is not None:
            pixels = to_pixels(said.point, self.convention, size)
            if pixels is None:
                status = Status.OUT_OF_RANGE
            else:
                x, y = recipe.to_page(*pixels)
                # A millionth of a pixel, so that the border of a box is met where it is meant.
                point = (round(x, 6), round(y, 6))
                under = smallest_under(point, choices)
        return Prediction(
            status,
            point=point,
            operation=said.operation,
            value=said.value,
            flags=said.flags,
            under=under,
        )

    def spell(
        self, step: Step, choices: Sequence[Choice], prediction: Prediction
    ) -> Mapping[str, str]:
        """The reply of a model that wants `prediction`: its point, or the middle of its element.

        Numbers are rounded as the form writes them, so that reading gives the point back up to
        that. An element without a visible box cannot be pointed at, and is spelled as none.
        """
        picture, recipe = _picture(step)
        point = prediction.point
        if point is None and prediction.element is not None:
            chosen = next((c for c in choices if c.id == prediction.element), None)
            if chosen is not None and chosen.box is not None and chosen.box.is_visible:
                box = chosen.box
                point = (box.x + box.width / 2, box.y + box.height / 2)
        numbers = None
        if point is not None:
            size = (picture.width, picture.height)
            numbers = from_pixels(recipe.to_picture(*point), self.convention, size)
        return {
            PLACE: spell_point(self.answer_form, numbers, prediction.operation, prediction.value)
        }

    def opening(self, step: Step, picture: Picture) -> tuple[Message, ...]:
        """The messages of the call."""
        texts = self.texts
        if self.form == "seeclick":
            shown = SEECLICK_HISTORY if self.history is None else min(self.history, 4)
            history = seeclick_history(texts, step.earlier, shown)
            return (user(picture, texts.fill("seeclick", task=step.task, history=history)),)
        numbers = texts.fill(
            self.convention.replace("-", "_"), width=picture.width, height=picture.height
        )
        text = texts.fill(
            "question",
            task=step.task,
            history=history_lines(texts, step.history, self.history),
            answer=texts.fill(_TEXT_OF[self.answer_form], numbers=numbers),
        )
        return system(texts["system"]), user(picture, text)


def _picture(step: Step) -> tuple[Picture, Recipe]:
    if len(step.pictures) != 1:
        raise ValueError(
            f"step {step.step_id} shows {len(step.pictures)} pictures; a point needs exactly one"
        )
    return step.pictures[0], Recipe.parse(step.pictures[0].recipe)


def smallest_under(point: tuple[float, float], choices: Sequence[Choice]) -> str | None:
    """The candidate of the smallest box that holds a point in page pixels, borders included.

    Of equally small ones the first in document order; None where no box holds the point.
    """
    best: tuple[float, float, int] | None = None
    found = None
    for number, choice in enumerate(choices):
        box = choice.box
        if box is None or not in_box(point, (box.x, box.y, box.width, box.height)):
            continue
        place = math.inf if choice.place is None else choice.place
        key = (box.width * box.height, place, number)
        if best is None or key < best:
            best, found = key, choice.id
    return found


def seeclick_history(texts: Texts, earlier: Sequence[Earlier], last: int) -> str:
    """The `last` actions in SeeClick's words, `Step0: {"action_type": 4, ...}. `; "" without any.

    The index restarts with every step, and actions without a box or a screenshot are left out
    (SeeClick, agent_tasks/mind2web_test.py). A blank stands behind each.
    """
    shown = [action for action in earlier if action.point is not None]
    shown = shown[max(0, len(shown) - last) :]
    spelled = [spell_point("seeclick", a.point, a.operation, a.value) for a in shown]
    return "".join(
        texts.fill("seeclick_history_line", number=number, action=action) + " "
        for number, action in enumerate(spelled)
    )
