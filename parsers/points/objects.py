"""Locations in JSON objects, in tool calls written as XML, and in SeeClick's dictionaries."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

from parsers.answer_blocks import outside, read_blocks
from parsers.answer_lines import POINTED, read_fields
from parsers.calls import read_entries
from parsers.dictionaries import FoundDictionary, attempts
from parsers.elements import says_none
from parsers.lexicon import CONDITIONING, NOT_ASSERTED
from parsers.literals import LENIENT, LITERAL_WINDOW, Literals, NotLiteral
from parsers.points.spelling import (
    Decline,
    Locate,
    Located,
    Numbers,
    is_comma,
    is_no_correction,
    with_lines,
)
from parsers.reply_text import Source

NUMBER = r"[-+]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})"
"""A number in the forms of Mind2Web's protocols."""
_WRITTEN = re.compile(r"[-+]?(?:\d{1,9}(?:\.\d{0,20})?|\.\d{1,20})(?![\w.])")
_NOTHING_ELSE = re.compile(rf"(?:[\s,;()\[\]]|(?<![\w.]){_WRITTEN.pattern})*+")
_TAG = re.compile(r"</?\|?\w{1,20}\|?>")
_AXIS = re.compile(r"\b([xy])[12]?\s{0,2}[=:]")
_NESTED = re.compile(r"[)\]]\s*+,?\s*+[(\[]")
_LONGEST = 400


def number_list(text: str) -> list[str] | None:
    """Return the numbers of a text that is nothing but numbers, brackets, commas and blanks.

    >>> number_list("[[219, 186], (.5)]"), number_list("2 buttons")
    (['219', '186', '.5'], None)
    """
    if len(text) > _LONGEST or not _NOTHING_ELSE.fullmatch(text):
        return None
    return _WRITTEN.findall(text) or None


def as_text(value: object) -> str:
    """Return a place as a text: the numbers of lists in brackets."""
    if isinstance(value, list):
        return f"[{', '.join(map(as_text, value))}]"
    return "None" if value is None else str(value)


def places_in(text: str) -> tuple[tuple[Numbers, ...], bool]:
    """Return the locations in the text of a place, tags left out, and whether it says none.

    Two numbers are a point, four a box, and several brackets of four are several boxes. They may be
    named, x before y.

    >>> places_in("<|box_start|>(1,2)<|box_end|>"), places_in("(1,2),(3,4)"), places_in("None")
    ((((1.0, 2.0),), False), (((1.0, 2.0, 3.0, 4.0),), False), ((), True))
    """
    if len(text) > _LONGEST:
        return (), False
    plain = _TAG.sub(" ", text)
    if "".join(_AXIS.findall(plain)) in ("xy", "xyxy"):
        plain = _AXIS.sub(" ", plain)
    written = number_list(plain)
    if written is None:
        words = plain.strip(" \t\n()[]'\"`.")
        return (), bool(words) and len(words) < 20 and says_none(words)
    numbers = tuple(map(float, written))
    if len(numbers) in (2, 4):
        return (numbers,), False
    if len(numbers) % 4 == 0 and len(_NESTED.findall(plain)) == len(numbers) // 4 - 1:
        boxes = (numbers[at : at + 4] for at in range(0, len(numbers), 4))
        return tuple(dict.fromkeys(boxes))[:2], False
    return (), False


_PAIR = rf"[(\[]\s{{0,3}}{NUMBER}\s{{0,3}},\s{{0,3}}{NUMBER}\s{{0,3}}[)\]]"
_CORNERS = re.compile(rf"{_PAIR}\s{{0,3}},\s{{0,3}}{_PAIR}")
_TAGGED = re.compile(
    rf"(?:<box>|<\|box_start\|>)\s{{0,3}}({_PAIR}(?:\s{{0,3}},\s{{0,3}}{_PAIR})?)"
    r"\s{0,3}(?:</box>|<\|box_end\|>)"
)
_ENCLOSED = re.compile(
    rf"[(\[]\s{{0,3}}{NUMBER}(?:\s{{0,3}},\s{{0,3}}{NUMBER}){{1,3}}\s{{0,3}}[)\]]"
)
_BARE = re.compile(
    rf"\W{{0,4}}(?:x\s?[=:]\s?)?({NUMBER})(?:\s{{0,3}},\s{{0,3}}|\s{{1,3}})(?:y\s?[=:]\s?)?"
    rf"({NUMBER})(?:\s{{0,3}},\s{{0,3}}({NUMBER})\s{{0,3}},\s{{0,3}}({NUMBER}))?\W{{0,4}}"
)
_ONE = re.compile(NUMBER)
# Words before a place, and the mark behind them.
_PLACE_LABEL = re.compile(
    r"[^\w([<-]{0,4}(?P<words>[^\W\d_]+(?:[ '\u2019-][^\W\d_]+){0,9}+)[^\w([<-]{0,4}?[:=\uff1a]"
)
_BULLET = re.compile(r"[ \t]{0,8}[-*\u2022][ \t]+")
_NO_PLACE = frozenset(("size", "resolution", "width", "dimensions", "example", "format"))
"""Words of a label before numbers that are not a place."""
_POINT_FIELD = re.compile(
    r"^[^\w\n]{0,6}(?:[\w ]{1,20}:\s?)?point\s{0,3}:([^\n]{0,100})", re.IGNORECASE | re.MULTILINE
)
_UNTAGGED = re.compile(rf"\[\s{{0,3}}\[[\d\s.,\[\]+-]{{1,300}}\]\s{{0,3}}\]|{_CORNERS.pattern}")
_MARKS = " \t*_`'\":#>$"
_FENCE = re.compile(r"```\w{0,10}")
_LONGEST_PLACE = 300


