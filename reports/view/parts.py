"""What the page shows of units of a kind beyond what all units have: a part, which is data.

A kind of unit brings a `UnitPage` (`reports.kinds`). It says what the list shows of a unit and what
the unit's own view does: boxes to draw, a table, lists. No text of it is ever read as HTML.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from harness.runs import CallRecord, UnitRecord
from parsers import Average, Declaration, Measure
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
"""What an address of the list says already, which no fact may be named."""

Box = tuple[float, float, float, float]
BoxKind = Literal["target", "chosen", "distractor"]
Window = tuple[int, int, int, int]
"""Left, top, right and bottom of a part of a picture, in pixels, right and bottom exclusive."""


class Fact(NamedTuple):
    """Something that the list shows of units.

    Attributes:
        key: its name in addresses, in small letters.
        head: head of its column; "" for none.
        filter: name of its filter; "" for none.
        tail: key of another fact that follows it in its column.
        early: whether it comes before the goal, as what units belong to does.
        told: how the heading of the unit's view tells it: not at all, its value, or under its name.
        word: whether many units share its values.
        code: whether it is shown as code, as in the page.
    """

    key: str
    head: str = ""
    filter: str = ""
    tail: str = ""
    early: bool = False
    told: Literal["", "value", "named"] = ""
    word: bool = True
    code: bool = False


class Drawn(NamedTuple):
    """A box on the picture, as (x, y, width, height) in page pixels, in the order of drawing.

    Attributes:
        corners: of a polygon in turn, which is drawn in place of the box around it.
    """

    kind: BoxKind
    box: Box
    text: str = ""
    corners: Sequence[tuple[float, float]] = ()


class Cell(NamedTuple):
    """A cell of the table: text, then code."""

    text: str = ""
    code: str = ""


class Line(NamedTuple):
    """A line of the table that holds what was answered against what is right.

    Attributes:
        right: whether the answer is right; None where nobody says.
    """

    name: str
    cells: tuple[Cell, ...]
    right: bool | None = None


class Item(NamedTuple):
    """An item of a list.

    Attributes:
        letter: before it; None for a plain list.
        target: whether it is right.
        chosen: whether it was answered.
        remark: a word behind it.
    """

    text: str
    letter: str | None = None
    target: bool = False
    chosen: bool = False
    remark: str = ""


class Listed(NamedTuple):
    """A list in a panel of its own.

    Attributes:
        note: a line below it.
        empty: what stands there without items; "" leaves the panel out.
        early: whether it comes before the conversation.
    """

    title: str
    items: Sequence[Item]
    note: str = ""
    empty: str = ""
    early: bool = False


class Frame(NamedTuple):
    """A frame of a film strip: what was seen, and what was done about it.

    Attributes:
        head: above it.
        goal: what was wanted, where that is new.
        picture: digest of a blob; "" without.
        size: width and height of the picture, in whose pixels boxes and points are; None for its
            own.
        boxes: drawn on the picture.
        point: drawn on the picture.
        mark: what stands beside the point.
        to: where something was dragged from the point.
        action: what was done, in a line.
        said: what was replied.
        after: what became of it; `failed` marks it as a failure.
    """

    head: str
    goal: str = ""
    picture: str = ""
    size: tuple[float, float] | None = None
    boxes: Sequence[Drawn] = ()
    point: tuple[float, float] | None = None
    mark: str = ""
    to: tuple[float, float] | None = None
    action: str = ""
    said: str = ""
    after: str = ""
    failed: bool = False


class Score(NamedTuple):
    """A score: its name, its value, whether it is yes or no, and what it says."""

    name: str
    value: float | None
    binary: bool
    meaning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What the view of a unit shows of what only units of its kind have.

    Attributes:
        page: width and height of the page in pixels.
        boxes: on the picture; None where the kind has none, so that nobody is offered to hide them.
        point: that was answered, in page pixels.
        focus: the box that the picture is scrolled to.
        actual: whether the picture is enlarged to its own resolution, not to twice its width.
        heads: heads of the table behind its first column, and `lines` its lines.
        lists: panels with lists.
        scores: in words of the kind; None for those that the benchmark declares.
        raw: what is shown as it is on record.
    """

    page: tuple[int, int] | None = None
    boxes: Sequence[Drawn] | None = None
    point: tuple[float, float] | None = None
    focus: Box | None = None
    actual: bool = False
    heads: tuple[str, ...] = ("answered",)
    lines: Sequence[Line] = ()
    lists: Sequence[Listed] = ()
    scores: Sequence[Score] | None = None
    raw: Any = None


