"""The list of units with their outcome in every run, as what they were declared to be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.runs import Run, Unit
from parsers import Declaration, Measure
from parsers.counting import observed
from reports.kind import reports_of
from reports.load import widest
from reports.view.parts import Fact, UnitPage, facts_of, key_of

RIGHT, PART, WRONG, OPEN, NOT_ASKED = "right", "part", "wrong", "open", "not_asked"
SCORED, UNMEASURED, VOID = "scored", "unmeasured", "void"
MOST_VALUES = 300
"""Most values of a fact that a filter offers."""


@dataclass(frozen=True, slots=True)
class Series:
    """A run, or one repeat of a run with several."""

    label: str
    run: str
    repeat: int


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The outcome of a unit in a lane.

    result: RIGHT, PART (the main measure missed, but not the first that it needs) or WRONG where
        the main measure is 0 or 1, SCORED where it is a number; UNMEASURED, OPEN (no final
        outcome), NOT_ASKED, or VOID (asked, but it does not count).
    status: how the unit ended, see `parsers.Status`.
    error_class: its error class.
    answer: what was answered, in a line that equal answers share.
    main: the main measure.
    scores: the measures that the list shows.
    """

    result: str
    status: str | None
    error_class: str | None
    answer: str | None = None
    main: float | None = None
    scores: tuple[float | None, ...] = ()


@dataclass(slots=True)
class Point:
    """A unit of the data, with its facts by key and its outcome by number of the lane.

    parents: the ids of what it belongs to, from the outside in.
    order: the numbers that order its innermost parent among the others of the next level.
    """

    unit_id: str
    parents: tuple[str, ...]
    order: tuple[int, ...]
    goal: str
    index: int
    total: int
    split: str
    facts: dict[str, str | None]
    invalid: str | None
    outcomes: dict[int, UnitResult] = field(default_factory=dict)

    @property
    def parent(self) -> str:
        """Its innermost parent."""
        return self.parents[-1]


@dataclass(slots=True)
class Points:
    """The lanes, and all units of the runs by id, in order.

    declared: what the benchmark of the runs declares.
    page: what the page shows of units of this kind.
    measures: those that the list shows after the main one.
    graded: the measures with a value other than 0 and 1.
    facts: those that some unit has.
    own_goals: True if units of the same parent have different goals.
    """

    declared: Declaration
    page: UnitPage
    measures: list[Measure]
    graded: frozenset[str]
    lanes: list[Series] = field(default_factory=list)
    units: dict[str, Point] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    own_goals: bool = False


def page_of(run: Run) -> UnitPage:
    """Return the kind's page for the units of a run."""
    brought: UnitPage | None = reports_of(run).part("page")
    return brought or UnitPage()


def collect(runs: Mapping[str, Run], classes: Mapping[tuple[str, str, int], str]) -> Points:
    """Collect the units of runs, one run's records in memory at a time. Raises `RunError`.

    The runs share what is declared of them; `classes` are error classes by run, unit and repeat.
    """
    first = next(iter(runs.values()))
    declared = widest(run.manifest.declaration for run in runs.values())
    page = page_of(first)
    graded = frozenset[str]().union(
        *(
            observed((one.scored() for one in run.records()), declared).graded
            for run in runs.values()
        )
    )
    points = Points(declared, page, _listed(declared, page, graded), graded)
    units: dict[str, Point] = {}
    facts = facts_of(page, declared)
    for label, run in runs.items():
        records = run.records()
        repeats = sorted({record.repeat for record in records}) or [0]
        places = {repeat: len(points.lanes) + i for i, repeat in enumerate(repeats)}
        named = len(repeats) > 1
        points.lanes += [Series(f"{label} #{r + 1}" if named else label, label, r) for r in repeats]
        outcome_of = _outcomes(points)
        for record in records:
            point = units.get(record.unit_id)
            if point is None:
                point = units[record.unit_id] = _point(record, facts, declared)
            elif not all(point.facts.values()):
                # A run may have listed what an earlier one has not.
                known = (fact for fact in facts if not point.facts[fact.key])
                point.facts |= {fact.key: fact.value(record) for fact in known}
            error_class = classes.get((label, record.unit_id, record.repeat))
            point.outcomes[places[record.repeat]] = outcome_of(record, error_class)
    ordered = sorted(
        units.values(), key=lambda p: (p.split, p.parents[:-1], p.order, p.parents[-1], p.index)
    )
    points.units = {point.unit_id: point for point in ordered}
    goals: dict[str, str] = {}
    points.own_goals = any(goals.setdefault(p.parent, p.goal) != p.goal for p in ordered)
    named = any(goals.values()) and not points.own_goals
    points.facts = _facts(points, facts, goals=named)
    return points


