"""Read a model's action on a screen in its family's form, and write one that is read back.

Nothing is evaluated. Numbers stay the model's own; whoever knows the picture converts them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from parsers.actions import Action, Value, mended
from parsers.dictionaries import read_objects
from parsers.literals import DEPTH, LENIENT, Literals, NotLiteral
from parsers.points.lines import places_in
from parsers.records import Status
from parsers.reply_text import Nothing, open_reply, refuses
from parsers.screen import DIRECTIONS, OPPOSITE, Point, Side, finger_way, gesture, text_of
from parsers.screen.families import Family, Said

Fields = Mapping[str, object]

_LONGEST_CALL = 20_000
_MOST_CALLS = 48
_NUMBER = re.compile(r"[-+]?\d{1,9}(?:\.\d{0,20})?|[-+]?\.\d{1,20}")
_WORD = re.compile(r"[A-Z][A-Z_]{1,30}\b")
_IN_BRACKETS = re.compile(r"\[(.*)\]", re.DOTALL)
_AMOUNTS = {"page": ("down", "up"), "scroll_y": ("up", "down"), "scroll_x": ("left", "right")}
"""Keys of signed amounts, with the ways of a negative and of a positive one."""
_SWIPED = {"down": (0.7, 0.3), "up": (0.3, 0.7), "right": (0.7, 0.3), "left": (0.3, 0.7)}
"""Where the finger goes down and up, in shares of a side, to move the view some way."""


@dataclass(frozen=True, slots=True)
class ScreenAnswer:
    """An action in the numbers of the model, or why there is none."""

    status: Status
    action: Action | None = None
    flags: tuple[str, ...] = ()


def read_action(
    text: str, family: Family, *, finish: str = "stop", side: Side = "content"
) -> ScreenAnswer:
    """Read a reply in a family's form; `side` is what its words for directions name.

    The last answer counts, and of several actions in it the first, flagged `multiple`. Takes linear
    time, and raises nothing whatever the reply holds.
    """
    reply = open_reply(text, finish, boxes=True)
    if isinstance(reply, Nothing):
        return ScreenAnswer(reply.status, flags=reply.flags)
    scope, whole = _scope(reply.text, family)
    entries = () if scope is None else tuple(_GRAMMARS[family.grammar](scope, family))
    found = [
        action
        for name, fields in entries[:_MOST_CALLS]
        if (action := _action(name, fields, family, side)) is not None
    ]
    if not found or (reply.cut and not whole):
        if reply.cut:
            return ScreenAnswer(Status.TRUNCATED, flags=("truncated",))
        refused = scope is None and refuses(reply.shadow)
        return ScreenAnswer(Status.REFUSAL if refused else Status.PARSE_ERROR)
    flags = ("multiple",) if len(set(map(str, found))) > 1 else ()
    return ScreenAnswer(Status.ANSWERED, found[0], flags)


def _scope(text: str, family: Family) -> tuple[str | None, bool]:
    """Return the text of the last answer, and whether its end is marked."""
    if not family.opening:
        return text, False
    opening, closing = family.opening.strip(), family.closing.strip()
    end = text.rfind(closing) if closing else len(text)
    start = text.rfind(opening, 0, max(end, 0))
    if start < 0 or end < 0:
        return None, False
    return text[start + len(opening) : end], bool(closing)


def _objects(text: str, family: Family) -> Iterator[tuple[str, Fields]]:
    def read(content: dict[str, object]) -> tuple[str, Fields] | None:
        inner = content.get(family.wrapped[1]) if family.wrapped else None
        fields = {**content, **inner} if isinstance(inner, dict) else content
        if family.key:
            name = (content if family.key == "name" else fields).get(family.key)
            return (name, fields) if isinstance(name, str) else None
        known = (said.native for said in family.actions)
        native = next((one for one in ("STATUS", *known) if one in fields), None)
        return None if native is None else (native, fields)

    yield from (one.content for one in read_objects(text, read))


def _calls(text: str, family: Family) -> Iterator[tuple[str, Fields]]:
    names = "|".join(sorted({re.escape(one.native) for one in family.actions}, key=len)[::-1])
    position = 0
    for start in re.finditer(rf"(?<![\w.])({names})\(", text):
        if start.start() < position:
            continue
        reader = Literals(text, LENIENT, start.end(), start.end() + _LONGEST_CALL)
        try:
            fields = dict(reader.items(")", lambda: _keyword(reader)))  # noqa: B023
        except NotLiteral:
            continue
        position = reader.position
        yield start[1], fields


def _keyword(reader: Literals) -> tuple[str, object]:
    key = reader.keyword()
    if key is None:
        raise NotLiteral
    return key, _value(reader)


def _value(reader: Literals, depth: int = 1) -> object:
    for opening, closing in ("[]", "()"):
        if depth < DEPTH and reader.skip(opening):
            return reader.items(closing, lambda: _value(reader, depth + 1))
    return reader.written()


def _words(text: str, family: Family) -> Iterator[tuple[str, Fields]]:
    for line in text.strip().splitlines():
        name = _WORD.match(line.strip())
        if name is None:
            continue
        rest = line.strip()[name.end() :]
        inside = _IN_BRACKETS.search(rest)
        said = inside[1] if inside else None
        yield name[0], {"point": rest, "text": said, "direction": (said or "").strip().lower()}


def _tabs(text: str, family: Family) -> Iterator[tuple[str, Fields]]:
    fields = {}
    for part in text.split("\t"):
        key, colon, value = part.strip().partition(":")
        if colon:
            fields[key.strip().rpartition("\n")[2]] = value
    if "action" in fields:
        yield fields["action"].strip(), fields


_GRAMMARS: Mapping[str, Callable[[str, Family], Iterator[tuple[str, Fields]]]] = {
    "objects": _objects,
    "calls": _calls,
    "words": _words,
    "tabs": _tabs,
}


def _action(native: str, fields: Fields, family: Family, side: Side) -> Action | None:
    """Return the canonical action of an entry; None for one that the family does not have."""
    matching = [
        said
        for said in family.actions
        if said.native == native and all(_has(fields, *one) for one in said.given.items())
    ]
    moving = [said for said in matching if said.to and _ends(said, fields)[1] is not None]
    worded = [said for said in matching if said.name == "scroll" and _way(fields, family)]
    matching.sort(key=lambda said: -len(said.given))
    said = next(iter((*moving, *worded, *matching)), None)
    if said is None:
        return None
    start, end = _ends(said, fields)
    arguments: dict[str, Value] = {}
    if said.text:
        text = _text(fields.get(said.text))
        if text is None and said.name in ("type", "open_app", "answer", "key", "hotkey"):
            return None
        if text is not None and said.name == "type" and family.newline and text.endswith("\n"):
            text, arguments = text.rstrip("\n"), {"submit": True}
        if text:
            arguments = {"text": mended(text), **arguments}
        elif said.name in ("type", "open_app"):
            arguments = {"text": ""}
    if said.name == "type" and family.submit and _is_true(fields.get(family.submit)):
        arguments["submit"] = True
    if said.name in ("scroll", "drag", "select_text") and start is not None and end is not None:
        arguments |= {"to_x": end[0], "to_y": end[1]}
    if said.name == "scroll":
        way = _direction(said, fields, family, side, start, end)
        if way is None:
            return None
        arguments = {"direction": way, **arguments}
    elif said.at and start is None and said.name != "type":
        return None
    return Action(said.name, point=start, arguments=arguments)


def _direction(
    said: Said, fields: Fields, family: Family, side: Side, start: Point | None, end: Point | None
) -> str | None:
    if "" in said.given:
        return said.given[""]
    if start is not None and end is not None:
        return OPPOSITE[finger_way(start, end)] if start != end else None
    way = _way(fields, family)
    if way is None:
        return None
    return way if side == "content" or any(key in fields for key in _AMOUNTS) else OPPOSITE[way]


def _way(fields: Fields, family: Family) -> str | None:
    """The word for a direction, or the one that a signed amount stands for."""
    word = fields.get(family.way)
    if isinstance(word, str) and word.strip().lower() in DIRECTIONS:
        return word.strip().lower()
    for key, ways in _AMOUNTS.items():
        amount = fields.get(key)
        number = float(amount) if isinstance(amount, str) and _NUMBER.fullmatch(amount) else 0.0
        if number:
            return ways[number > 0]
    return None


def _ends(said: Said, fields: Fields) -> tuple[Point | None, Point | None]:
    if said.at and said.at == said.to:
        numbers = _numbers(fields.get(said.at))
        if len(numbers) == 4:
            return (numbers[0], numbers[1]), (numbers[2], numbers[3])
        return None, None
    return _place(said.at, fields), _place(said.to, fields)


def _place(keys: str, fields: Fields) -> Point | None:
    if "," in keys:
        pair = [_numbers(fields.get(key)) for key in keys.split(",")]
        return (pair[0][0], pair[1][0]) if all(len(one) == 1 for one in pair) else None
    for key in keys.split():
        numbers = _numbers(fields.get(key))
        if len(numbers) == 2:
            return numbers[0], numbers[1]
        if len(numbers) == 4:
            return (numbers[0] + numbers[2]) / 2, (numbers[1] + numbers[3]) / 2
    return None


def _numbers(value: object) -> tuple[float, ...]:
    """The numbers of a place as it was written: lists in lists, or a text of numbers and marks."""
    if isinstance(value, list):
        found = [one for part in value[:8] for one in _numbers(part)]
        return tuple(found) if len(found) <= 8 else ()
    if not isinstance(value, str):
        return ()
    if _NUMBER.fullmatch(value.strip()):
        number = float(value)
        return (number,) if math.isfinite(number) else ()
    places, _ = places_in(value)
    return places[0] if len(places) == 1 else ()


def _text(value: object) -> str | None:
    if isinstance(value, list):
        return "+".join(one for one in value if isinstance(one, str))
    return value if isinstance(value, str) else None


def _is_true(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.lower() == "true")


def _has(fields: Fields, key: str, wanted: str) -> bool:
    if not key:
        return True
    value = _text(fields.get(key))
    if wanted.startswith(">"):
        numbers = _numbers(value)
        return len(numbers) == 1 and numbers[0] > float(wanted[1:])
    return value is not None and value.strip().lower() == wanted.lower()


def spell_action(
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
    named = [said for said in family.actions if said.name == action.name]
    moved = gesture(action)
    way = str(action.arguments.get("direction") or (OPPOSITE[finger_way(*moved)] if moved else ""))
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
    said: Said, action: Action, family: Family, numbers: Callable[[Point], Sequence[str]], way: str
) -> dict[str, str] | None:
    """The fields of an action, values as they are written; None where something is missing."""
    plain, quote = family.grammar in ("words", "tabs"), _quote_of(family)
    fields: dict[str, str] = {}
    text, moved = text_of(action), gesture(action)
    if said.text and (text is not None or said.name in ("type", "open_app")):
        text = (text or "") + ("\n" if family.newline and action.arguments.get("submit") else "")
        fields[said.text] = text if plain else quote(text)
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


def _written(said: Said, fields: Mapping[str, str], family: Family) -> str:
    if family.grammar == "calls":
        inside = ", ".join(f"{key}={value}" for key, value in fields.items())
        answer = f"{said.native}({inside})"
    elif family.grammar == "words":
        answer = said.native
        if "point" in fields:
            answer += f" <point>[{fields['point']}]</point>"
        elif inner := fields.get("text", fields.get("direction", "").upper()):
            answer += f" [{inner}]"
    elif family.grammar == "tabs":
        listed = {"action": said.native, **fields, **family.fixed}
        answer = "\t".join(f"{key}:{value}" for key, value in listed.items())
    else:
        answer = _object(said, fields, family)
    return f"{family.lead}{family.opening}{answer}{family.closing}"


def _object(said: Said, fields: Mapping[str, str], family: Family) -> str:
    quote = _quote_of(family)
    native = said.native if said.native.isdigit() else quote(said.native)
    tool, inner = family.wrapped or ("", "")
    named = {family.key: native} if family.key else {}
    listed = {**({} if inner and not tool else named), **family.fixed, **fields}
    inside = ", ".join(f"{quote(key)}: {value}" for key, value in listed.items())
    if inner:
        return f'{{"name": {quote(tool) if tool else native}, "{inner}": {{{inside}}}}}'
    return family.around.format(f"{{{inside}}}")