class UnitPage:
    """What the page shows of units of any kind, and what a kind may replace.

    Attributes:
        measures: the measures that the list shows beside the main one; None for those of tables.
        answers: whether the list of a single run shows what was answered.
        labels: whether the view of a unit tells labels that are no facts of the list.
        pictured: whether every unit should have a picture, so that it is told where one is missing.
        searched: what the list can be searched for, in words.
        same: what two runs did that gave the same answer, in words.
        card: the facts on the card of a unit among those of its parent, as its first line and as
            code.
    """

    measures: tuple[str, ...] | None = None
    answers = True
    labels = True
    pictured = False
    searched = "goal, answer, id"
    same = "gave the same answer"
    card: tuple[str, str] = ("", "")

    def facts(self, declared: Declaration) -> Sequence[Fact]:
        """What the list shows beside split, goal and place: by default parents and labels."""
        levels = [
            Fact(key_of(one.name), title_of(one.one), title_of(one.one), early=True, told="named")
            for one in reversed(declared.levels)
        ]
        known = {SPLIT, *(level.name for level in declared.levels)}
        labels = [
            Fact(key_of(one.name), title_of(one.name), title_of(one.name), told="named")
            for one in declared.groups
            if one.name not in known
        ]
        return [*levels, *labels]

    def values(self, record: UnitRecord[Any], declared: Declaration) -> Mapping[str, str | None]:
        """The facts of a unit by key, as far as it has them."""
        parents = {key_of(one.name): record.parents.get(one.name) for one in declared.levels}
        labels = {key_of(one.name): record.labels.get(one.name) for one in declared.groups}
        return {**labels, **parents}

    def order(self, record: UnitRecord[Any]) -> int:
        """The place of its innermost parent among those of the next level; by default they have no
        order but that of their ids."""
        return 0

    def answer(self, record: UnitRecord[Any]) -> str | None:
        """What was answered, in a line that equal answers share; None without an answer."""
        action = record.prediction.action if record.prediction else None
        return str(action)[:LONGEST] if action else None

    def cuts(self, record: UnitRecord[Any]) -> Sequence[Window] | None:
        """The parts of its picture that the page holds in full resolution, in place of what the
        model was sent; None for that."""
        return None

    def strip(self, record: UnitRecord[Any], calls: Sequence[CallRecord]) -> Sequence[Frame]:
        """The frames of a unit that took its time, in order; () for units of one moment."""
        return ()

    def part(self, record: UnitRecord[Any]) -> Part:
        """What the unit's own view shows: by default the action, and the detail as it is."""
        action = record.prediction.action if record.prediction else None
        point = action.point if action else None
        return Part(lines=list(action_lines(action)), point=point, raw=record.detail)


def key_of(name: str) -> str:
    """The key of a level or a label, which no other part of an address has."""
    return f"{name}_" if name in RESERVED else name


def title_of(name: str) -> str:
    """A name as the head of a column.

    >>> title_of("sub_domain")
    'Sub domain'
    """
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def main_of(declared: Declaration) -> Measure:
    """The main measure of units: where the main one is of parents, what it is all of."""
    return declared[declared.main.all_of] if declared.main.all_of else declared.main


def measure_words(declared: Declaration) -> str:
    """The main measure of units in a few words: its meaning, or its head where that is long."""
    main = main_of(declared)
    return main.meaning if 0 < len(main.meaning) <= SHORT else main.head


def average_words(average: Average, declared: Declaration) -> str:
    """An average in a few words.

    >>> from parsers import declaration_of
    >>> average_words("macro", declaration_of(None)), average_words("micro", declaration_of(None))
    ('macro over tasks', 'micro over steps')
    """
    over = {"macro": declared.level(main_of(declared).over).many, "micro": declared.units}
    return f"{average} over {over.get(average, 'groups')}"


def action_lines(action: Action | None) -> list[Line]:
    """The lines of a table that tell an action, each with one cell."""
    if action is None:
        return []
    point = ", ".join(f"{value:g}" for value in action.point) if action.point else ""
    known = (("action", action.name), ("element", action.element), ("point", point))
    lines = [Line(name, (Cell(text),)) for name, text in known if text]
    return lines + [Line(name, (Cell(_value(value)),)) for name, value in action.arguments.items()]


def _value(value: Value) -> str:
    """An argument as text; what is none is written as in JSON."""
    return value if isinstance(value, str) else json.dumps(value)
