"""Screen agent: one picture of a screen and a task, answered with the next action.

The form of the answer is that of the model's family (`parsers.screen.families`); the words around
it are this project's, or those of a file (option `prompts`). Earlier actions are shown as they were
recorded, in the family's form or as step sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
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
    user,
)
from harness.dialogue import Ask, Dialogue
from harness.errors import UserError, suggestion
from harness.pictures import Recipe
from harness.protocols.contract import AskingProtocol, Needs, limit_of
from harness.protocols.pointing import (
    by_longest_word,
    check_pointing,
    numbers_of,
    on_page,
    one_picture,
)
from harness.protocols.texts import Schema, Texts, earlier_pictures, open_texts, turns
from harness.records import Earlier
from harness.views import ScreenView
from parsers.actions import Action
from parsers.points import CONVENTIONS, Convention, from_pixels
from parsers.points.spelling import MOST
from parsers.records import Prediction, Status
from parsers.screen import SCREEN, Past, Point, Side, Task, placed
from parsers.screen.families import FAMILIES, Family
from parsers.screen.reading import read_action
from parsers.screen.spelling import neutral, write_action

if TYPE_CHECKING:
    from harness.pictures import PicturePolicy

PLACE = "action"
USUAL = "openai-computer"
"""The form of models that no family has a word for, and of policies."""

_SIZE = frozenset({"width", "height"})
_SCHEMA = Schema(
    "screen.toml",
    {
        "name": frozenset(),
        "system": _SIZE,
        "question": frozenset(
            {"goal", "step", "history", "script", "forms", "numbers", "scroll", *_SIZE}
        ),
        "second": frozenset({"forms", "numbers", "scroll"}),
        "single": frozenset(),
        "script": frozenset(),
        "step": frozenset({"instruction"}),
        "history": frozenset({"actions"}),
        "content": frozenset(),
        "finger": frozenset(),
        **dict.fromkeys(CONVENTIONS, _SIZE),
    },
    {
        "question": frozenset({"goal"}),
        "step": frozenset({"instruction"}),
        "history": frozenset({"actions"}),
    },
)
_MEANING = {
    "click": "tap a place",
    "double_click": "tap it twice",
    "right_click": "press the right button on it",
    "hover": "move the pointer there",
    "long_press": "press it for a while",
    "drag": "drag from one place to another",
    "scroll": "scroll",
    "type": "type a text",
    "key": "press a key",
    "hotkey": "press keys together",
    "enter": "press enter",
    "back": "go back",
    "home": "go to the home screen",
    "recents": "show the recent apps",
    "wait": "wait",
    "open_app": "open an app by its name",
    "answer": "answer the question of the task",
    "call_user": "ask the user",
    "complete": "the task is done",
    "impossible": "the task cannot be done",
}
_EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "scroll": {"direction": "down"},
    **{name: {"text": "TEXT"} for name in ("type", "answer", "call_user")},
    "open_app": {"text": "NAME"},
    "key": {"text": "KEY"},
    "hotkey": {"text": "KEYS"},
}


NEEDS = Needs(picture_policy="full:pixels=33177600", scene=False, sees=True, point=True)
"""One whole picture, in which the model points."""


@dataclass(frozen=True)
class ScreenAgent(AskingProtocol):
    """One question about a screen, answered with an action in the form of the model's family."""

    family: str = "auto"
    """Form of the answers; `auto` chooses by the model's name."""
    coordinates: Convention | None = None
    """Meaning of the model's numbers; None takes the adapter's declaration, else the family's."""
    scroll: Literal["content", "finger", "auto"] = "auto"
    """Meaning of the model's words for directions; `auto` takes the family's."""
    level: Literal["high", "low"] = "high"
    """`high` asks with the task alone, `low` with the sentence about this step as well."""
    past: Literal["actions", "sentences", "neutral"] = "actions"
    """Form of earlier steps: `neutral` is in words that no family has, as `native` shows them."""
    order: Order = "picture-first"
    """Where the picture stands."""
    history: int | str | None = "auto"
    """The earlier steps shown (`History`); `auto` takes the family's, None: all actions."""
    prompts: Path | None = None
    """File with texts that replace the shipped ones."""
    max_tokens: tuple[int, ...] = ()
    """Token limit of the reply."""

    name = "screen-agent"
    View = ScreenView
    actions = SCREEN
    places = (PLACE,)
    of_model = ("family", "coordinates", "scroll")
    paper = "the forms that agents for phones and screens publish (docs/screen-steps.md)"

    def __post_init__(self) -> None:
        """Raise `UserError` for an unknown family."""
        if self.family != "auto" and self.family not in FAMILIES:
            raise UserError(f"family={self.family}: {suggestion(self.family, FAMILIES)}")

    @property
    def chosen(self) -> Family:
        """The family."""
        return FAMILIES[USUAL if self.family == "auto" else self.family]

    @property
    def needs(self) -> Needs:
        """One whole picture; `history=auto` shows the earlier steps as the family was trained."""
        return replace(NEEDS, usual_history=self.chosen.history)

    @property
    def convention(self) -> Convention:
        """Meaning of the numbers."""
        return self.coordinates or self.chosen.coordinates

    @cached_property
    def texts(self) -> Texts:
        """Texts of the question, with placeholders."""
        return open_texts(_SCHEMA, self.prompts)

    @classmethod
    def for_model(cls, values: Mapping[str, object], model: AdapterInfo) -> Mapping[str, object]:
        """Add the family of the model's name, and what its numbers mean."""
        filled = dict(values)
        if filled.get("family", "auto") == "auto":
            words = [(word, one) for one in FAMILIES.values() for word in one.words or (one.name,)]
            found = by_longest_word(words, model.model, model.name)
            filled["family"] = found.name if found else "auto"
        if filled.get("coordinates") is None:
            filled["coordinates"] = model.coordinates
        return filled

    def check(self, pictures: PicturePolicy, model: AdapterInfo) -> None:
        """Raise `UserError` for undeclared coordinates, and for words no one has explained."""
        known = self.coordinates or (self.convention if self.family != "auto" else None)
        check_pointing(self.name, known, pictures, model)
        if self.chosen.scroll is None and self.scroll == "auto":
            raise UserError(
                f"whether {self.chosen.name} names the view or the finger in a scroll is not "
                "published: say --protocol-option scroll=content or scroll=finger"
            )

    def settings(self) -> dict[str, object]:
        """Return the fields with `auto` resolved, the texts by name and digest."""
        settings = super().settings()
        del settings["prompts"]
        history = self.history_shown
        resolved = {
            "family": self.chosen.name,
            "history": history.actions if history.plain else str(history),
            "coordinates": self.convention,
            "scroll": str(self.chosen.scroll) if self.scroll == "auto" else self.scroll,
        }
        named = {"prompts": self.texts.name, "prompts_sha256": self.texts.digest()}
        return {"protocol": settings.pop("protocol"), **named, **settings, **resolved}

    def side(self, task: Task) -> Side:
        """Meaning of a word for a direction in answers about a task."""
        chosen = None if self.scroll == "auto" else self.scroll
        return self.chosen.side(chosen, task.stored)

    def dialogue(self, view: ScreenView) -> Dialogue:
        """Ask for an action. Raises ValueError unless it shows exactly one picture."""
        picture = one_picture(view.pictures, f"step {view.unit_id}")
        conversation = Conversation(self.opening(view.content, picture, view.before))
        reply = yield Ask(conversation, PLACE, max_tokens=limit_of(self.max_tokens, 0))
        assert isinstance(reply, Reply)
        return self.read(reply, view.content, picture)

    def read(self, reply: Reply, task: Task, picture: Picture) -> Prediction:
        """Return a reply in the family's form as a prediction in pixels of the original."""
        answer = read_action(
            reply.text,
            self.chosen,
            finish=reply.finish.value,
            side=self.side(task),
            script=task.script,
        )
        action = answer.action
        if action is None:
            return Prediction(answer.status, flags=answer.flags)
        there = placed(action, lambda point: on_page(point, self.convention, picture))
        if there is None:
            numbers = dict(zip(("numbers_x", "numbers_y"), action.point or (), strict=False))
            return Prediction(Status.OUT_OF_RANGE, flags=answer.flags, parsed=numbers)
        return Prediction(answer.status, there, answer.flags)

    def write(self, view: ScreenView, said: Prediction) -> Mapping[str, str]:
        """Return the reply with an action; empty for one that the family's form cannot say."""
        picture = one_picture(view.pictures, f"step {view.unit_id}")
        action = said.action
        text = None if action is None else self._spelled(action, view.content, picture)
        return {PLACE: text or ""}

    def _spelled(self, action: Action, task: Task, picture: Picture) -> str | None:
        def numbers(point: Point) -> tuple[str, str]:
            size = picture.width, picture.height
            place = Recipe.parse(picture.recipe).to_picture(*point)
            if MOST[self.convention] == 1:
                return f"{place[0] / size[0]:.4f}", f"{place[1] / size[1]:.4f}"
            x, y = from_pixels(place, self.convention, size)
            return str(round(x)), str(round(y))

        return write_action(action, self.chosen, numbers, task.size, side=self.side(task))

    def opening(
        self, task: Task, picture: Picture, before: Sequence[Earlier] = ()
    ) -> tuple[Message, ...]:
        """Return the messages about a step; `before` has the pictures of earlier ones."""
        texts, size = self.texts, {"width": picture.width, "height": picture.height}
        known = {one.index: one for one in before}
        steps = [
            self._earlier(past, known.get(place, Earlier(index=place)), task, picture)
            for place, past in enumerate(task.before)
        ]
        history = self.history_shown
        shown, _ = history.of(len(steps))
        told = [] if history.turns else [one.words for one in steps[len(steps) - shown :]]
        numbered = "\n".join(f"{place}. {one}" for place, one in enumerate(told, 1))
        step = self.level == "low" and task.instruction
        question = texts.fill(
            "question",
            goal=task.goal,
            step=_paragraph(texts.fill("step", instruction=task.instruction)) if step else "",
            history=_paragraph(texts.fill("history", actions=numbered)) if told else "",
            script=texts["script" if task.script else "single"],
            forms="\n".join(self._forms(task, picture)),
            numbers=texts.fill(self.convention, **size),
            scroll=texts[self.side(task)],
            **size,
        ).strip()
        opening = texts.fill("system", **size).strip()
        start = (system(opening),) if opening else ()
        if history.turns:
            replies = turns(steps, history, lambda one: one.words)
            return (*start, user(question), *replies, user(picture))
        pictures = (*earlier_pictures(steps, history), picture)
        return (*start, illustrated(pictures, question, order=self.order))

    def second(self, task: Task, picture: Picture) -> str:
        """Return the question for an action that was described in words."""
        return self.texts.fill(
            "second",
            forms="\n".join(self._forms(task, picture)),
            numbers=self.texts.fill(self.convention, width=picture.width, height=picture.height),
            scroll=self.texts[self.side(task)],
        ).strip()

    def _earlier(self, past: Past, known: Earlier, task: Task, picture: Picture) -> Earlier:
        """An earlier step with its words: what was replied where that is on record, else what was
        recorded, behind the step's sentence where thoughts are shown."""
        history = self.history_shown
        if known.said:
            reply = known.said[-1].reply
            return replace(known, words=reply if history.turns else " ".join(reply.split()))
        told = self.past == "sentences" and not history.turns
        if past.sentence and (told or not past.action.name):
            return replace(known, words=past.sentence)
        shown = known.pictures[0] if known.pictures else picture
        if self.past == "neutral" and not history.turns and past.action.name:
            convention = self.convention
            words = neutral(past.action, lambda point: numbers_of(point, convention, shown))
            return replace(known, words=words)
        said = self._spelled(past.action, task, shown) or str(past.action)
        if history.thoughts and past.sentence:
            lead = self.chosen.lead
            said = f"{lead.rstrip()} {past.sentence}\n{said.removeprefix(lead)}".lstrip()
        return replace(known, words=said if history.turns else " ".join(said.split()))

    def _forms(self, task: Task, picture: Picture) -> Iterator[str]:
        """A line for each action of the family, with an example of how it is written."""
        middle = task.size[0] / 2, task.size[1] / 2
        end = {"to_x": task.size[0] / 2, "to_y": task.size[1] / 4}
        for name in dict.fromkeys(said.name for said in self.chosen.actions):
            example = Action(name, arguments=_EXAMPLES.get(name, {}))
            if name == "drag":
                example = Action(name, point=middle, arguments=end)
            elif SCREEN[name].places and name not in ("scroll", "type"):
                example = Action(name, point=middle)
            said = self._spelled(example, task, picture)
            if said is not None:
                yield f"- {_MEANING[name]}:\n{said}"


def _paragraph(text: str) -> str:
    return f"{text.strip()}\n\n"