def in_tags(reply: Source) -> list[Located]:
    """Read `<box>(x1,y1),(x2,y2)</box>` and `<|box_start|>...<|box_end|>`, with ACTION and VALUE
    lines. The tags may be missing: special tokens often are in decoded text."""
    if answers := _in_blocks(reply):
        return answers
    matches = list(_TAGGED.finditer(reply.shadow)) or list(_CORNERS.finditer(reply.shadow))
    found = [Located(m.start(), m.end(), (_all(m[0]),)) for m in matches]
    return with_lines(reply, found, is_no_correction)


def in_lines(reply: Source) -> list[Located]:
    """Read `ELEMENT: x, y` with ACTION and VALUE lines; without the key, a line of numbers."""
    if answers := _in_blocks(reply):
        return answers
    found = []
    offset = 0
    for line in reply.shadow.split("\n"):
        start = _labelled(line) if len(line) < 200 else 0
        if len(line) < 200 and (numbers := _in_line(line[start:])):
            found.append(Located(offset + start, offset + len(line), (numbers,)))
        offset += len(line) + 1
    return with_lines(reply, found, is_no_correction)


def _in_blocks(reply: Source) -> list[Located]:
    """Return the answers with an ELEMENT line, and parts of them; none without such a line."""
    blocks = read_blocks(reply, POINTED)
    if all(block.element is None for block in blocks):
        return []
    answers = []
    for block in blocks:
        shadow = block.element.shadow if block.element else ""
        numbers = _in_content(shadow[:400])
        answers.append(
            Located(
                block.start,
                block.end,
                (numbers,) if numbers else (),
                not numbers and says_none(shadow),
                block.action.shadow if block.action else None,
                block.value.text if block.value else None,
                finished=block.finished,
            )
        )
    return answers


def _in_line(line: str) -> Numbers:
    match = _ENCLOSED.fullmatch(line.strip()) or _BARE.fullmatch(line.strip())
    return _counted(_all(match[0])) if match else ()


def _in_content(content: str) -> Numbers:
    """Return the numbers of an ELEMENT line: the whole line, or its only bracketed pair or
    quadruple."""
    if tagged := _TAGGED.search(content) or _CORNERS.search(content):
        return _counted(_all(tagged[0]))
    if match := _BARE.fullmatch(content.strip()):
        return _counted(_all(match[0]))
    enclosed = {_counted(_all(m[0])) for m in _ENCLOSED.finditer(content)} - {()}
    return enclosed.pop() if len(enclosed) == 1 else ()


def _counted(numbers: Numbers) -> Numbers:
    return numbers if len(numbers) in (2, 4) else ()


def _all(text: str) -> Numbers:
    return tuple(float(number) for number in _ONE.findall(text))


def _labelled(line: str) -> int:
    """Return where the place of a line may begin: behind a bullet, or words that assert it."""
    bullet = _BULLET.match(line)
    start = bullet.end() if bullet else 0
    label = _PLACE_LABEL.match(line, start)
    words = set(label["words"].lower().split()) if label else set()
    if label is None or not words.isdisjoint(NOT_ASSERTED | CONDITIONING | _NO_PLACE):
        return start
    return label.end()


def in_text(reply: Source) -> list[Located]:
    """Read two or four numbers, or a word for none, that are a line by themselves or all there is,
    with ACTION and VALUE lines. A word for what they are may stand before them ("Point: ...")."""
    found = []
    offset = 0
    for line in reply.shadow.split("\n"):
        if len(line) < _LONGEST_PLACE:
            start = _labelled(line)
            places, none = places_in(line[start:].lstrip(_MARKS).rstrip(_MARKS + "."))
            if places or none:
                found.append(Located(offset + start, offset + len(line), places, none))
        offset += len(line) + 1
    if not found and len(reply.shadow) < _LONGEST_PLACE:
        places, none = places_in(_FENCE.sub(" ", reply.shadow))
        found = [Located(0, len(reply.shadow), places, none)] if places or none else []
    return _with_free(reply, found)


