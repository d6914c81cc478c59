"""Parts of the page for units of a kind: data that only this kind has.

A kind of unit has a `UnitPage` (`reports.kind`) for the list and for the view of a unit: boxes to
draw, a table, lists. None of its texts is read as HTML.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from harness.runs import CallRecord, Unit
from parsers import Average, Declaration
from parsers.actions import Action, Value
from parsers.declaration import SPLIT

LONGEST = 90
"""Longest text in the list, in characters."""
SHORT = 24
"""Longest meaning of a measure in a title, in characters."""
RESERVED = frozenset(
    {"q", "split", "lane", "result", "status", "class", "agree", "label", "sort", "down", "sheet"}
    | {"task", "index", "answer"}
)
"""Names in addresses of the list, which no fact may have."""

Box = tuple[float, float, float, float]
BoxKind = Literal["target", "chosen", "distractor"]
Window = tuple[int, int, int, int]
"""Left, top, right and bottom of a part of a picture, in pixels, right and bottom exclusive."""


class Fact(NamedTuple):
    """A fact about units in the list.

    Attributes:
        key: its name in addresses, in small letters.
        head: head of its column; "" for none.
        filter: name of its filter; "" for none.
        tail: key of another fact that follows it in its column.
        early: True to show it before the goal, like parents.
        heading: form in the heading of the unit's view: none, its value, or value with name.
        word: True if many units share its values.
        code: True to show it as code.
        value: returns it of a unit; None where a unit lacks it.
        orders: True if it is a number that orders parents; else they are ordered by their ids.
    """

    key: str
    head: str = ""
    filter: str = ""
    tail: str = ""
    early: bool = False
    heading: Literal["", "value", "named"] = ""
    word: bool = True
    code: bool = False
    value: Callable[[Unit[Any]], str | None] = lambda _: None
    orders: bool = False

    @property
    def shown(self) -> tuple[str | bool, ...]:
        """Its fields for the page's script."""
        return self[:8]


class DrawnBox(NamedTuple):
    """A box on the picture, as (x, y, width, height) in page pixels, in the order of drawing.

    Attributes:
        corners: of a polygon in turn, which is drawn in place of the box around it.
    """

    kind: BoxKind
    box: Box
    text: str = ""
    corners: Sequence[tuple[float, float]] = ()


class ComparedCell(NamedTuple):
    """A cell of the table: text, then code."""

    text: str = ""
    code: str = ""


class ComparedLine(NamedTuple):
    """A line of the table that compares the answer with the right one.

    Attributes:
        right: True for a right answer; None if unknown.
    """

    name: str
    cells: tuple[ComparedCell, ...]
    right: bool | None = None


class ListItem(NamedTuple):
    """An item of a list.

    Attributes:
        letter: before it; None for a plain list.
        target: True if it is right.
        chosen: True if it was answered.
        remark: a word behind it.
    """

    text: str
    letter: str | None = None
    target: bool = False
    chosen: bool = False
    remark: str = ""


class Listed(NamedTuple):
    """A list in a separate panel.

    Attributes:
        note: a line below it.
        empty: text without items; "" leaves the panel out.
        early: True to show it before the conversation.
    """

    title: str
    items: Sequence[ListItem]
    note: str = ""
    empty: str = ""
    early: bool = False


class Frame(NamedTuple):
    """A frame of a film strip: an observation and the action after it.

    Attributes:
        head: above it.
        goal: the goal, if it is new.
        picture: digest of a blob; "" without.
        size: width and height of the picture, in whose pixels boxes and points are; None for its
            own.
        boxes: drawn on the picture.
        point: drawn on the picture.
        mark: text next to the point.
        to: end of a drag from the point.
        action: the action, in a line.
        said: the reply.
        after: the result; `failed` marks it as a failure.
    """

    head: str
    goal: str = ""
    picture: str = ""
    size: tuple[float, float] | None = None
    boxes: Sequence[DrawnBox] = ()
    point: tuple[float, float] | None = None
    mark: str = ""
    to: tuple[float, float] | None = None
    action: str = ""
    said: str = ""
    after: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitPart:
    """The kind's part of the view of a unit.

    Attributes:
        page: width and height of the page in pixels.
        boxes: on the picture; None if the kind has none, and no switch to hide them.
        point: the answered point, in page pixels.
        focus: the box that the picture is scrolled to.
        actual: True to enlarge the picture to its own resolution, not to twice its width.
        heads: heads of the table behind its first column, and `lines` its lines.
        lists: panels with lists.
        raw: recorded data to show unchanged.
        cuts: the parts of its picture that the page holds in full resolution, in place of what the
            model was sent; None for that.
        strip: the frames of a unit that took its time, in order.
    """

    page: tuple[int, int] | None = None
    boxes: Sequence[DrawnBox] | None = None
    point: tuple[float, float] | None = None
    focus: Box | None = None
    actual: bool = False
    heads: tuple[str, ...] = ("answered",)
    lines: Sequence[ComparedLine] = ()
    lists: Sequence[Listed] = ()
    raw: Any = None
    cuts: Sequence[Window] | None = None
    strip: Sequence[Frame] = ()


