"""Find the location that an answer gives: numbers in JSON objects, tags, dictionaries or lines."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from parsers.answer_blocks import Field, group, read_fields, read_json
from parsers.dictionaries import json_objects, read_literals
from parsers.elements import says_none
from parsers.reply_text import Source

Numbers = tuple[float, ...]
"""Two numbers for a point, four for a box, x before y."""


@dataclass(frozen=True, slots=True)
class Located:
    """One answer in a reply: its span, location, operation and value.

    numbers: the location; empty if there is none.
    none: whether the answer says that there is no matching element.
    action, value: as written; None if missing.
    exact_value: whether the value is delimited, so that its own quotes belong to it.
    group: the same number for answers in one list.
    whole: whether the answer must be complete even if the reply was cut off.
    """

    start: int
    end: int
    numbers: Numbers = ()
    none: bool = False
    action: str | None = None
    value: str | None = None
    exact_value: bool = False
    group: int = 0
    whole: bool = True


Locate = Callable[[Source], list[Located]]

_BETWEEN = re.compile(r"\s*,\s*")
_NUMBER = r"[-+]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})"
_PAIR = rf"[(\[]\s{{0,3}}{_NUMBER}\s{{0,3}},\s{{0,3}}{_NUMBER}\s{{0,3}}[)\]]"
_CORNERS = re.compile(rf"{_PAIR}\s{{0,3}},\s{{0,3}}{_PAIR}")
_TAGGED = re.compile(
    rf"(?:<box>|<\|box_start\|>)\s{{0,3}}({_PAIR}(?:\s{{0,3}},\s{{0,3}}{_PAIR})?)"
    r"\s{0,3}(?:</box>|<\|box_end\|>)"
)
_ENCLOSED = re.compile(
    rf"[(\[]\s{{0,3}}{_NUMBER}(?:\s{{0,3}},\s{{0,3}}{_NUMBER}){{1,3}}\s{{0,3}}[)\]]"
)
_BARE = re.compile(
    rf"\W{{0,4}}(?:x\s?[=:]\s?)?({_NUMBER})(?:\s{{0,3}},\s{{0,3}}|\s{{1,3}})(?:y\s?[=:]\s?)?"
    rf"({_NUMBER})(?:\s{{0,3}},\s{{0,3}}({_NUMBER})\s{{0,3}},\s{{0,3}}({_NUMBER}))?\W{{0,4}}"
)
_ONE = re.compile(_NUMBER)


def in_objects(points: Sequence[str], boxes: Sequence[str], *, y_first: bool = False) -> Locate:
    """Return a reader of JSON objects with a location under one of these keys or `x` and `y`.

    Objects may be bare, fenced, in lists, in tool-call tags, or nested in others (`arguments`,
    `action`).
    """

    def locate(reply: Source) -> list[Located]:
        lines = read_fields(reply)
        answers: list[Located] = []
        for number, (start, end, content) in enumerate(json_objects(reply.text)):
            flat = _flat(content)
            location = _placed(flat, points, boxes, y_first)
            if location is None:
                continue
            numbers, none = location
            previous = answers[-1] if answers else None
            listed = previous is not None and _BETWEEN.fullmatch(reply.text, previous.end, start)
            action, value = _text(flat, _ACTIONS), _text(flat, _VALUES)
            answers.append(
                Located(
                    start,
                    end,
                    numbers,
                    none,
                    _line(lines, "ACTION") if action is None else action,
                    _line(lines, "VALUE") if value is None else value,
                    exact_value=value is not None,
                    group=previous.group if previous is not None and listed else number,
                )
            )
        return answers

    return locate


_ACTIONS = ("action", "operation", "type", "name", "action_type")
_VALUES = ("value", "text", "content", "option")


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
    """The numbers of an object, and whether it says none; None if it is not an answer."""
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
    return ((), False) if any(key in flat for key in _ACTIONS[:2]) else None


def _numbers(content: object, counts: Sequence[int]) -> Numbers:
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
    for number, literal in enumerate(read_literals(reply.text)):
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
                point if isinstance(point, tuple) and len(point) == 2 else (),
                action=f"{kind:g}" if isinstance(kind, float) else kind or None,  # type: ignore[arg-type]
                value=value if isinstance(value, str) else None,
                exact_value=True,
                group=number,
            )
        )
    return answers


def in_tags(reply: Source) -> list[Located]:
    """Read `<box>(x1,y1),(x2,y2)</box>` and `<|box_start|>...<|box_end|>`, with ACTION and VALUE
    lines. The tags may be missing: special tokens often are in decoded text."""
    if answers := _in_blocks(reply):
        return answers
    matches = list(_TAGGED.finditer(reply.shadow)) or list(_CORNERS.finditer(reply.shadow))
    answers = [Located(m.start(), m.end(), _all(m[0])) for m in matches]
    return _with_lines(reply, answers)


def in_lines(reply: Source) -> list[Located]:
    """Read `ELEMENT: x, y` with ACTION and VALUE lines; without the key, a line of numbers."""
    if not (answers := _in_blocks(reply)):
        bare = []
        offset = 0
        for line in reply.shadow.split("\n"):
            if len(line) < 200 and (numbers := _in_line(line)):
                bare.append(Located(offset, offset + len(line), numbers))
            offset += len(line) + 1
        return _with_lines(reply, bare)
    return answers


def _in_blocks(reply: Source) -> list[Located]:
    """The answers with an ELEMENT line."""
    fields = read_fields(reply)
    blocks = [*group(fields), *(block for block, _ in read_json(reply, fields))]
    with_element = [block for block in blocks if block.element is not None]
    answers = []
    for number, block in enumerate(sorted(with_element, key=lambda block: block.start)):
        assert block.element is not None
        numbers = _in_content(block.element.shadow[:400])
        answers.append(
            Located(
                block.start,
                block.start,
                numbers,
                not numbers and says_none(block.element.shadow),
                block.action.shadow if block.action else None,
                block.value.text if block.value else None,
                group=number,
                whole=block.finished,
            )
        )
    return answers


def _in_line(line: str) -> Numbers:
    match = _ENCLOSED.fullmatch(line.strip()) or _BARE.fullmatch(line.strip())
    return _counted(_all(match[0])) if match else ()


def _in_content(content: str) -> Numbers:
    """The numbers of an ELEMENT line: the whole line, or its only bracketed pair or quadruple."""
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


def _with_lines(reply: Source, answers: list[Located]) -> list[Located]:
    """Add the contents of the ACTION and VALUE lines; all answers are in one group."""
    lines = read_fields(reply)
    action, value = _line(lines, "ACTION"), _line(lines, "VALUE")
    whole = next((f.finished for f in reversed(lines) if f.key == "VALUE"), False)
    if not answers and action is not None:
        return [Located(0, 0, (), False, action, value, whole=whole)]
    return [
        Located(a.start, a.end, a.numbers, False, action, value, group=0, whole=whole)
        for a in answers
    ]


def _line(fields: Sequence[Field], key: str) -> str | None:
    return next((f.content.text for f in reversed(fields) if f.key == key), None)


def distinct(answers: Sequence[Located]) -> Iterator[Numbers]:
    """The distinct locations of some answers, in order."""
    yield from dict.fromkeys(answer.numbers for answer in answers if answer.numbers)