def in_boxes(*tags: tuple[str, str], bare: bool = False) -> Locate:
    """Return a reader of numbers between one of these pairs of tags, with ACTION and VALUE lines.

    bare: without any tags, numbers in double brackets count, and two corners (special tokens are
        often missing in decoded text).
    """
    opening, closing = ("|".join(map(re.escape, texts)) for texts in zip(*tags, strict=True))
    pattern = re.compile(rf"(?:{opening})([^<>]{{1,{_LONGEST_PLACE}}})(?:{closing})")

    def locate(reply: Source) -> list[Located]:
        found = _matched(reply, pattern, 1)
        if bare and not found:
            found = _matched(reply, _UNTAGGED, 0)
        return _with_free(reply, found)

    return locate


_SIGN_OF_VALUE = re.compile(r"^value:(?==)", re.MULTILINE | re.IGNORECASE)


def in_fields(reply: Source) -> list[Located]:
    """Read `point:x,y` with `action:` and `value:`, on lines or between tabs."""
    text, shadow = reply.text.replace("\t", "\n"), reply.shadow.replace("\t", "\n")
    # The colon ends the key: a sign behind it belongs to the value (`value:=SUM(A1)`).
    ends = [0, *(found.end() for found in _SIGN_OF_VALUE.finditer(shadow)), len(shadow)]
    text, shadow = (" ".join(one[a:b] for a, b in pairwise(ends)) for one in (text, shadow))
    lines = Source(text, shadow)
    return _with_free(lines, _matched(lines, _POINT_FIELD, 1))


def _matched(reply: Source, pattern: re.Pattern[str], group: int) -> list[Located]:
    found = []
    for match in pattern.finditer(reply.shadow):
        places, none = places_in(match[group])
        if places or none:
            found.append(Located(match.start(), match.end(), places, none))
    return found


def _with_free(reply: Source, found: Sequence[Located]) -> list[Located]:
    """Return the answers of the locations outside of ACTION and VALUE lines, and these lines."""
    fields = [f for f in read_fields(reply, POINTED) if f.key in ("ACTION", "VALUE")]
    is_free = outside([(field.start, field.end) for field in fields])
    found = [one for one in found if is_free(one.start)]
    return with_lines(reply, found, is_comma) if found else []


_ACTIONS = ("action", "operation", "type", "name", "action_type")
_VALUES = ("value", "text", "content", "option")
_NOWHERE = (None, ((), False))
# Names of tool actions, and the words for them that `read_operation` knows.
_TOOLS = {"mouse_move": "HOVER", "move": "HOVER", "fill": "TYPE", "input_text": "TYPE"}


def in_objects(points: Sequence[str], boxes: Sequence[str], *, y_first: bool = False) -> Locate:
    """Return a reader of JSON objects with a location under one of these keys or `x` and `y`.

    Objects may be bare, fenced, in lists, in tool-call tags, or nested in others (`arguments`,
    `action`). Locations in one list without actions are several places in one answer.
    """
    read = _reader(points, boxes, y_first)

    def locate(reply: Source) -> list[Located]:
        found = read_entries(reply, read)
        located = [replace(one.content, start=one.start, end=one.end) for one in found]
        return with_lines(reply, located, is_comma) if located else []

    return locate


def _reader(
    points: Sequence[str], boxes: Sequence[str], y_first: bool
) -> Callable[[dict[str, object]], Located | None]:
    def read(content: dict[str, object]) -> Located | None:
        flat = _flat(content)
        placed = _placed(flat, points, boxes, y_first)
        inner = [_flat(part) for part in content.values() if isinstance(part, dict)]
        steps = [part for part in inner if _placed(part, points, boxes, y_first) not in _NOWHERE]
        if placed is None or len(steps) > 1:
            return None
        numbers, none = placed
        action = _text(flat, _ACTIONS)
        gives_up = declining(action, flat.get("status"))
        if not numbers and any(_is_null(flat.get(key)) for key in (*points, *boxes)):
            gives_up = "null"
        if action is not None:
            action = _TOOLS.get(action.strip().lower(), action)
        places = (numbers,) if numbers else ()
        value, call = _text(flat, _VALUES), isinstance(content.get("name"), str)
        return Located(0, 0, places, none, action, value, gives_up=gives_up, call=call)

    return read


def _is_null(content: object) -> bool:
    return isinstance(content, list) and bool(content) and all(one is None for one in content)


