"""Write an action on a screen as a family of models does, so it is read back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from parsers.actions import Action
from parsers.screen import OPPOSITE, SEVERAL, Point, Side, gesture, parts, text_of, way_of
from parsers.screen.families import Family, WrittenAction

_SWIPED = {"down": (0.7, 0.3), "up": (0.3, 0.7), "right": (0.7, 0.3), "left": (0.3, 0.7)}
"""Where the finger goes down and up, in shares of a side, to move the view some way."""


def write_action(
    action: Action,
    family: Family,
    numbers: Callable[[Point], Sequence[str]],
    size: tuple[int, int],
    *,
    side: Side = "content",
) -> str | None:
    """Write an action in pixels as a family does; None for one that its form cannot say.

    `numbers` writes the model's numbers of a point. A form that scrolls by gestures gets one
    through the middle of the picture.
    """
    if action.name == SEVERAL:
        told = [write_action(one, family, numbers, size, side=side) for one in parts(action)]
        said_all = [one for one in told if one is not None]
        return _joined(said_all, family) if len(said_all) == len(told) else None
    named = [said for said in family.actions if said.name == action.name]
    moved = gesture(action)
    way = way_of(action)
    if action.name == "scroll" and family.swipes and moved is None:
        action = _swiped(action, way, size)
    word = way if side == "content" else OPPOSITE.get(way, way)
    for said in named:
        if said.given.get("", way) != way:
            continue
        fields = _fields(said, action, family, numbers, word)
        if fields is not None:
            return _written(said, fields, family)
    return None


def _joined(replies: Sequence[str], family: Family) -> str:
    """Replies one after the other; without a closing mark, as one answer of several lines."""
    if not family.opening or family.closing:
        return "\n".join(replies)
    start = len(family.lead + family.opening)
    return "\n".join([replies[0], *(one[start:] for one in replies[1:])])


def _swiped(action: Action, way: str, size: tuple[int, int]) -> Action:
    start, end = _SWIPED[way]
    level = way in ("left", "right")
    ends = [
        (share * size[0], size[1] / 2) if level else (size[0] / 2, share * size[1])
        for share in (start, end)
    ]
    arguments = {**action.arguments, "to_x": ends[1][0], "to_y": ends[1][1]}
    return replace(action, point=ends[0], arguments=arguments)


def _fields(
    said: WrittenAction,
    action: Action,
    family: Family,
    numbers: Callable[[Point], Sequence[str]],
    way: str,
) -> dict[str, str] | None:
    """The fields of an action with their written values; None where something is missing."""
    plain, quote = family.grammar in ("words", "tabs"), _quote_of(family)
    fields: dict[str, str] = {}
    text, moved = text_of(action), gesture(action)
    if said.text and (text is not None or said.name in ("type", "open_app")):
        text = (text or "") + ("\n" if family.newline and action.arguments.get("submit") else "")
        fields[said.text.split()[0]] = text if plain else quote(text)
    if said.at and said.at == said.to:
        if moved is None:
            return None
        both = ", ".join(_spot(family, numbers(one)) for one in moved)
        return {**fields, said.at: f"[{both}]"}
    if said.at and action.point is not None:
        fields |= _placed(said.at, family, numbers(action.point))
    elif said.at and said.name not in ("type", "scroll"):
        return None
    if said.to and moved is not None:
        fields |= _placed(said.to, family, numbers(moved[1]))
    elif said.name == "scroll" and "" not in said.given:
        if family.swipes or not way:
            return None
        fields[family.way] = way if plain else quote(way)
    for key, value in said.given.items():
        if key:
            large = value.startswith(">")
            fields[key] = "1000" if large else value if plain or value.isdigit() else quote(value)
    if family.submit and said.name == "type" and action.arguments.get("submit"):
        fields[family.submit] = "true"
    return fields


def _quote_of(family: Family) -> Callable[[str], str]:
    return _quoted if family.quoted or family.grammar == "calls" else json.dumps


def _placed(keys: str, family: Family, written: Sequence[str]) -> dict[str, str]:
    if "," in keys:
        return dict(zip(keys.split(","), written, strict=True))
    return {keys.split()[0]: _spot(family, written)}


def _spot(family: Family, written: Sequence[str]) -> str:
    return family.spelled.format(x=written[0], y=written[1])


def _quoted(text: str) -> str:
    # The double quote in front makes Python choose single quotes.
    return "'" + repr('"' + text)[2:]


def _written(said: WrittenAction, fields: Mapping[str, str], family: Family) -> str:
    if family.grammar == "calls":
        inside = ", ".join(f"{key}={value}" for key, value in fields.items())
        answer = f"{said.native}({inside})"
    elif family.grammar == "words":
        answer = said.native
        if "point" in fields:
            answer += f" <point>[{fields['point']}]</point>"
        elif {"text", "direction"} & set(fields):
            answer += f" [{fields.get('text', fields.get('direction', '').upper())}]"
    elif family.grammar == "tabs":
        listed = {"action": said.native, **fields, **family.fixed}
        answer = "\t".join(f"{key}:{value}" for key, value in listed.items())
    else:
        answer = _object(said, fields, family)
    return f"{family.lead}{family.opening}{answer}{family.closing}"


def _object(said: WrittenAction, fields: Mapping[str, str], family: Family) -> str:
    quote = _quote_of(family)
    native = said.native if said.native.isdigit() else quote(said.native)
    tool, inner = family.wrapped or ("", "")
    named = {family.key: native} if family.key else {}
    listed = {**({} if inner and not tool else named), **family.fixed, **fields}
    inside = ", ".join(f"{quote(key)}: {value}" for key, value in listed.items())
    if inner:
        return f'{{"name": {quote(tool) if tool else native}, "{inner}": {{{inside}}}}}'
    return family.around.format(f"{{{inside}}}")


def neutral(action: Action, numbers: Callable[[Point], Point]) -> str:
    """Write an action in plain words that are no family's, several with arrows between.

    >>> neutral(Action("click", point=(540.0, 1200.0)), lambda point: point)
    'click at (540, 1200)'
    """
    if action.name == SEVERAL:
        return " → ".join(neutral(one, numbers) for one in parts(action))
    said, text, moved = action.name.replace("_", " "), text_of(action), gesture(action)
    if action.name == "scroll":
        way = way_of(action)
        return f"scroll {way}" if way else said
    if text:
        said += f" {json.dumps(text, ensure_ascii=False)}"
    if moved is not None:
        start, end = (_pair(numbers(one)) for one in moved)
        return f"{said} from {start} to {end}"
    return said if action.point is None else f"{said} at {_pair(numbers(action.point))}"


def _pair(point: Point) -> str:
    return f"({point[0]:g}, {point[1]:g})"