def part_of(page: UnitPage, record: Unit[Any], calls: Sequence[CallRecord]) -> UnitPart:
    """Return what a kind adds to the page of a unit; an exception of its names the unit."""
    try:
        return page.part(record, calls)
    except Exception as error:
        error.add_note(f"the page of {record.kind} {record.unit_id}")
        raise


class UnitPage:
    """The default page of a unit; a kind replaces its parts.

    Attributes:
        facts: the facts after split, goal and place; None for all parents and labels.
        measures: the measures in the list, in addition to the main one; None for those of tables.
        answers: True if the list of a single run shows answers.
        pictured: True if every unit should have a picture; missing ones are then reported.
        searched: name of the searchable texts of the list.
        same: words for two runs with the same answer.
        card: the facts on the card of a unit among those of its parent, as its first line and as
            code.
    """

    facts: tuple[Fact, ...] | None = None
    measures: tuple[str, ...] | None = None
    answers = True
    pictured = False
    searched = "goal, answer, id"
    same = "gave the same answer"
    card: tuple[str, str] = ("", "")

    def answer(self, record: Unit[Any]) -> str | None:
        """Return the answer in a line, the same for equal answers; None without an answer."""
        action = record.prediction.action if record.prediction else None
        return str(action)[:LONGEST] if action else None

    def part(self, record: Unit[Any], calls: Sequence[CallRecord]) -> UnitPart:
        """Return the kind's part of the view: by default the action, and the unchanged detail."""
        action = record.prediction.action if record.prediction else None
        point = action.point if action else None
        return UnitPart(lines=list(action_lines(action)), point=point, raw=record.detail)


def facts_of(page: UnitPage, declared: Declaration) -> Sequence[Fact]:
    """Return the facts of units: those of the page, or their parents and labels."""
    if page.facts is not None:
        return page.facts
    levels = [
        Fact(
            *(key_of(one.name), title_of(one.one), title_of(one.one)),
            early=True,
            heading="named",
            value=parent(one.name),
        )
        for one in reversed(declared.levels)
    ]
    known = {SPLIT, *(level.name for level in declared.levels)}
    labels = [
        Fact(
            *(key_of(one.name), title_of(one.name), title_of(one.name)),
            heading="named",
            value=label(one.name),
        )
        for one in declared.groups
        if one.name not in known
    ]
    return [*levels, *labels]


def parent(name: str) -> Callable[[Unit[Any]], str | None]:
    """Return the getter of a parent of a unit."""
    return lambda record: record.parents.get(name)


def label(name: str) -> Callable[[Unit[Any]], str | None]:
    """Return the getter of a label of a unit."""
    return lambda record: record.labels.get(name)


def box_of(edges: tuple[float, float, float, float]) -> Box:
    """Return the box with these edges: left, top, right and bottom."""
    left, top, right, bottom = edges
    return left, top, right - left, bottom - top


def key_of(name: str) -> str:
    """Return the key of a level or a label, which no other part of an address has."""
    return f"{name}_" if name in RESERVED else name


def title_of(name: str) -> str:
    """Return a name as the head of a column.

    >>> title_of("sub_domain")
    'Sub domain'
    """
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def measure_words(declared: Declaration) -> str:
    """Return the main measure of units in a few words: its meaning, or its head where that is
    long."""
    main = declared.main_of_units
    return main.meaning if 0 < len(main.meaning) <= SHORT else main.head


def average_words(average: Average, declared: Declaration) -> str:
    """Return an average in a few words.

    >>> from parsers import MIND2WEB
    >>> average_words("macro", MIND2WEB), average_words("micro", MIND2WEB)
    ('macro over tasks', 'micro over steps')
    """
    over = {"macro": declared.level(declared.main_of_units.over).many, "micro": declared.units}
    return f"{average} over {over.get(average, 'groups')}"


def action_lines(action: Action | None) -> list[ComparedLine]:
    """Return the lines of a table that tell an action, each with one cell."""
    if action is None:
        return []
    point = ", ".join(f"{value:g}" for value in action.point) if action.point else ""
    known = (("action", action.name), ("element", action.element), ("point", point))
    lines = [ComparedLine(name, (ComparedCell(text),)) for name, text in known if text]
    return lines + [
        ComparedLine(name, (ComparedCell(_value(value)),))
        for name, value in action.arguments.items()
    ]


def _value(value: Value) -> str:
    """Return an argument as text; what is none is written as in JSON."""
    return value if isinstance(value, str) else json.dumps(value)
