"""Find the location that an answer gives: numbers in JSON objects, tags, dictionaries or lines."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from parsers.answer_blocks import Block, group, outside, read_blocks
from parsers.answer_lines import POINTED, Field, Key, read_fields
from parsers.dictionaries import read_literals, read_objects
from parsers.elements import says_none
from parsers.operations import read_operation
from parsers.plans import Between, between
from parsers.reply_text import Source, source

Numbers = tuple[float, ...]
"""Two numbers for a point, four for a box, x before y."""


@dataclass(frozen=True, slots=True)
class Located:
    """An answer, or a part of one: its span, location, operation and value.

    places: the distinct locations; empty if there is none.
    none: whether the answer says that there is no matching element.
    action, value: as written; None if missing.
    exact_value: whether the value is delimited, so that its own quotes belong to it.
    finished: whether nothing of the value can be missing if the reply was cut off.
    """

    start: int
    end: int
    places: tuple[Numbers, ...] = ()
    none: bool = False
    action: str | None = None
    value: str | None = None
    exact_value: bool = False
    finished: bool = True

    @property
    def says_where(self) -> bool:
        """Whether it says where the element is, or that there is none."""
        return bool(self.places) or self.none

    @property
    def fullness(self) -> int:
        """How much of an answer it is: 2 with a location and an action, 1 with a location."""
        return self.says_where + (self.says_where and self.action is not None)

    def corrected(self, later: Located) -> Located:
        """This answer with what `later` says in place of its own."""
        kept = self
        if later.says_where:
            kept = replace(kept, places=later.places, none=later.none)
        if later.action is not None:
            kept = replace(kept, action=later.action)
        if later.value is not None:
            kept = replace(kept, value=later.value, exact_value=later.exact_value)
        return replace(kept, end=later.end, finished=later.finished)


Locate = Callable[[Source], list[Located]]

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
_LABEL = re.compile(r"\W{0,4}(?:final\s)?answer\W{0,4}[:=]", re.IGNORECASE)


def in_objects(points: Sequence[str], boxes: Sequence[str], *, y_first: bool = False) -> Locate:
    """Return a reader of JSON objects with a location under one of these keys or `x` and `y`.

    Objects may be bare, fenced, in lists, in tool-call tags, or nested in others (`arguments`,
    `action`). Locations in one list without actions of their own are several places in one answer.
    """

    def read(content: dict[str, object]) -> Located | None:
        flat = _flat(content)
        placed = _placed(flat, points, boxes, y_first)
        inner = [_flat(part) for part in content.values() if isinstance(part, dict)]
        steps = [part for part in inner if _placed(part, points, boxes, y_first) not in _NOWHERE]
        if placed is None or len(steps) > 1:
            return None
        numbers, none = placed
        action = _text(flat, _ACTIONS)
        if action is not None:
            action = _TOOLS.get(action.strip().lower(), action)
        return Located(0, 0, (numbers,) if numbers else (), none, action, _text(flat, _VALUES))

    def locate(reply: Source) -> list[Located]:
        found = read_objects(reply.text, read)
        located = [replace(one.content, start=one.start, end=one.end) for one in found]
        return _with_lines(reply, located, _is_comma) if located else []

    return locate


def _is_comma(text: str) -> bool:
    return text.strip() == ","


def _is_no_correction(text: str) -> bool:
    return between(text) is not Between.CORRECTION


_ACTIONS = ("action", "operation", "type", "name", "action_type")
_VALUES = ("value", "text", "content", "option")
_NOWHERE = (None, ((), False))
# Names of tool actions, and the words for them that `read_operation` knows.
_TOOLS = {"mouse_move": "HOVER", "move": "HOVER", "fill": "TYPE", "input_text": "TYPE"}


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
    return None if _text(flat, _ACTIONS[:2]) is None else ((), False)


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


def in_tags(reply: Source) -> list[Located]:
    """Read `<box>(x1,y1),(x2,y2)</box>` and `<|box_start|>...<|box_end|>`, with ACTION and VALUE
    lines. The tags may be missing: special tokens often are in decoded text."""
    if answers := _in_blocks(reply):
        return answers
    matches = list(_TAGGED.finditer(reply.shadow)) or list(_CORNERS.finditer(reply.shadow))
    found = [Located(m.start(), m.end(), (_all(m[0]),)) for m in matches]
    return _with_lines(reply, found, _is_no_correction)


def in_lines(reply: Source) -> list[Located]:
    """Read `ELEMENT: x, y` with ACTION and VALUE lines; without the key, a line of numbers."""
    if answers := _in_blocks(reply):
        return answers
    found = []
    offset = 0
    for line in reply.shadow.split("\n"):
        label = _LABEL.match(line)
        start = label.end() if label else 0
        if len(line) < 200 and (numbers := _in_line(line[start:])):
            found.append(Located(offset + start, offset + len(line), (numbers,)))
        offset += len(line) + 1
    return _with_lines(reply, found, _is_no_correction)


def _in_blocks(reply: Source) -> list[Located]:
    """The answers with an ELEMENT line, and parts of them; none without such a line."""
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


def _with_lines(
    reply: Source, found: Sequence[Located], is_list: Callable[[str], bool]
) -> list[Located]:
    """Answers of locations and the ACTION and VALUE lines around them.

    Locations with neither an action nor such a line between them are one answer with several places
    if the text between them `is_list`.
    """
    is_line = outside([(one.start, one.end) for one in found])
    lines = [
        field
        for field in read_fields(reply, POINTED)
        if field.key in ("ACTION", "VALUE") and is_line(field.start)
    ]
    starts = [line.start for line in lines]
    of_element: dict[int, Located] = {}
    previous: Located | None = None
    for one in found:
        if (
            previous is not None
            and not (_acts(previous) or _acts(one))
            and bisect_left(starts, previous.end) == bisect_left(starts, one.start)
            and is_list(reply.shadow[previous.end : one.start])
        ):
            # More than two tell no more than two.
            places = tuple(dict.fromkeys((*previous.places, *one.places)))[:2]
            previous = replace(previous, end=one.end, places=places)
        else:
            previous = one
        of_element[previous.start] = previous
    fields = [field for one in of_element.values() for field in _fields(one)]
    blocks = group(sorted([*fields, *lines], key=lambda field: field.start))
    return [_with_block(block, of_element) for block in blocks]


def _acts(one: Located) -> bool:
    return one.action is not None and read_operation(one.action).readable


def _fields(one: Located) -> Iterator[Field]:
    contents: tuple[tuple[Key, str | None], ...] = (
        ("ELEMENT", ""),
        ("ACTION", one.action),
        ("VALUE", one.value),
    )
    for key, content in contents:
        if content is not None:
            yield Field(key, source(content), one.start, one.end, True)


def _with_block(block: Block, of_element: Mapping[int, Located]) -> Located:
    element, value = block.fields.get("ELEMENT"), block.fields.get("VALUE")
    one = of_element[element.start] if element else Located(block.start, block.end)
    return replace(
        one,
        start=block.start,
        end=block.end,
        action=block.action.text if block.action else None,
        value=value.content.text if value else None,
        exact_value=value is not None and element is not None and value.start == element.start,
        finished=block.finished,
    )


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
