"""Read a model's action on a screen in its family's form, and write one that is read back.

Nothing is evaluated. Numbers stay the model's own; whoever knows the picture converts them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from parsers.actions import LONGEST, Action, Value, mended
from parsers.dictionaries import read_objects
from parsers.literals import DEPTH, LENIENT, Literals, NotLiteral
from parsers.points.lines import places_in
from parsers.records import Status
from parsers.reply_text import Nothing, open_reply, refuses
from parsers.screen import (
    BOXED,
    DIRECTIONS,
    OPPOSITE,
    Edges,
    Point,
    Side,
    finger_way,
    several,
    with_box,
)
from parsers.screen.families import Family, Said

Fields = Mapping[str, object]

_LONGEST_CALL = 20_000
_MOST_CALLS = 48
_NUMBER = re.compile(r"[-+]?\d{1,9}(?:\.\d{0,20})?|[-+]?\.\d{1,20}")
_WORD = re.compile(r"[A-Z][A-Z_]{1,30}\b")
_AMOUNTS = {"page": ("down", "up"), "scroll_y": ("up", "down"), "scroll_x": ("left", "right")}
"""Keys of signed amounts, with the ways of a negative and of a positive one."""


@dataclass(frozen=True, slots=True)
class ScreenAnswer:
    """An action in the numbers of the model, or why there is none."""

    status: Status
    action: Action | None = None
    flags: tuple[str, ...] = ()


def read_action(
    text: str,
    family: Family,
    *,
    finish: str = "stop",
    side: Side = "content",
    script: bool = False,
) -> ScreenAnswer:
    """Read a reply in a family's form; `side` is what its words for directions name.

    The last answer counts, and of several actions in it the first, flagged `multiple`; with
    `script`, all of them from the first answer on. Takes linear time, and raises nothing whatever
    the reply holds.
    """
    reply = open_reply(text, finish, boxes=True)
    if isinstance(reply, Nothing):
        return ScreenAnswer(reply.status, flags=reply.flags)
    scope, whole = _scope(reply.text, family, script=script)
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
    if script:
        return ScreenAnswer(Status.ANSWERED, several(_within(found)))
    flags = ("multiple",) if len(set(map(str, found))) > 1 else ()
    return ScreenAnswer(Status.ANSWERED, found[0], flags)


def _within(actions: list[Action]) -> list[Action]:
    """The first actions, as many as a text can hold."""
    rest = LONGEST
    for number, one in enumerate(actions):
        rest -= 200 + 6 * len(str(one.arguments.get("text", "")))
        if rest < 0:
            return actions[: max(number, 1)]
    return actions


def _scope(text: str, family: Family, *, script: bool) -> tuple[str | None, bool]:
    """Return the text of the last answer, or from the first to the last, and whether its end is
    marked."""
    if not family.opening:
        return text, False
    opening, closing = family.opening.strip(), family.closing.strip()
    end = text.rfind(closing) if closing else len(text)
    find = text.find if script else text.rfind
    start = find(opening, 0, max(end, 0))
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
    """Actions begin lines; a text in brackets goes on in the next ones until they close."""
    natives = {said.native for said in family.actions}
    entries: list[tuple[str, list[str]]] = []
    is_open = False
    for line in text.strip().splitlines():
        name = _WORD.match(line.strip())
        if is_open and (name is None or name[0] not in natives):
            entries[-1][1].append(line)
            is_open = "]" not in line
        elif name is not None:
            rest = line.strip()[name.end() :]
            entries.append((name[0], [rest]))
            is_open = "[" in rest and "]" not in rest
    for native, lines in entries:
        rest = "\n".join(lines)
        start, end = rest.find("["), rest.rfind("]")
        said = rest[start + 1 : end] if 0 <= start < end else None
        yield native, {"point": rest, "text": said, "direction": (said or "").strip().lower()}


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
    action = Action(said.name, point=start, arguments=arguments)
    box = _box(said, fields)
    return action if box is None else with_box(action, box)


def _box(said: Said, fields: Fields) -> Edges | None:
    """The box that an action is placed with, where the form has one of some size."""
    if said.name not in BOXED or said.to:
        return None
    for key in said.at.split():
        numbers = _numbers(fields.get(key))
        if len(numbers) == 4:
            left, top, right, bottom = numbers
            return (left, top, right, bottom) if left < right and top < bottom else None
        if numbers:
            return None
    return None


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