def declining(action: str | None, status: object) -> Decline | Literal["null"] | None:
    """Return the way of declining that an action is, if it is one; `status` is an argument of
    it."""
    name = (action or "").strip().lower()
    if name == "wait":
        return "wait"
    failed = isinstance(status, str) and status.strip().lower() in ("failure", "fail", "failed")
    return "failure" if name == "terminate" and failed else None


def _flat(content: dict[str, object], depth: int = 3) -> dict[str, object]:
    """Flatten an object; keys of nested objects override those of outer ones."""
    flat: dict[str, object] = {}
    inner: list[dict[str, object]] = []
    for key, value in content.items():
        if isinstance(value, dict) and depth:
            inner.append(_flat(value, depth - 1))
        else:
            flat[str(key).strip().lower()] = value
    for part in inner:
        flat.update(part)
    return flat


def _placed(
    flat: dict[str, object], points: Sequence[str], boxes: Sequence[str], y_first: bool
) -> tuple[Numbers, bool] | None:
    """Return the numbers of an object, and whether it says none; None if it is not an answer."""
    if "x" in points and "x" in flat and "y" in flat:
        pair = [flat["x"], flat["y"]]
        return _numbers(pair, (2,)), pair == [None, None]
    for keys, counts in ((points, (2,)), (boxes, (4,))):
        for key in keys:
            if key == "x" or key not in flat:
                continue
            numbers = _numbers(flat[key], counts)
            if y_first:
                numbers = tuple(
                    n for i in range(0, len(numbers), 2) for n in numbers[i : i + 2][::-1]
                )
            value = flat[key]
            return numbers, value is None or (isinstance(value, str) and says_none(value))
    return None if _text(flat, _ACTIONS[:2]) is None else ((), False)


def _numbers(content: object, counts: Sequence[int]) -> Numbers:
    if isinstance(content, str):
        places, _ = places_in(content)
        return places[0] if len(places) == 1 and len(places[0]) in counts else ()
    if not isinstance(content, list) or len(content) not in counts:
        return ()
    numbers = []
    for item in content:
        # The decoder keeps numbers as strings; quoted numbers must be written the same way.
        if not isinstance(item, str) or not _ONE.fullmatch(item.strip()):
            return ()
        numbers.append(float(item))
    return tuple(numbers) if all(map(math.isfinite, numbers)) else ()


def _text(flat: dict[str, object], keys: Sequence[str]) -> str | None:
    for key in keys:
        value = flat.get(key)
        if isinstance(value, str):
            return value
    return None


def in_literals(reply: Source) -> list[Located]:
    """Read SeeClick's dictionaries: `{"action_type": 4, "click_point": (0.17,0.06)}`."""
    answers = []
    for literal in read_literals(reply.text):
        content = literal.content
        if "action_type" not in content and "click_point" not in content:
            continue
        kind, point = content.get("action_type"), content.get("click_point")
        value = content.get("value")
        if isinstance(value, float):
            value = f"{value:g}"
        answers.append(
            Located(
                literal.start,
                literal.end,
                (point,) if isinstance(point, tuple) and len(point) == 2 else (),
                action=f"{kind:g}" if isinstance(kind, float) else kind or None,  # type: ignore[arg-type]
                value=value if isinstance(value, str) else None,
                exact_value=True,
            )
        )
    return answers


Value = str | float | tuple[float, ...] | None


_MOST_NUMBERS = 8


def read_literals(text: str) -> list[FoundDictionary[dict[str, Value]]]:
    """Return the flat dictionaries in a text, in order.

    Keys are strings, and values are strings, numbers, or tuples (or lists) of numbers; dictionaries
    with anything else are skipped.
    """
    return attempts(text, lambda position, _: _read(text, position))


def _read(text: str, start: int) -> tuple[dict[str, Value], int] | None:
    reader = Literals(text, LENIENT, start, start + LITERAL_WINDOW)

    def entry() -> tuple[str, Value]:
        key = reader.value()
        reader.need(":")
        if not isinstance(key, str):
            raise NotLiteral
        return key, value()

    def value() -> Value:
        for opening, closing in ("()", "[]"):
            if reader.skip(opening):
                numbers = reader.items(closing, lambda: _finite(reader.value()))
                if len(numbers) > _MOST_NUMBERS:
                    raise NotLiteral
                return tuple(numbers)
        plain = reader.value()
        return plain if plain is None or isinstance(plain, str) else _finite(plain)

    try:
        reader.need("{")
        return dict(reader.items("}", entry)), reader.position
    except NotLiteral:
        return None


def _finite(value: object) -> float:
    try:
        if isinstance(value, int | float) and math.isfinite(value) and not isinstance(value, bool):
            return float(value)
    except OverflowError:
        pass
    raise NotLiteral
