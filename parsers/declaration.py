"""The declaration of a benchmark's results: measures, parents, groups and words.

Everything that averages, prints, compares or exports scores reads the declaration, and a run keeps
it in its manifest: results can be read without the benchmark's package. The records are
plain values; the functions that compute scores belong to the benchmark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Self, get_args

from parsers.actions import ActionSpace
from parsers.measure import OF_ALL_UNITS, PREDICTED, TAKEN, fill
from parsers.measure import SPREAD as SPREAD
from parsers.measure import Average as Average
from parsers.measure import Measure as Measure
from parsers.records import SPLIT as SPLIT

_NAME = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)*")


@dataclass(frozen=True, slots=True)
class Level:
    """A level of parents: what units belong to, such as tasks.

    Attributes:
        name: its key in a unit's `parents`.
        one: the word for one parent; `name` unless given.
        many: the word for several; `name` + s unless given.
        shared: True if the same id means the same parent in every split.
        extent: what intervals with these parents as clusters are for, after "for new".
    """

    name: str
    one: str = ""
    many: str = ""
    shared: bool = False
    extent: str = ""

    def __post_init__(self) -> None:
        fill(self, one=self.name, many=f"{self.name}s")
        fill(self, extent=self.many)


@dataclass(frozen=True, slots=True)
class Group:
    """A key that groups results: `split`, a label of units, or a level of parents.

    Attributes:
        meaning: what it says, in words.
        whole: the outermost level whose parents lie in one group each; "" where groups split them
            all. Measures of parents are computed up to this level.
    """

    name: str
    meaning: str = ""
    whole: str = ""


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declaration of a benchmark's results.

    Attributes:
        measures: in the order of tables.
        levels: of parents, from the innermost to the outermost.
        groups: keys of results.
        clusters: the levels that intervals can take as independent, the usual one first; the
            innermost unless given.
        shared: whether the same id represents the same unit in every split, asked about in other
            words; runs on two such splits are compared unit by unit.
        kind: the kind of its units: `step`, `item`, `episode`, or one of a plugin.
        unit: the word for one unit; the kind's name unless given.
        units: the word for several; the kind's name unless given.
        actions: what can be answered; None where any action can.
        flags: those of predictions that leave measures open (`Measure.unmeasured`), with what they
            represent.
        labels: what people who look at failures usually call them, offered by the page.
        errors: measures that are error classes: of units that fail and have 1 of them.

    Raises `ValueError` for a declaration that contradicts itself.
    """

    measures: tuple[Measure, ...]
    levels: tuple[Level, ...] = (Level("task"),)
    groups: tuple[Group, ...] = ()
    clusters: tuple[str, ...] = ()
    shared: bool = False
    kind: str = "step"
    unit: str = ""
    units: str = ""
    actions: ActionSpace | None = None
    flags: tuple[tuple[str, str], ...] = ()
    labels: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        fill(self, unit=self.kind, units=f"{self.unit or self.kind}s")
        if self.levels:
            innermost = self.levels[0].name
            groups = (Group(SPLIT, "the split", whole=innermost),)
            fill(self, groups=groups, clusters=(innermost,))
        if problem := next(_problems(self), ""):
            raise ValueError(problem)

    def __deepcopy__(self, memo: object) -> Self:
        return self  # pandas copies what a table is of whenever the table is looked at

    def __getitem__(self, name: str) -> Measure:
        """Return the measure of that name. Raises `KeyError`."""
        return {measure.name: measure for measure in self.measures}[name]

    @property
    def main(self) -> Measure:
        """The measure that rankings, verdicts and error classes use."""
        return next(measure for measure in self.measures if measure.main)

    @property
    def main_of_units(self) -> Measure:
        """The main measure; for one of parents, the measure of their units (`all_of`)."""
        return self[self.main.all_of] if self.main.all_of else self.main

    @property
    def of_units(self) -> tuple[Measure, ...]:
        """The measures of units that are averaged."""
        plain = ((), SPREAD)
        return tuple(m for m in self.measures if m.averages not in plain and not m.all_of)

    @property
    def of_parents(self) -> tuple[Measure, ...]:
        """The measures of parents, such as task success."""
        return tuple(one for one in self.measures if one.all_of)

    @property
    def in_tables(self) -> tuple[Measure, ...]:
        """The measures of units that tables of results show."""
        return tuple(one for one in self.of_units if one.head)

    @property
    def spread(self) -> tuple[Measure, ...]:
        """The measures that are reported as median and quartiles."""
        return tuple(one for one in self.measures if one.averages == SPREAD)

    @property
    def counted(self) -> tuple[Measure, ...]:
        """The measures of which only the ones are counted."""
        return tuple(one for one in self.measures if not (one.averages or one.all_of))

    @property
    def shown(self) -> tuple[Measure, ...]:
        """The measures in tables of results, in the order of their columns."""
        return (*self.in_tables, *self.of_parents, *(m for m in self.spread if m.head))

    @property
    def scores(self) -> tuple[str, ...]:
        """The names of all scores of a unit."""
        return tuple(one.name for one in self.measures if not one.all_of)

    def variants(self, name: str) -> tuple[str, ...]:
        """Return the other ways to compute a measure: VARIANT of the measures `NAME.VARIANT`."""
        before = f"{name}."
        return tuple(one.removeprefix(before) for one in self.scores if one.startswith(before))

    def read_by(self, rules: Iterable[str]) -> Declaration:
        """Return the declaration with the main measure of units under further rules of reading."""
        main = self.main_of_units
        place = 1 + self.measures.index(main)
        further = tuple(
            replace(
                main,
                name=f"{main.name}.{rule}",
                head=f"{main.title} ({rule})",
                meaning=f"{main.title}, replies read by `{rule}`",
                main=False,
                needs=(),
                rule=rule,
            )
            for rule in rules
        )
        return replace(self, measures=(*self.measures[:place], *further, *self.measures[place:]))

    def is_like(self, other: Declaration) -> bool:
        """Return whether only the measures of further rules of reading differ, if any."""
        plain = (
            replace(of, measures=tuple(one for one in of.measures if not one.rule))
            for of in (self, other)
        )
        return self == other or next(plain) == next(plain)

    @property
    def innermost(self) -> Level:
        """The level right above the units."""
        return self.levels[0]

    def level(self, name: str) -> Level:
        """Return the level of that name, the innermost for "". Raises `KeyError`."""
        return self.levels[self.rank(name)]

    def rank(self, level: str) -> int:
        """Return its place among the levels, from the innermost; "" represents that. Raises
        `KeyError`."""
        places = {one.name: place for place, one in enumerate(self.levels)}
        return places[level] if level else 0

    def group(self, name: str) -> Group:
        """Return the group of that name. Raises `KeyError`."""
        return {group.name: group for group in self.groups}[name]


