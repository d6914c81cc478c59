"""Where on a picture an answer points: numbers in JSON objects, tags, dictionaries and lines."""

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
"""Two for a point, four for a box, x before y."""


@dataclass(frozen=True, slots=True)
class Located:
    """An answer in parts: its place, and what stands about the operation and the value.

    `numbers` is empty where the answer has no place, `none` says that it declines to name one.
    `action` and `value` are None where nothing is said. `group` is the same for answers that stand
    in one list. `whole` says that nothing of it can be missing although the reply was cut.
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
    """Reads JSON objects whose place stands under one of these keys; of `x` and `y`, two of them.

    Objects may be bare, fenced, in lists, in tool-call tags and inside others (`arguments`,
    `action`).
    """

    def locate(reply: Source) -> list[Located]:
        lines = read_fields(reply)
        found: list[Located] = []
        for number, (start, end, content) in enumerate(json_objects(reply.text)):
            flat = _flat(content)
            said = _placed(flat, points, boxes, y_first)
            if said is None:
                continue
            numbers, none = said
            near = found[-1] if found else None
            listed = near is not None and _BETWEEN.fullmatch(reply.text, near.end, start)
            action, value = _text(flat, _ACTIONS), _text(flat, _VALUES)
            found.append(
                Located(
                    start,
                    end,
                    numbers,
                    none,
                    _line(lines, "ACTION") if action is None else action,
                    _line(lines, "VALUE") if value is None else value,
                    exact_value=value is not None,
                    group=near.group if near is not None and listed else number,
                )
            )
        return found

    return locate


_ACTIONS = ("action", "operation", "type", "name", "action_type")
_VALUES = ("value", "text", "content", "option")


def _flat(content: dict[str, object], depth: int = 3) -> dict[str, object]:
    """An object with those inside it opened up; what stands deeper is more exact."""
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
    """The numbers of an object and whether it says none; None where it is about something else."""
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
            said = flat[key]
            return numbers, said is None or (isinstance(said, str) and says_none(said))
    return ((), False) if any(key in flat for key in _ACTIONS[:2]) else None


def _numbers(content: object, counts: Sequence[int]) -> Numbers:
    if not isinstance(content, list) or len(content) not in counts:
        return ()
    numbers = []
    for item in content:
        # As decoded, numbers are texts; texts in quotes are held to the same spelling.
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
    """Reads SeeClick's dictionaries: `{"action_type": 4, "click_point": (0.17,0.06)}`."""
    found = []
    for number, literal in enumerate(read_literals(reply.text)):
        content = literal.content
        if "action_type" not in content and "click_point" not in content:
            continue
        kind, point = content.get("action_type"), content.get("click_point")
        value = content.get("value")
        if isinstance(value, float):
            value = f"{value:g}"
        found.append(
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
    return found


def in_tags(reply: Source) -> list[Located]:
    """Reads `<box>(x1,y1),(x2,y2)</box>` and `<|box_start|>...<|box_end|>`, with ACTION and VALUE
    lines. The tags may be missing, as special tokens do from decoded text."""
    if answers := _in_blocks(reply):
        return answers
    matches = list(_TAGGED.finditer(reply.shadow)) or list(_CORNERS.finditer(reply.shadow))
    found = [Located(m.start(), m.end(), _all(m[0])) for m in matches]
    return _with_lines(reply, found)


def in_lines(reply: Source) -> list[Located]:
    """Reads `ELEMENT: x, y` with ACTION and VALUE lines; without the key, a line of numbers."""
    if not (answers := _in_blocks(reply)):
        found = []
        offset = 0
        for line in reply.shadow.split("\n"):
            if len(line) < 200 and (numbers := _in_line(line)):
                found.append(Located(offset, offset + len(line), numbers))
            offset += len(line) + 1
        return _with_lines(reply, found)
    return answers


def _in_blocks(reply: Source) -> list[Located]:
    """The answers with an ELEMENT line."""
    fields = read_fields(reply)
    blocks = [*group(fields), *(block for block, _ in read_json(reply, fields))]
    told = [block for block in blocks if block.element is not None]
    answers = []
    for number, block in enumerate(sorted(told, key=lambda block: block.start)):
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
    """The numbers of an ELEMENT line: all of it, or the only pair or quadruple in brackets."""
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


def _with_lines(reply: Source, found: list[Located]) -> list[Located]:
    """Places with what the ACTION and VALUE lines say; all stand in one group."""
    lines = read_fields(reply)
    action, value = _line(lines, "ACTION"), _line(lines, "VALUE")
    whole = next((f.finished for f in reversed(lines) if f.key == "VALUE"), False)
    if not found and action is not None:
        return [Located(0, 0, (), False, action, value, whole=whole)]
    return [
        Located(f.start, f.end, f.numbers, False, action, value, group=0, whole=whole)
        for f in found
    ]


def _line(fields: Sequence[Field], key: str) -> str | None:
    return next((f.content.text for f in reversed(fields) if f.key == key), None)


def distinct(found: Sequence[Located]) -> Iterator[Numbers]:
    """The different places among some answers."""
    yield from dict.fromkeys(answer.numbers for answer in found if answer.numbers)
