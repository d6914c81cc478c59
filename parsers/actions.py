"""Actions, and the action spaces that benchmarks and protocols declare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Value = str | int | float | bool | None
"""What an argument can be: a scalar of JSON."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action, in the terms of an action space.

    name: of the action; "" if none could be read.
    element: node id of the element that it is done to.
    point: (x, y) in page pixels, for models that answer with coordinates.
    arguments: everything else that it takes, by name.
    """

    name: str = ""
    element: str | None = None
    point: tuple[float, float] | None = None
    arguments: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of an action.

    kind: `element` stands for `Action.element`, `point` for `Action.point`; `text` is free text,
        `choice` one of `values`, `number` and `flag` what they say.
    """

    name: str
    kind: Literal["element", "point", "text", "choice", "number", "flag"]
    values: tuple[str, ...] = ()
    required: bool = True


@dataclass(frozen=True, slots=True)
class ActionKind:
    """An action that a space knows, with its arguments in order."""

    name: str
    arguments: tuple[Argument, ...] = ()


def same_action(one: Action, other: Action) -> bool:
    """Whether two actions are equal in everything."""
    return one == other


@dataclass(frozen=True, slots=True)
class ActionSpace:
    """The actions that a benchmark knows, or that a protocol answers in.

    same: whether two actions of the space count as the same one.
    """

    name: str
    actions: tuple[ActionKind, ...]
    same: Callable[[Action, Action], bool] = same_action

    def __contains__(self, name: str) -> bool:
        return any(action.name == name for action in self.actions)
