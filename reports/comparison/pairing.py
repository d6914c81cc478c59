"""Units and parents shared by two runs, with the scores of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from harness.runs import RunError
from harness.runs.columns import id_column
from parsers import Declaration, Level, Measure, ScoredUnit
from parsers.counting import Trial, after_exclusion, parent_of, success
from parsers.repeats import pass_all, pass_at
from reports.frames.rows import RunRows
from reports.kind import reports_on

AGAINST = " against "
"""Stands between two splits that share units."""
UnitName = tuple[str, str]
Repeats = dict[int, list[ScoredUnit]]


@dataclass(frozen=True, slots=True)
class Left:
    """Units left out of a comparison, each counted under the first reason that applies.

    only_first, only_second: on record in one run only.
    invalid: invalid rows, and rows whose status the runs' rules exclude.
    unsettled: without a final outcome in both runs.
    """

    only_first: int
    only_second: int
    invalid: int
    unsettled: int


@dataclass(frozen=True, slots=True)
class Paired:
    """One measure of what both runs have measured.

    units: the units; for a measure of parents, one unit of each parent.
    first, second: the scores of the two runs in the order of `units`. With several repeats a score
        is the mean over the settled ones.
    """

    units: tuple[ScoredUnit, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]

    def of(self, keys: Collection[UnitName], declared: Declaration) -> Paired:
        """Return the part about these units, by `unit_name`."""
        listed = zip(self.units, self.first, self.second, strict=True)
        return _paired(
            [one for one in listed if unit_name(one[0].split, one[0].unit_id, declared) in keys]
        )


@dataclass(frozen=True, slots=True)
class Pairs:
    """What two runs share.

    units: every unit that counts in both.
    measures: the scores of both runs, by name of the measure. Parents count if they are complete in
        both with the same valid units.
    repeated: pass@k and pass^k of measures of success, by name of the measure and sign (`pass@5`),
        where both runs have repeats; k is the smaller number of them.
    incomplete: number of other shared parents, by measure of parents.
    left: units left out.
    splits: shared units by split; by both, where they are in two that share units.
    """

    units: tuple[ScoredUnit, ...]
    measures: dict[str, Paired]
    repeated: dict[tuple[str, str], Paired]
    incomplete: dict[str, int]
    left: Left
    splits: dict[str, int]


def pair(
    first: RunRows, second: RunRows, declared: Declaration, splits: Sequence[str] = ()
) -> Pairs:
    """Pair the units and parents of two runs by what is declared, on these splits or on all.

    Raises `RunError` if a shared unit is of different data in the two runs.
    """
    ours, theirs = (_by_unit(rows, splits, declared) for rows in (first, second))
    shared = [name for name in ours if name in theirs]
    _check_data(first, second, set(shared), declared)
    kept: list[UnitName] = []
    invalid = unsettled = 0
    for name in shared:
        repeats = ours[name], theirs[name]
        if first.rules.invalid != "fail" and any(map(_invalid, repeats)):
            invalid += 1
        elif not all(_invalid(of) or any(one.scores is not None for one in of) for of in repeats):
            unsettled += 1
        else:
            kept.append(name)
    measures = {
        measure.name: _paired(
            (ours[name][0], _score(ours[name], measure), _score(theirs[name], measure))
            for name in kept
        )
        for measure in declared.in_tables
    }
    repeated = {}
    main = declared.main_of_units
    if main.name not in first.seen.graded | second.seen.graded:
        score = main.name
        outcomes = [
            (ours[name][0], _outcomes(first, ours[name], score), _outcomes(second, of, score))
            for name in kept
            for of in [theirs[name]]
        ]
        repeated = _repeated(main.name, outcomes)
    incomplete = {}
    for measure in declared.of_parents:
        found, incomplete[measure.name] = _parents(first, second, measure, declared, splits)
        measures[measure.name] = _paired(
            [(unit, fmean(one), fmean(other)) for unit, one, other in found]
        )
        repeated |= _repeated(measure.name, found)
    by_split = Counter(_split(ours[name][0], theirs[name][0]) for name in kept)
    return Pairs(
        units=tuple(ours[name][0] for name in kept),
        measures=measures,
        repeated=repeated,
        incomplete=incomplete,
        left=Left(len(ours) - len(shared), len(theirs) - len(shared), invalid, unsettled),
        splits=dict(sorted(by_split.items())),
    )


Scored = tuple[ScoredUnit, float | None, float | None]
Outcomes = tuple[ScoredUnit, Sequence[bool], Sequence[bool]]
"""A unit, or one of a parent, with the outcomes of all repeats of both runs."""


def _repeated(measure: str, outcomes: Sequence[Outcomes]) -> dict[tuple[str, str], Paired]:
    """Return pass@k and pass^k of what has an outcome in all repeats; {} without repeats."""
    repeats = [max(map(len, of)) for of in zip(*((a, b) for _, a, b in outcomes), strict=True)]
    k = min(repeats, default=0)
    full = [(unit, a, b) for unit, a, b in outcomes if [len(a), len(b)] == repeats]
    if k < 2 or not full:
        return {}
    return {
        (measure, f"{sign}{k}"): _paired(
            [(unit, drawn(sum(a), len(a), k), drawn(sum(b), len(b), k)) for unit, a, b in full]
        )
        for sign, drawn in (("pass@", pass_at), ("pass^", pass_all))
    }


def _outcomes(rows: RunRows, repeats: Sequence[ScoredUnit], score: str) -> list[bool]:
    found = (success(unit, score, rows.rules) for unit in repeats)
    return [outcome for outcome in found if outcome is not None]


def _paired(scored: Iterator[Scored] | Sequence[Scored]) -> Paired:
    known = [(unit, a, b) for unit, a, b in scored if a is not None and b is not None]
    units, first, second = zip(*known, strict=True) if known else ((), (), ())
    return Paired(units, first, second)


def _by_unit(
    rows: RunRows, splits: Sequence[str], declared: Declaration
) -> dict[UnitName, list[ScoredUnit]]:
    units: dict[UnitName, list[ScoredUnit]] = {}
    for _, unit in _counted(rows, splits):
        units.setdefault(unit_name(unit.split, unit.unit_id, declared), []).append(unit)
    return units


def unit_name(split: str, unit_id: str, declared: Declaration) -> UnitName:
    """Return the identity of a unit in two runs."""
    return "" if declared.shared else split, unit_id


def _split(ours: ScoredUnit, theirs: ScoredUnit) -> str:
    if ours.split == theirs.split:
        return ours.split
    return f"{ours.split}{AGAINST}{theirs.split}"


def _counted(rows: RunRows, splits: Sequence[str]) -> Iterator[Trial]:
    """Yield the rows of these splits with the run's rules applied, as in `parsers.averages`."""
    units = after_exclusion((unit for _, unit in rows.trials), rows.rules)
    for (repeat, _), unit in zip(rows.trials, units, strict=True):
        if unit.lost or (splits and unit.split not in splits):
            continue
        if unit.scores is None and unit.invalid is None and rows.rules.unattempted == "fail":
            yield repeat, replace(unit, scores=rows.seen.failed(rows.declared))
        else:
            yield repeat, unit


