"""Models that act through tools: their calls in a few neutral words, read and written.

A tool's calls become acts (`tools`), the acts of a reply become one prediction (`reading`), and a
prediction is written as the calls that mean it (`spelling`). Places are a model's own numbers until
they are read, and pixels of the original afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from parsers.screen import Point

Word = Literal[
    "press",
    "hover",
    "down",
    "up",
    "long",
    "drag",
    "scroll",
    "type",
    "keys",
    "set",
    "choose",
    "wait",
    "app",
    "device",
    "goto",
    "end",
    "answer",
    "other",
    "look",
]


class ToolUse(NamedTuple):
    """A call of a model: a function's name, and its arguments as JSON of any type."""

    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class ToolAct:
    """The effect of a call, in a neutral word.

    press: `text` is left, right, middle, double, triple, back or forward. hover: the pointer moves.
    down, up: the left button. long: a long press. drag: from `at` to `to`. scroll: `text` is where
    the view goes, `far` how many pixels, or with a minus thousandths of the side; 0 says nothing.
    type: `text`, then Enter if `submit`. keys: `text` is one chord (`ctrl+s`). set: an element gets
    the value `text`. choose: the option `text` of the list at a place. wait: for so many `seconds`.
    app: opens the app `text`. device: `text` is back, home or recents. goto: the address `text`.
    end: `text` is success or failure. answer: `text`. other: what no kind of unit has a word for.
    look: `text` is what is looked at, and `asked` says more.

    wrong: why the call cannot be read or carried out. Where it only looks, that is the answer to it
        (there is no such call, say); an act that is wrong is final.
    done: what the vendor's own code says when it is carried out, "" if it says nothing of its own.

    at: None takes the place of the pointer.
    ref: name of the element that it is done to, from a look at the page; "" for none.
    outside: whether a place lies outside of the picture, and still has the model's numbers, or a
        name is no element's.
    call, place: numbers of the call and of the act in their reply, from 0.
    """

    word: Word
    at: Point | None = None
    to: Point | None = None
    text: str = ""
    submit: bool = False
    seconds: float = 0.0
    flags: frozenset[str] = frozenset()
    outside: bool = False
    call: int = 0
    place: int = 0
    ref: str = ""
    far: float = 0.0
    asked: Mapping[str, Any] = field(default_factory=dict)
    wrong: str = ""
    done: str = ""
