"""A location found in a reply, and the ACTION and VALUE lines around it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from parsers.answer_blocks import Block, group, outside
from parsers.answer_lines import POINTED, Key, KeyedLine, read_fields
from parsers.operations import read_operation
from parsers.plans import Between, between
from parsers.reply_text import Source, source

Numbers = tuple[float, ...]
"""Two numbers for a point, four for a box, x before y."""

Decline = Literal["minus-one", "wait", "failure", "words"]
"""Ways of saying that the element is not there, in addition to the form's word for none:
-1 for every number, the action `wait`, `terminate` with the status `failure`, a sentence."""
DECLINES: tuple[Decline, ...] = get_args(Decline)


@dataclass(frozen=True, slots=True)
class Located:
    """An answer, or a part of one: its span, location, operation and value.

    places: the distinct locations; empty if there is none.
    none: True if the answer says that no element matches.
    action, value: as written; None if missing.
    exact_value: True if the value is delimited, and its own quotes belong to it.
    finished: whether nothing of the value can be missing if the reply was cut off.
    gives_up: a way of declining, which says none only where it was agreed on; `null` for every
        number.
    call: whether it is a call of a function.
    """

    start: int
    end: int
    places: tuple[Numbers, ...] = ()
    none: bool = False
    action: str | None = None
    value: str | None = None
    exact_value: bool = False
    finished: bool = True
    gives_up: Decline | Literal["null"] | None = None
    call: bool = False

    @property
    def says_where(self) -> bool:
        """Return True if it says where the element is, or that there is none."""
        return bool(self.places) or self.none

    @property
    def fullness(self) -> int:
        """Return the completeness of the answer: 2 with location and action, 1 with a location."""
        return self.says_where + (self.says_where and self.action is not None)

    def corrected(self, later: Located) -> Located:
        """Return this answer with the parts of `later` replaced."""
        kept = self
        if later.says_where:
            kept = replace(kept, places=later.places, none=later.none)
        if later.action is not None:
            kept = replace(kept, action=later.action)
        if later.value is not None:
            kept = replace(kept, value=later.value, exact_value=later.exact_value)
        return replace(kept, end=later.end, finished=later.finished)


Locate = Callable[[Source], list[Located]]


def first_of(*readers: Locate) -> Locate:
    """Return a reader that looks in several places: the first in which some location stands
    counts."""

    def locate(reply: Source) -> list[Located]:
        found: list[Located] = []
        for reader in readers:
            answers = reader(reply)
            if any(answer.says_where for answer in answers):
                return answers
            found = found or answers
        return found

    return locate


def is_comma(text: str) -> bool:
    """Return True if locations with this between them are a list."""
    return text.strip() == ","


def is_no_correction(text: str) -> bool:
    """Return True if locations with this between them are a list, unless it takes one back."""
    return between(text) is not Between.CORRECTION


def with_lines(
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


def _fields(one: Located) -> Iterator[KeyedLine]:
    contents: tuple[tuple[Key, str | None], ...] = (
        ("ELEMENT", ""),
        ("ACTION", one.action),
        ("VALUE", one.value),
    )
    for key, content in contents:
        if content is not None:
            yield KeyedLine(key, source(content), one.start, one.end, True)


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
