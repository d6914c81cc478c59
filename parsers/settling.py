"""Translate a prediction into the action space of a benchmark.

A model may answer anything. Its action is translated if the model answers in another space than the
benchmark's, and what lies outside of the space is left out, with a flag:

    unknown_action    no action of the space has this name
    other_action      the action has no counterpart in the space
    mapped_operation  the action counts as another one
    wrong_argument    the action takes no such argument, or not with this value
    missing_argument  the action needs an argument that is not there
    cut_argument      a text is too long to be kept whole

Other readings of the replies (`Prediction.parsed`) are cut to writable values, too.

An answer without a remaining action is `no_element` if it was an action of another kind, and
otherwise a `parse_error`. One that lacks the element that its action needs is `no_element`. What is
left can be written to a run and read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any

from parsers.actions import (
    LONGEST,
    SHOWN,
    Action,
    ActionSpace,
    Counterparts,
    Value,
    is_readable,
    mended,
)
from parsers.records import Prediction, Status

MOST = 100
"""Most arguments that an action is kept with."""
FAR = 1e9
"""Farthest point that is kept, in page pixels from the origin."""


def settled(
    prediction: Prediction,
    space: ActionSpace | None,
    spoken: ActionSpace | None = None,
    counterparts: Counterparts | None = None,
) -> Prediction:
    """Return the prediction in terms of `space`; None knows any action.

    `spoken` is the space that the model answers in, if it is another one, with the counterparts of
    its actions in `space`.

    >>> from parsers.actions import ActionKind
    >>> scroll = Prediction(Status.ANSWERED, Action("scroll", arguments={"way": "up"}))
    >>> found = settled(scroll, ActionSpace("clicks only", (ActionKind("click"),)))
    >>> found.status, found.action, found.flags
    (<Status.PARSE_ERROR: 'parse_error'>, None, ('unknown_action',))
    """
    if prediction.by_rule:
        others = prediction.by_rule.items()
        read = {rule: settled(one, space, spoken, counterparts) for rule, one in others}
        prediction = replace(prediction, by_rule=read)
    flags: set[str] = set()
    if prediction.parsed != {}:
        parsed = _values(prediction.parsed, flags)
        if parsed != prediction.parsed:
            prediction = replace(prediction, parsed=parsed)
    if prediction.action is None:
        return replace(prediction, flags=_joined(prediction, flags)) if flags else prediction
    action = _readable(prediction.action, flags)
    if spoken is not None:
        action = _within(action, spoken, flags)
        action = _translated(action, counterparts or {}, flags)
    if space is not None:
        action = _within(action, space, flags)
    status = prediction.status
    if status is Status.ANSWERED:
        status = _status(action, space, flags)
    if (action, status) == (prediction.action, prediction.status) and not flags:
        return prediction
    left = None if action == Action() else action
    return replace(prediction, status=status, action=left, flags=_joined(prediction, flags))


def _joined(prediction: Prediction, flags: Set[str]) -> tuple[str, ...]:
    return tuple(sorted({*prediction.flags, *flags}))


def spoken_as(prediction: Prediction, counterparts: Counterparts) -> Prediction:
    """Return the prediction in the terms of a protocol: the inverse of translating it.

    An action without a counterpart is left out.
    """
    action = prediction.action
    if action is None or not action.name:
        return prediction
    for name, counterpart in counterparts.items():
        if counterpart.name == action.name and not counterpart.mapped:
            names = {there: here for here, there in counterpart.arguments.items()}
            arguments = {names[k]: v for k, v in action.arguments.items() if k in names}
            return replace(prediction, action=replace(action, name=name, arguments=arguments))
    return replace(prediction, action=replace(action, name="", arguments={}))


def _readable(action: Action, flags: set[str]) -> Action:
    """Return the action without anything that could not be written and read again."""
    name, element, point = _word(action.name), _text(action.element, flags), _point(action.point)
    if name != action.name:
        flags.add("unknown_action")
    if (element is None) != (action.element is None) or (point is None) != (action.point is None):
        flags.add("wrong_argument")
    return Action(name, element, point, _values(action.arguments, flags))


def _word(name: object) -> str:
    """Return a name, "" for a text that is too long for one or could not be written."""
    return name if isinstance(name, str) and len(name) <= SHOWN and is_readable(name) else ""


def _text(text: object, flags: set[str]) -> str | None:
    if not isinstance(text, str):
        return None
    if len(text) > LONGEST:
        flags.add("cut_argument")
    return text if is_readable(text) else mended(text)


def _point(point: object) -> tuple[float, float] | None:
    if not isinstance(point, tuple | list) or len(point) != 2:
        return None
    x, y = point
    if not all(isinstance(n, int | float) and -FAR <= n <= FAR for n in (x, y)):
        return None
    return float(x), float(y)


def _values(arguments: object, flags: set[str]) -> Mapping[str, Value]:
    kept: dict[str, Value] = {}
    given = arguments if isinstance(arguments, Mapping) else {"": arguments}
    for name, value in given.items():
        found: Any = _text(value, flags) if isinstance(value, str) else value
        if _word(name) and is_readable(found) and len(kept) < MOST:
            kept[name] = found
        else:
            flags.add("wrong_argument")
    return kept


def _within(action: Action, space: ActionSpace, flags: set[str]) -> Action:
    """Return the part of an action that the space knows; one without a name is not changed."""
    if not action.name:
        return action
    if action.name not in space:
        flags.add("unknown_action")
        return Action("", action.element, action.point)
    kind = space[action.name]
    known = kind.values
    arguments = {
        name: value
        for name, value in action.arguments.items()
        if name in known and known[name].takes(value)
    }
    # An argument that is None is one that was left out.
    if any(v is not None for name, v in action.arguments.items() if name not in arguments):
        flags.add("wrong_argument")
    if any(one.required and one.name not in arguments for one in known.values()):
        flags.add("missing_argument")
    taken = {one.kind for one in kind.places}
    element = action.element if "element" in taken else None
    point = action.point if "point" in taken else None
    if (element, point) != (action.element, action.point):
        flags.add("wrong_argument")
    return Action(action.name, element, point, arguments)


def _translated(action: Action, counterparts: Counterparts, flags: set[str]) -> Action:
    if not action.name:
        return action
    counterpart = counterparts.get(action.name)
    if counterpart is None:
        flags.add("other_action")
        return Action("", action.element, action.point)
    if counterpart.mapped:
        flags.add("mapped_operation")
    names = counterpart.arguments
    arguments = {names[name]: v for name, v in action.arguments.items() if name in names}
    return Action(counterpart.name, action.element, action.point, arguments)


def _status(action: Action, space: ActionSpace | None, flags: set[str]) -> Status:
    """Return the status of an answer with what is left of its action."""
    if action.element is not None or action.point is not None:
        return Status.ANSWERED
    if not action.name:
        return Status.NO_ELEMENT if "other_action" in flags else Status.PARSE_ERROR
    places = space[action.name].places if space is not None else ()
    missing = any(one.required for one in places)
    return Status.NO_ELEMENT if missing else Status.ANSWERED