def _facts(points: Points, known: Sequence[Fact], *, goals: bool) -> list[Fact]:
    """Return the facts that some unit has, without filters that would not tell units apart.

    goals: True if the shared goal of its units names the parent.
    """
    inner = key_of(points.declared.innermost.name)
    facts = []
    for fact in known:
        values = [point.facts.get(fact.key) for point in points.units.values()]
        distinct = {value for value in values if value}
        if not distinct or (goals and fact.key == inner):
            continue
        alone = fact.early and len(distinct) == len(values) > 1
        many = len(distinct) > MOST_VALUES or alone
        facts.append(fact._replace(filter="") if many else fact)
    return facts


def _listed(declared: Declaration, page: UnitPage, graded: Collection[str]) -> list[Measure]:
    """Return the measures in the list, the main one among them unless it is yes or no, which the
    outcome says."""
    main, named = declared.main_of_units, page.measures

    def is_listed(one: Measure) -> bool:
        if one is main:
            return main.name in graded
        return bool(one.head) if named is None else one.name in named

    return [one for one in declared.of_units if is_listed(one)]


def _point(record: Unit[Any], facts: Sequence[Fact], declared: Declaration) -> Point:
    values = {fact.key: fact.value(record) for fact in facts}
    return Point(
        unit_id=record.unit_id,
        parents=tuple(record.parents.get(one.name, "") for one in reversed(declared.levels)),
        order=tuple(int(values[fact.key] or 0) for fact in facts if fact.orders),
        goal=record.goal,
        index=record.position,
        total=record.total,
        split=record.split,
        facts=values,
        invalid=record.invalid,
    )


def _outcomes(points: Points) -> Callable[[Unit[Any], str | None], UnitResult]:
    """Return the function from a line of a run to what the list says of it."""
    main = points.declared.main_of_units
    needed = main.needs[0] if main.needs else ""
    names = [one.name for one in points.measures]

    def outcome(record: Unit[Any], error_class: str | None) -> UnitResult:
        if not record.asked and record.scores is None:
            return UnitResult(NOT_ASKED, None, error_class)
        if record.invalid is not None and record.asked:
            return UnitResult(VOID, None, error_class)
        prediction = record.prediction
        if not record.settled or prediction is None or record.scores is None:
            return UnitResult(OPEN, None, error_class)
        scores = record.scores or {}
        value = scores.get(main.name)
        result = SCORED
        if value is None:
            result = UNMEASURED
        elif main.name not in points.graded:
            part = PART if needed and scores.get(needed) else WRONG
            result = RIGHT if value else part
        answer = points.page.answer(record)
        listed = tuple(scores.get(name) for name in names)
        return UnitResult(result, str(prediction.status), error_class, answer, value, listed)

    return outcome


def as_rows(
    points: Points, scripts: Mapping[str, int], pictures: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the list as plain data; repeated strings are indices into `words`.

    scripts: the numbers of the scripts of the units to list, in the order of the list.
    """
    words: dict[str, int] = {}
    parents: dict[str, tuple[int, str]] = {}
    none = (None,) * len(points.measures)

    def word(text: str | None) -> int | None:
        return None if text is None else words.setdefault(text, len(words))

    def said(one: UnitResult | None) -> list[Any] | None:
        if one is None:
            return None
        words = (one.result, one.status, one.error_class, one.answer)
        return [*map(word, words), *(one.scores or none)]

    def cell(fact: Fact, text: str | None) -> str | int | None:
        return word(text) if fact.word else text

    rows = []
    for unit_id, number in scripts.items():
        point = points.units[unit_id]
        text = "" if points.own_goals else point.goal
        parent = parents.setdefault(point.parent, (len(parents), text or point.parent))[0]
        outcomes = [said(point.outcomes.get(lane)) for lane in range(len(points.lanes))]
        rows.append(
            [
                unit_id,
                parent,
                point.index,
                point.total,
                word(point.split),
                *(cell(fact, point.facts.get(fact.key)) for fact in points.facts),
                *([point.goal] if points.own_goals else []),
                word(point.invalid),
                pictures.get(unit_id) or [None, ""],
                outcomes,
                number,
            ]
        )
    listed = [[parent, text] for parent, (_, text) in parents.items()]
    return {"words": list(words), "tasks": listed, "steps": rows}


def terms(points: Points) -> dict[str, Any]:
    """Return the page's words for these units, as plain data."""
    declared, inner, main = (
        points.declared,
        points.declared.innermost,
        points.declared.main_of_units,
    )
    needed = declared[main.needs[0]].name.replace("_", " ") if main.needs else ""
    return {
        "unit": declared.unit,
        "units": declared.units,
        "parent": inner.one,
        "facts": [fact.shown for fact in points.facts],
        "goals": points.own_goals,
        "goal": any(point.goal for point in points.units.values()),
        "places": any(point.total or point.index for point in points.units.values()),
        "measures": [
            [one.name, one.title, one.meaning, one.name not in points.graded]
            for one in points.measures
        ],
        "main": [main.name, main.head, main.name not in points.graded],
        "part": f"{needed} only",
        "searched": points.page.searched,
        "answers": points.page.answers,
        "card": list(points.page.card),
    }
