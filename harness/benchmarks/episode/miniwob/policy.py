"""Scripted solutions of tasks of MiniWoB++ as a policy, asked turn by turn.

They see what an agent is shown: goal, elements and their boxes. They look at no variable of a page,
and never at the right answer.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from harness.errors import UserError
from harness.page import Box
from harness.records import Choice, Step
from harness.runs.records import Unit
from harness.views import LiveView, StepView
from parsers.actions import Action, Value
from parsers.records import Prediction, Status

_TAGS = re.compile(r"<[^<>]*>")
_OPENING = re.compile(r"<\S+(?: id=\d+)?(?P<words>[^<>]*?)/?(?:>|$)")  # Long ones are cut.
_QUOTED = re.compile(r'"([^"]*)"')
_SHARES = (0.5, 0.15, 0.85, 0.03, 0.97)
_DATE = r"(\d+/\d+/\d+)"


@dataclass(frozen=True, slots=True)
class Element:
    """A candidate: its text without markup, and the words of its attributes."""

    id: str
    tag: str
    text: str
    words: tuple[str, ...]
    box: Box

    @classmethod
    def of(cls, choice: Choice) -> Self:
        """Read a listed choice (`<button id=3 submit>Search</button>`)."""
        opening = _OPENING.match(choice.text)
        words = opening["words"].split() if opening else ()
        text = " ".join(_TAGS.sub(" ", choice.text).split())
        return cls(choice.id, choice.tag, text, tuple(words), choice.box or Box(0, 0, 0, 0))

    @property
    def middle(self) -> tuple[float, float]:
        return self.box.x + self.box.width / 2, self.box.y + self.box.height / 2

    def has(self, x: float, y: float) -> bool:
        """Return whether a point lies within its box."""
        return self.box.x <= x <= self.box.right and self.box.y <= y <= self.box.bottom

    def encloses(self, other: Element) -> bool:
        """Return whether all of another element lies within its box."""
        return self.has(other.box.x, other.box.y) and self.has(other.box.right, other.box.bottom)


@dataclass(frozen=True, slots=True)
class Doing:
    """The next action on an element, of `parsers.live`."""

    action: str
    element: Element
    arguments: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EpisodeTurn:
    """A turn of an episode.

    goal: what the page asks for.
    number: how many turns there were before it.
    elements: the visible elements, in document order.
    """

    goal: str
    number: int
    elements: tuple[Element, ...]

    @classmethod
    def of(cls, step: Step, choices: Sequence[Choice]) -> Self:
        seen = (Element.of(choice) for choice in choices if choice.box and choice.box.is_visible)
        return cls(step.info.task, step.info.index, tuple(seen))

    @property
    def quoted(self) -> list[str]:
        """Return the quoted parts of the goal, in order."""
        return _QUOTED.findall(self.goal)

    def said(self, pattern: str) -> str:
        """Return the first group of a pattern in the goal; "" where it does not occur."""
        found = re.search(pattern, self.goal)
        return found[1] if found else ""

    def all(self, *tags: str, words: str = "") -> list[Element]:
        """Return the elements with one of the tags, and with a word of attributes if given."""
        return [
            one for one in self.elements if one.tag in tags and (not words or words in one.words)
        ]

    def named(self, text: str, *tags: str) -> Element | None:
        """Return the innermost element with exactly this text, of any tag if none is given."""
        fitting = (one for one in reversed(self.elements) if not tags or one.tag in tags)
        return next((one for one in fitting if one.text == text), None)

    def point_of(self, element: Element) -> tuple[float, float]:
        """Return a point that no later element lies over, the middle of the element if it can."""
        place = self.elements.index(element)
        over = [one for one in self.elements[place + 1 :] if not element.encloses(one)]
        box = element.box
        spots = [(box.x + box.width * x, box.y + box.height * y) for y in _SHARES for x in _SHARES]
        return next((spot for spot in spots if not any(one.has(*spot) for one in over)), spots[0])


Script = Callable[[EpisodeTurn], Doing | None]
"""Return the action of a turn; None where the page offers none."""


def _click(element: Element | None) -> Doing | None:
    return Doing("CLICK", element) if element else None


def _enter(element: Element, value: str) -> Doing:
    return Doing("TYPE", element, {"value": value})


def _button(turn: EpisodeTurn, name: str = "Submit") -> Doing | None:
    return _click(turn.named(name, "button"))


def _submit(turn: EpisodeTurn) -> Doing | None:
    """Click the last button, whatever it is called, or the last element."""
    return _click((turn.all("button") or turn.elements)[-1])


def _in_turn(turn: EpisodeTurn, doings: Iterable[Doing | None]) -> Doing | None:
    """Return the doing whose number is that of the turn; the last one once they are over."""
    listed = [*doings]
    return listed[min(turn.number, len(listed) - 1)] if listed else None


def _filled(doings: Callable[[EpisodeTurn], Iterable[Doing | None]]) -> Script:
    """Return a script that does one thing after the other, and then submits the form."""
    return lambda turn: _in_turn(turn, (*doings(turn), _submit(turn)))


def _typed(values: Callable[[EpisodeTurn], Iterable[str]]) -> Script:
    """Return a script that types values into the fields from above, and then submits the form."""
    return _filled(lambda turn: map(_enter, turn.all("input"), values(turn)))


def _moment(said: str, form: str, typed: str) -> Script:
    """Return a script that types a date or time of the goal in the form that its field takes."""
    return _typed(lambda turn: [datetime.strptime(turn.said(said), form).strftime(typed)])


def _behind(tag: str) -> Script:
    """Return a script that opens one element of a tag after the other until the link shows."""
    return lambda turn: _link(turn) or _in_turn(turn, map(_click, turn.all(tag)))


def _link(turn: EpisodeTurn) -> Doing | None:
    """`click-link`: links are `span` elements of a class."""
    links = turn.all("span", words="alink")
    return _click(next((one for one in links if one.text == turn.quoted[-1]), None))


def _entries(turn: EpisodeTurn) -> list[Doing | None]:
    """`choose-list` and `click-scroll-list`, where several may be asked for."""
    names = turn.said(r"Select (.*) from the").split(", ")
    return [Doing("SELECT", turn.all("select")[0], {"value": name}) for name in names]


def _boxes(turn: EpisodeTurn) -> list[Doing | None]:
    """`click-option` and the exact ones of `click-checkboxes`: labels with one of the names."""
    names = turn.said(r"Select (.*) and click").split(", ")
    return [_click(one) for one in turn.all("label") if one.text in names]


def _dialog(turn: EpisodeTurn) -> Doing | None:
    """`click-dialog-2`: the cross is the button that stands highest."""
    if (name := turn.quoted[-1]) != "x":
        return _button(turn, name)
    return _click(min(turn.all("button"), key=lambda one: one.middle[1]))


def _focus(turn: EpisodeTurn) -> Doing | None:
    """`focus-text` and `focus-text-2`."""
    place = int(turn.said(r"the (\d)") or 1) - 1
    return _click(sorted(turn.all("input"), key=lambda one: one.middle[1])[place])


def _widget(turn: EpisodeTurn) -> Doing | None:
    """`click-widget`."""
    kind = turn.quoted[-1]
    tag = kind if kind in ("textarea", "button") else "input"
    words = {"text": "input", "radio": "radio", "checkbox": "checkbox"}.get(kind, "")
    return _click(next(iter(turn.all(tag, words=words)), None))


def _tree(turn: EpisodeTurn) -> Doing | None:
    """`navigate-tree`: the content of an opened folder follows it, so the opened ones are first."""
    found = turn.named(turn.quoted[-1], "span")
    return _click(found or turn.all("span", words="folder")[turn.number])


def _menu(turn: EpisodeTurn) -> Doing | None:
    """`click-menu`: a click on a menu within the menu would be a choice; it opens by a hover."""
    path = turn.said(r"Select (.*)").split(">")
    name = path[min(turn.number, len(path) - 1)]
    item = turn.named(name, "div")
    return Doing("CLICK" if name == path[-1] else "HOVER", item) if item else None


def _shape(turn: EpisodeTurn) -> Doing | None:
    """`identify-shape`: shapes are known by their tags, letters and digits by their text."""
    for tag, name in (("rect", "Rectangle"), ("circle", "Circle"), ("polygon", "Triangle")):
        if turn.all(tag):
            return _button(turn, name)
    return _button(turn, "Number" if turn.all("tspan")[0].text.isdigit() else "Letter")


_CHECKBOXES = ("click-checkboxes", "click-checkboxes-large", "click-checkboxes-transfer")
SCRIPTS: Mapping[str, Script] = {
    **dict.fromkeys(("choose-list", "click-scroll-list"), _filled(_entries)),
    **dict.fromkeys(("click-option", *_CHECKBOXES), _filled(_boxes)),
    **dict.fromkeys(("click-tab-2", "click-tab-2-hard"), _behind("a")),
    # The only button of `click-dialog` is its cross.
    **dict.fromkeys(("click-test", "click-dialog"), lambda turn: _click(turn.all("button")[0])),
    **dict.fromkeys(("enter-text", "enter-text-dynamic"), _typed(lambda turn: turn.quoted[:1])),
    **dict.fromkeys(("focus-text", "focus-text-2"), _focus),
    "click-button": lambda turn: _button(turn, turn.quoted[-1]),
    # Where one button covers a part of the other is left to the page.
    "click-button-sequence": lambda turn: _button(turn, "TWO" if turn.number else "ONE"),
    "click-collapsible": lambda turn: _in_turn(turn, (*map(_click, turn.all("h3")), _button(turn))),
    "click-collapsible-2": _behind("h3"),
    "click-dialog-2": _dialog,
    "click-link": _link,
    "click-menu": _menu,
    # The middle opens it.
    "click-pie": lambda turn: _click(turn.named(turn.quoted[-1] if turn.number else "+", "tspan")),
    "click-tab": lambda turn: _click(turn.named(turn.said(r"Click on (Tab #\d)"), "a")),
    "click-test-2": lambda turn: _button(turn, "ONE"),
    "click-widget": _widget,
    "enter-date": _moment(_DATE, "%m/%d/%Y", "%Y-%m-%d"),
    "enter-password": _typed(lambda turn: turn.quoted[:1] * 2),
    "enter-time": _moment(r"(\d+:\d+ [AP]M)", "%I:%M %p", "%H:%M"),
    "identify-shape": _shape,
    "login-user": _typed(lambda turn: turn.quoted),
    "navigate-tree": _tree,
    # Its field takes no keys, but text that is inserted.
    "use-spinner": _typed(lambda turn: [turn.said(r"Select (-?\d+)")]),
}
"""The solutions by task."""


@dataclass(frozen=True, slots=True)
class Scripted:
    """The scripted solution of the task; it knows which task that is, and nothing else."""

    name: str = "oracle"
    needs_gold: bool = True

    View = LiveView

    def check(self, units: Sequence[Unit[Any]]) -> None:
        """Raise `UserError` if a task has no solution here."""
        tasks = dict.fromkeys(unit.parents["task"] for unit in units)
        without = [task for task in tasks if task not in SCRIPTS]
        if without:
            some = ", ".join(without[:3]) + (", ..." if len(without) > 3 else "")
            raise UserError(
                f"oracle: no scripted solution of {some} ({len(without)} of {len(tasks)} tasks); "
                "choose tasks that have one with --only task=NAME (docs/episodes.md lists them)"
            )

    def predict(self, view: StepView, chance: random.Random, secret: Any) -> Prediction:
        """The next action; none where the page gives no way on. The secret names the task."""
        turn = EpisodeTurn.of(view.step, view.choices)
        script = SCRIPTS.get(secret.gold["task"])
        try:
            doing = script(turn) if script else None
        except (LookupError, StopIteration, ValueError):  # The page lacks what it looks for.
            doing = None
        if doing is None:
            return Prediction(Status.NONE)
        letter = next((one.letter for one in view.choices if one.id == doing.element.id), None)
        place = turn.point_of(doing.element)
        action = Action(doing.action, doing.element.id, place, doing.arguments)
        return Prediction(Status.ANSWERED, action, letter=letter)


ORACLE = Scripted()
