"""A family of models: its way to write actions on screens.

A family has a grammar (`objects`: JSON or Python dictionaries; `calls`: functions with named
arguments; `words`: OS-Atlas' lines; `tabs`: GELab's fields), the names of its actions, and the keys
of their parts. `parsers.screen.families` is the table of them; `parsers.screen.reading` reads, and
`parsers.screen.spelling` writes by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from parsers.points import Convention
from parsers.screen import Side

Grammar = Literal["objects", "calls", "words", "tabs"]


class WrittenAction(NamedTuple):
    """An action as a family writes it.

    native: its name there.
    name: the canonical action.
    text, at, to: keys of its text, its place and the end of a gesture; "" for what it has not. Keys
        with a blank between are looked for in turn, those with a comma are of x and of y.
    given: further fields that tell it from others of the name, and are always written; `>200` is
        any larger number, and "" is the direction that the name itself says.
    """

    native: str
    name: str
    text: str = ""
    at: str = ""
    to: str = ""
    given: Mapping[str, str] = {}


@dataclass(frozen=True)
class Family:
    """A family's way to answer.

    Attributes:
        words: words in the names of its models; its own name unless given.
        coordinates: meaning of its numbers, unless the adapter or the user says otherwise.
        scroll: what its words for directions name; `set` for the words of the benchmark's files,
            None where nobody has published it: the user then has to say.
        opening, closing: what stands around an answer; an answer whose closing mark is missing was
            cut off.
        way: the key of a direction.
        key: the key of the action's name in objects.
        quoted: writes dictionaries as Python does.
        wrapped: the key of the arguments, with the name of the tool, of a tool call.
        newline: a text that ends in a line break also presses enter.
        submit: the key that says so.
        swipes: scrolls by gestures, and has no words for directions.
        around: what stands around a dictionary.
        spelled: how a place is written.
        lead: what stands before the opening mark of an answer that has a thought.
        history: what its models are trained to see of earlier steps (`--history`); all actions,
            unless it is known.
        fixed: fields that are written with a value of their own where an action has none.
    """

    name: str
    coordinates: Convention
    actions: tuple[WrittenAction, ...]
    words: tuple[str, ...] = ()
    grammar: Grammar = "objects"
    scroll: Side | Literal["set"] | None = "content"
    opening: str = ""
    closing: str = ""
    way: str = "direction"
    key: str = "action"
    quoted: bool = False
    wrapped: tuple[str, str] | None = None
    newline: bool = False
    submit: str = ""
    swipes: bool = False
    around: str = "{}"
    spelled: str = "[{x}, {y}]"
    lead: str = ""
    history: str = "all"
    fixed: Mapping[str, str] = field(default_factory=dict)

    def side(self, chosen: Side | None, stored: Side) -> Side:
        """What its words for directions name: as the user has `chosen`, else as the family does.

        `stored` is what the benchmark's files name, for a family that uses their words.
        """
        said = chosen or self.scroll
        return stored if said is None or said == "set" else said


def each(names: str, text: str = "", at: str = "", to: str = "") -> Iterator[WrittenAction]:
    """Yield actions that are written alike: `NATIVE=NAME` each, or one word for both.

    >>> [(said.native, said.name) for said in each("tap=click wait")]
    [('tap', 'click'), ('wait', 'wait')]
    """
    for native, _, name in (one.partition("=") for one in names.split()):
        yield WrittenAction(native, name or native, text, at, to)


def by_value(native: str, key: str, values: str) -> Iterator[WrittenAction]:
    """Yield actions of one native name that the value of a field tells apart: `VALUE=NAME`."""
    for value, _, name in (one.partition("=") for one in values.split()):
        yield WrittenAction(native, name, given={key: value})


def ways(natives: str) -> Iterator[WrittenAction]:
    """Yield scrolls whose native names say the direction: `NATIVE=WAY`."""
    for native, _, way in (one.partition("=") for one in natives.split()):
        yield WrittenAction(native, "scroll", given={"": way})
