"""Actions, and the action spaces that benchmarks and protocols declare.

An action space is plain values that a run can store: its actions, their arguments,
and the comparison of two actions. `parsers.settling` handles answers outside of it.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

Value = str | int | float | bool | None
"""The value of an argument: a scalar of JSON."""

Comparison = Literal["exact", "folded", "ignored"]
"""Comparison of an argument: exact, with white space folded, or none."""

LONGEST = 100_000
"""Longest text in an action, in characters; more of what a model wrote is not kept."""
SHOWN = 80
"""Longest text that an action is printed with, in characters."""

_INT = range(-(2**63), 2**63)
_HALF = re.compile(r"[\ud800-\udfff]")
_PLAIN = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True, slots=True)
class Action:
    """One action, in the terms of an action space.

    Attributes:
        name: of the action; "" if none could be read.
        element: node id of the element that it is done to.
        point: (x, y) in page pixels, for models that answer with coordinates.
        arguments: everything else that it takes, by name.
    """

    name: str = ""
    element: str | None = None
    point: tuple[float, float] | None = None
    arguments: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the action in one line for people, whatever a model has put in it.

        Examples:
            >>> print(Action("fill", "7", arguments={"text": "Ohio\\n", "n": 2}))
            fill(element="7", text="Ohio\\n", n=2)
        """
        where = {"element": self.element, "point": self.point}
        given = [(name, value) for name, value in where.items() if value is not None]
        listed = [
            f"{_name(name)}={_shown(value)}" for name, value in (*given, *self.arguments.items())
        ]
        return f"{_name(self.name)}({', '.join(listed)})"


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of an action.

    Attributes:
        kind: `element` means `Action.element`, `point` means `Action.point`; `text` is free
            text, `choice` one of `values`, `number` and `flag` what they say.
        required: whether the action needs it. Of an element and a point, one is enough.
    """

    name: str
    kind: Literal["element", "point", "text", "choice", "number", "flag"]
    values: tuple[str, ...] = ()
    required: bool = True
    compared: Comparison = "exact"

    def takes(self, value: object) -> bool:
        """Return True if it can have this value.

        Examples:
            >>> Argument("way", "choice", ("up", "down")).takes("left")
            False
        """
        if self.kind == "flag":
            return isinstance(value, bool)
        if self.kind == "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        return isinstance(value, str) and (self.kind == "text" or value in self.values)


@dataclass(frozen=True, slots=True)
class ActionKind:
    """An action that a space knows, with its arguments in order."""

    name: str
    arguments: tuple[Argument, ...] = ()

    @property
    def places(self) -> tuple[Argument, ...]:
        """The arguments that say what it is done to."""
        return tuple(one for one in self.arguments if one.kind in ("element", "point"))

    @property
    def values(self) -> Mapping[str, Argument]:
        """All other arguments, by name."""
        places = self.places
        return {one.name: one for one in self.arguments if one not in places}


@dataclass(frozen=True, slots=True)
class ActionSpace:
    """The actions that a benchmark knows, or that a protocol's model answers in.

    Raises `ValueError` for a space that contradicts itself.
    """

    name: str
    actions: tuple[ActionKind, ...]

    def __post_init__(self) -> None:
        if problem := next(_problems(self), ""):
            raise ValueError(f"action space {self.name!r}: {problem}")

    def __contains__(self, name: object) -> bool:
        return any(action.name == name for action in self.actions)

    def __getitem__(self, name: str) -> ActionKind:
        """Return the action of that name. Raises `KeyError`."""
        for action in self.actions:
            if action.name == name:
                return action
        raise KeyError(name)

    def same(self, one: Action, other: Action) -> bool:
        """Return True if two actions count as the same one.

        Examples:
            >>> value = Argument("value", "text", compared="folded")
            >>> space = ActionSpace("made-up", (ActionKind("TYPE", (value,)),))
            >>> space.same(Action("TYPE", arguments={"value": "New  York"}),
            ...            Action("TYPE", arguments={"value": "New York"}))
            True
        """
        if one.name != other.name or one.name not in self:
            return one == other
        compared = self[one.name].values.values()
        return (one.element, one.point) == (other.element, other.point) and all(
            _compared(argument, one) == _compared(argument, other) for argument in compared
        )


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The counterpart of a protocol's action in the space of a benchmark.

    Attributes:
        name: of the action there. Element and point do not change.
        arguments: names of arguments there, by the names here; all others are left out.
        mapped: whether it is another action that only counts as this one, as hovering does as
            clicking in Mind2Web. Predictions then have the flag `mapped_operation`.
    """

    name: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    mapped: bool = False


Counterparts = Mapping[str, Counterpart]
"""The counterparts of the actions of a space, by their names; those left out have none."""


def is_readable(value: object) -> bool:
    """Return True if a value can be written and read back unchanged.

    Examples:
        >>> [is_readable(value) for value in (None, 0.5, 2**64, float("nan"), "a", ["a"])]
        [True, True, False, False, True, False]
    """
    kind = type(value)  # JSON has no form for subclasses, such as the numbers of numpy.
    if isinstance(value, str) and kind is str:
        return len(value) <= LONGEST and (value.isascii() or not _HALF.search(value))
    if isinstance(value, float) and kind is float:
        return math.isfinite(value)
    if isinstance(value, int) and kind is int:
        return value in _INT
    return value is None or kind is bool


def mended(text: str) -> str:
    """Return a text that can be written: at most `LONGEST` characters, lone surrogates replaced."""
    return _HALF.sub("\N{REPLACEMENT CHARACTER}", str.__str__(text)[:LONGEST])


def _problems(space: ActionSpace) -> Iterator[str]:
    yield from _named("action", [action.name for action in space.actions])
    for action in space.actions:
        names = [argument.name for argument in action.arguments]
        yield from (f"{action.name}: {problem}" for problem in _named("argument", names))
        kinds = [argument.kind for argument in action.places]
        if len(kinds) > len(set(kinds)):
            yield f"{action.name} takes two elements or two points"
        for argument in action.arguments:
            if (argument.kind == "choice") != bool(argument.values):
                yield f"{action.name}: {argument.name} is {argument.kind}; choices have values"


def _named(what: str, names: list[str]) -> Iterator[str]:
    for number, name in enumerate(names):
        if not name or len(name) > SHOWN or not name.isprintable():
            yield f"{_shown(name)} is not a name for an {what}"
        if name in names[:number]:
            yield f"two of its {what}s are named {name}"


def _compared(argument: Argument, action: Action) -> Value:
    value = action.arguments.get(argument.name)
    if argument.compared == "ignored":
        return None
    if argument.compared == "folded" and (value is None or isinstance(value, str)):
        return " ".join((value or "").split())
    return value


def _name(name: str) -> str:
    if not name:
        return "?"
    return name if len(name) <= SHOWN and _PLAIN.fullmatch(name) else _shown(name)


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    if isinstance(value, str):
        cut = value if len(value) <= SHOWN else value[: SHOWN - 1] + "…"
        return "".join(map(_visible, json.dumps(cut, ensure_ascii=False)))
    return json.dumps(value) if is_readable(value) else "?"


def _visible(character: str) -> str:
    """Return a character, escaped if it is not printable on its own."""
    if character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    return json.dumps(character)[1:-1]
