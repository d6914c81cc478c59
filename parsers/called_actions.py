"""Calls of functions as actions of an action space, and actions as such calls.

The function is the action, and its arguments are in the order of the space. One that represents the
element is the action's element; a point is two arguments, `x` and `y`.
"""

from __future__ import annotations

from collections.abc import Mapping

from parsers.actions import Action, ActionKind, ActionSpace, Value
from parsers.calls import Call, write_call
from parsers.settling import FAR

_POINT = ("x", "y")
_AS_DECLARED: Mapping[str, str] = {}


def action_of(
    call: Call, space: ActionSpace, spellings: Mapping[str, str] = _AS_DECLARED
) -> Action:
    """Return the action of a call, not yet checked against the space.

    Arguments may be given by name, also by another one in `spellings`; a None counts as left
    out. Surplus ones are kept under names that no function has, so that `parsers.settling`
    flags them; so is an element or a point that is of another type than theirs.

    >>> from parsers.actions import Argument
    >>> space = ActionSpace("one", (ActionKind("go", (Argument("id", "element"),)),))
    >>> action_of(Call("go", ("A", 2)), space)
    Action(name='go', element='A', point=None, arguments={'more_1': 2})
    """
    kind = space[call.name] if call.name in space else ActionKind(call.name)
    names = _names(kind)
    given: dict[str, Value] = {}
    for number, value in enumerate(call.arguments):
        given[names[number] if number < len(names) else f"more_{number}"] = value
    for written, value in call.keywords.items():
        name = spellings.get(written, written)
        given[name if name not in given else f"more_{name}"] = value
    given = {name: value for name, value in given.items() if value is not None}
    element, point = None, None
    for place in kind.places:
        if place.kind == "element" and isinstance(given.get(place.name), str):
            element = str(given.pop(place.name))
        elif place.kind == "point" and all(_is_pixels(given.get(name)) for name in _POINT):
            x, y = (given.pop(name) for name in _POINT)
            point = float(x or 0), float(y or 0)
    return Action(call.name, element, point, given)


def spelled_action(action: Action, space: ActionSpace) -> str:
    """Write the call that does an action, as `action_of` reads it back.

    Arguments are positional; those that are missing before others are None.
    """
    kind = space[action.name] if action.name in space else ActionKind(action.name)
    element = next((one.name for one in kind.places if one.kind == "element"), "element")
    given: dict[str, Value] = {}
    if action.element is not None:
        given[element] = action.element
    if action.point is not None:
        given |= dict(zip(_POINT, action.point, strict=True))
    given |= action.arguments
    values = [given.pop(name, None) for name in _names(kind)]
    while values and values[-1] is None:
        values.pop()
    return write_call(action.name, [*values, *given.values()])


def _names(kind: ActionKind) -> list[str]:
    """Return the names of the function's arguments, in order."""
    return [
        name for one in kind.arguments for name in (_POINT if one.kind == "point" else (one.name,))
    ]


def _is_pixels(value: Value) -> bool:
    """Return True if a value is a number of pixels; larger ones might not even fit a float."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -FAR <= value <= FAR