def _check_data(
    first: RunRows, second: RunRows, shared: set[UnitName], declared: Declaration
) -> None:
    """Check that units are of the same data by the digest that their kind has in frames."""
    of_kind = reports_on(first.declared.kind).columns
    if of_kind is None or not of_kind.digest:
        return
    units = first.declared.units
    column, what = of_kind.digest
    digests = [
        {
            unit_name(split, unit_id, declared): digest
            for split, unit_id, digest in zip(
                f["split"], f[id_column(rows.declared)], f[column], strict=True
            )
        }
        for rows in (first, second)
        for f in [rows.frame]
    ]
    differing = sorted(name for name in shared if digests[0][name] != digests[1][name])
    if differing:
        raise RunError(
            f"{first.label} and {second.label} are of different data: {len(differing)} of "
            f"{len(shared)} {units} have another {what}, {differing[0][1]} for one"
        )


def _invalid(repeats: Sequence[ScoredUnit]) -> bool:
    return any(unit.invalid is not None for unit in repeats)


def _score(repeats: Sequence[ScoredUnit], measure: Measure) -> float | None:
    """Return the mean over repeats; None if it was measured in none of them. A run without the
    measure's rule has what its own rule reads."""
    if _invalid(repeats):
        return 0.0
    scores = [unit.scores for unit in repeats if unit.scores is not None]
    found = (one.get(measure.name, one.get(measure.plain)) for one in scores)
    known = [value for value in found if value is not None]
    return fmean(known) if known else None


def _parents(
    first: RunRows, second: RunRows, measure: Measure, declared: Declaration, splits: Sequence[str]
) -> tuple[list[Outcomes], int]:
    """Return the outcomes of parents, and the number of incomplete parents."""
    level, score = declared.level(measure.over), measure.all_of
    ours, theirs = (_by_parent(rows, level, score, splits) for rows in (first, second))
    found: list[Outcomes] = []
    incomplete = 0
    for parent in ours:
        if parent not in theirs:
            continue
        valid = [
            frozenset(u.unit_id for units in of.values() for u in units if u.invalid is None)
            for of in (ours[parent], theirs[parent])
        ]
        if first.rules.invalid != "fail" and not valid[0] and not valid[1]:
            continue
        one, other = _won(first, ours[parent], score), _won(second, theirs[parent], score)
        if one is None or other is None or valid[0] != valid[1]:
            incomplete += 1
            continue
        found.append((next(iter(ours[parent].values()))[0], one, other))
    return found, incomplete


def _by_parent(
    rows: RunRows, level: Level, score: str, splits: Sequence[str]
) -> dict[Hashable, Repeats]:
    """Return the units of every parent by repeat, without those that do not have this score."""
    parents: dict[Hashable, Repeats] = {}
    for repeat, unit in _counted(rows, splits):
        if unit.scores is None or unit.scores.get(score) is not None:
            parent = parents.setdefault(parent_of(unit, level), {})
            parent.setdefault(repeat, []).append(unit)
    return parents


def _won(rows: RunRows, repeats: Repeats, score: str) -> list[bool] | None:
    """Return whether the parent succeeds in each repeat; None if one is incomplete."""
    outcomes = [_succeeds(rows, units, score) for units in repeats.values()]
    known = [outcome for outcome in outcomes if outcome is not None]
    return known if len(known) == len(outcomes) else None


def _succeeds(rows: RunRows, units: Sequence[ScoredUnit], score: str) -> bool | None:
    valid = [unit.scores for unit in units if unit.invalid is None]
    found = Counter(unit.parents.get(rows.declared.innermost.name, "") for unit in units)
    if None in valid or any(n < rows.lengths.get(parent, 0) for parent, n in found.items()):
        return None
    spoilt = rows.rules.invalid == "fail" and len(valid) < len(units)
    return not spoilt and all(scores is not None and scores[score] == 1 for scores in valid)