def _problems(declared: Declaration) -> Iterator[str]:
    levels = [level.name for level in declared.levels]
    groups = [group.name for group in declared.groups]
    names = [measure.name for measure in declared.measures]
    if not levels:
        yield "no level of parents is declared"
    known = {"measure": names, "level": levels, "group": groups, "kind": [declared.kind]}
    for what, listed in known.items():
        yield from _names(what, listed)
    mains = [measure.name for measure in declared.measures if measure.main]
    if len(mains) != 1:
        yield f"one measure has to be the main one, not {', '.join(mains) or 'none'}"
    if unknown := [name for name in declared.errors if name not in names or name in mains]:
        yield f"the error class {unknown[0]} is not one of the measures besides the main one"
    if unknown := [name for name in declared.clusters if name not in levels]:
        yield f"the cluster {unknown[0]} is not a level ({', '.join(levels)})"
    for group in declared.groups:
        if group.whole and group.whole not in levels:
            yield f"the group {group.name} holds whole {group.whole}, which is not a level"
    for measure in declared.measures:
        for name, kind in (
            *((name, "level") for name in (measure.over, measure.within) if name),
            *((name, "group") for name in measure.cells if not measure.all_of),
            *((name, "measure") for name in (measure.all_of, *measure.needs) if name),
        ):
            if name not in known[kind]:
                yield f"the measure {measure.name} names the {kind} {name}, which is not declared"
        if not set(measure.averages) <= set(get_args(Average)):
            yield f"the measure {measure.name} has an unknown average"
        if "quartiles" in measure.averages and measure.averages != SPREAD:
            yield f"the measure {measure.name} has quartiles and other averages"
        if measure.main and measure.averages in ((), SPREAD):
            yield f"the main measure {measure.name} has no average"
        if not measure.all_of and ("cells" in measure.averages) != bool(measure.cells):
            yield f"the measure {measure.name} has to declare the groups of its cells, and only so"
        if measure.all_of and (measure.all_of == measure.name or declared[measure.all_of].all_of):
            yield f"all_of of the measure {measure.name} names no measure of units"
        if measure.within in levels and (
            len(measure.cells) > 1 or declared.rank(measure.within) <= declared.rank(measure.over)
        ):
            yield f"the measure {measure.name} has no parents within {measure.within}"
    own = {f"{declared.unit}_id", f"total_{declared.units}"}
    for what, listed, taken in (
        ("measure", names, (TAKEN - PREDICTED) | own | set(levels)),
        ("group", groups, OF_ALL_UNITS | own | set(names) - PREDICTED),
        ("level", levels, own),
    ):
        for name in listed:
            if name in taken:
                said = f"the {what} {name} is named as a column that frames have for something else"
                yield f"{said}: name it otherwise"


def _names(what: str, listed: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in listed:
        if not _NAME.fullmatch(name):
            yield f"{name!r} is not a name for a {what}: use small letters, digits, _, - and dots"
        if name in seen:
            yield f"two of the {what}s are named {name}"
        seen.add(name)
