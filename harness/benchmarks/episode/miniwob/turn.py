"""A turn as a scripted solution sees it, and its answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from harness.page import Box
from harness.records import Choice, Step
from parsers.actions import Value

_TAGS = re.compile(r"<[^<>]*>")
_OPENING = re.compile(r"<(?P<tag>\S+)(?: id=\d+)?(?P<words>[^<>]*?)/?(?:>|$)")  # Long ones are cut.
_SHARES = (0.5, 0.15, 0.85, 0.03, 0.97)
_QUOTED = re.compile(r'"([^"]*)"')


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
    def colour(self) -> tuple[int, ...]:
        """Red, green and blue, of what has a colour; empty otherwise."""
        found = re.search(r"rgb\((\d+), (\d+), (\d+)\)", " ".join(self.words))
        return tuple(map(int, found.groups())) if found else ()

    @property
    def middle(self) -> tuple[float, float]:
        return self.box.x + self.box.width / 2, self.box.y + self.box.height / 2

    def has(self, x: float, y: float) -> bool:
        """Return whether a point lies within its box."""
        return self.box.x <= x <= self.box.right and self.box.y <= y <= self.box.bottom

    def holds(self, other: Element) -> bool:
        """Return whether the middle of another element lies within its box."""
        return self.has(*other.middle)

    def encloses(self, other: Element) -> bool:
        """Return whether all of another element lies within its box."""
        return self.has(other.box.x, other.box.y) and self.has(other.box.right, other.box.bottom)


@dataclass(frozen=True, slots=True)
class Doing:
    """The next action, of `parsers.live`; on an element unless that is None."""

    action: str
    element: Element | None
    arguments: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EpisodeTurn:
    """A turn of an episode.

    goal: what the page asks for.
    number: how many turns there were before it.
    elements: the visible elements, in document order.
    history: the actions before it, in words (`[button]  Submit -> CLICK`).
    """

    goal: str
    number: int
    elements: tuple[Element, ...]
    history: tuple[str, ...] = ()

    @classmethod
    def of(cls, step: Step, choices: Sequence[Choice]) -> Self:
        seen = (Element.of(choice) for choice in choices if choice.box and choice.box.is_visible)
        return cls(step.info.task, step.info.index, tuple(seen), step.history)

    def done(self, action: str, to: str = "") -> int:
        """Return how often an action was done, to an element described with these words."""
        return sum(
            to in one and one.rpartition("-> ")[2].startswith(action) for one in self.history
        )

    @property
    def quoted(self) -> list[str]:
        """Return the quoted parts of the goal, in order."""
        return _QUOTED.findall(self.goal)

    def said(self, pattern: str) -> str:
        """The first group of a pattern in the goal; "" where it does not occur."""
        found = re.search(pattern, self.goal)
        return found[1] if found else ""

    def all(self, *tags: str, words: str = "") -> list[Element]:
        """The elements with one of the tags (of any without), and with a word of attributes."""
        return [
            one
            for one in self.elements
            if (not tags or one.tag in tags) and (not words or words in one.words)
        ]

    def named(self, text: str, *tags: str) -> Element | None:
        """The innermost element with exactly this text."""
        return next((one for one in reversed(self.all(*tags)) if one.text == text), None)

    def point_of(self, element: Element) -> tuple[float, float]:
        """A point of an element that no later element lies over; its middle if it can be."""
        place = self.elements.index(element)
        over = [one for one in self.elements[place + 1 :] if not element.encloses(one)]
        box = element.box
        spots = [(box.x + box.width * x, box.y + box.height * y) for y in _SHARES for x in _SHARES]
        return next((spot for spot in spots if not any(one.has(*spot) for one in over)), spots[0])

    def nearest(self, label: Element, among: Iterable[Element]) -> Element:
        """The element that is closest to a label, where being on its line counts most."""
        x, y = label.middle

        def distance(one: Element) -> float:
            return 3 * abs(one.middle[1] - y) + abs(one.middle[0] - x)

        return min(among, key=distance)


Script = Callable[[EpisodeTurn], Doing | None]
"""Return the action of a turn; None where the page offers none."""


def click(element: Element | None) -> Doing | None:
    return Doing("CLICK", element) if element else None


def enter(element: Element, value: str) -> Doing:
    return Doing("TYPE", element, {"value": value})


def hover(element: Element | None) -> Doing | None:
    return Doing("HOVER", element) if element else None


def scroll(pixels: int) -> Doing:
    """Scroll down in the middle of the page, by pixels of the screenshot; up if negative."""
    return Doing("SCROLL_BY", None, {"delta_x": 0, "delta_y": pixels})


def in_turn(turn: EpisodeTurn, doings: Iterable[Doing | None]) -> Doing | None:
    """The doing whose number is that of the turn; the last one once they are over."""
    listed: Iterator[Doing | None] = iter(doings)
    last = None
    for number, doing in enumerate(listed):
        last = doing
        if number == turn.number:
            break
    return last
