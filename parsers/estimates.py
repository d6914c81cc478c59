"""Every number of a run as a row: what `parsers.averages` gives, and all else selects from.

`summary.json` is these rows for each group of units. Numbers that are not defined (no unit, no
complete parent) are None, never NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from parsers.counting import EXCLUDED, AggregationRules, Observed, Rule
from parsers.declaration import Declaration
from parsers.rates import Interval
from parsers.records import Scores, Status

PARENTS = "parents"
"""The average of measures of parents: a share of them."""
QUARTILES = "quartiles"
"""Of measures without an average: the median, with the quartiles as its interval."""
SD, SD_WITHIN, SD_BETWEEN = "sd", "sd within", "sd between"
"""Standard deviations: of the headline between repeats, over repeats of the same unit, and of the
units' own rates of success (both by a one-way analysis of variance with random effects)."""
SHARE = "share of repeats"


@dataclass(frozen=True, slots=True)
class Estimate:
    """One number of a run.

    Attributes:
        measure: its name.
        average: `macro`, `micro`, `cells`; `parents` for measures of parents, `quartiles` for
            those without an average. Over repeats: `share of repeats`, `pass@2`, `pass^2`, ...,
            `sd`, `sd within`, `sd between`.
        rule: treatment of invalid rows.
        number: None where it is not measured, or withheld while a parent is incomplete.
        n: how many parents, units or cells are averaged.
        units: how many units have a score of it.
        won, complete: of `n` parents, how many succeed and are complete.
        chance, ceiling: what an agent that knows nothing is expected to get, and one that always
            knows the answer; on the headline of a measure.
        group, value: the key and the value that all its units share; "" for the whole run.
    """

    measure: str
    average: str
    rule: Rule
    number: float | None
    interval: Interval | None = None
    n: int = 0
    units: int = 0
    won: int | None = None
    complete: int | None = None
    chance: float | None = None
    ceiling: float | None = None
    group: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """The rows that numbers are based on. A settled row is one with a result.

    Attributes:
        n_parents: number of their innermost parents.
        invalid: invalid rows by reason.
        statuses: settled valid rows by status.
        flags: settled valid rows by what the parser had to repair or ignore.
        parse_failures: settled valid rows whose element could not be read from the reply
            (`parse_error`, `no_element`, `ambiguous`).
        parse_failure_rate: their share of the settled valid rows; above 2 %, a comparison of models
            is largely one of formatting.
        behind: by rule, the innermost parents and the units behind the measures of units.
    """

    n_parents: int
    n_rows: int
    n_valid: int
    n_settled: int
    n_unsettled: int
    n_invalid: int
    invalid: Mapping[str, int] = field(default_factory=dict)
    statuses: Mapping[str, int] = field(default_factory=dict)
    flags: Mapping[str, int] = field(default_factory=dict)
    parse_failures: int = 0
    parse_failure_rate: float | None = None
    behind: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def excluded(self) -> dict[str, int]:
        """Rows left out because of how they ended, by status; they are among the invalid ones."""
        return {
            reason.removeprefix(EXCLUDED): n
            for reason, n in self.invalid.items()
            if reason.startswith(EXCLUDED)
        }


FINE = frozenset({Status.ANSWERED, Status.NONE, Status.NOT_OFFERED})
"""Statuses of units with an answer, or without need of one."""


def unanswered(counts: Counts) -> str:
    """The settled units without an answer by status, and the share that could not be read."""
    failures = {name: n for name, n in counts.statuses.items() if name not in FINE}
    by_status = ", ".join(f"{n} {name}" for name, n in failures.items()) or "0"
    return f"{by_status} ({100 * (counts.parse_failure_rate or 0):.1f} % unreadable)"


@dataclass(frozen=True)
class Results:
    """The numbers of some units.

    Attributes:
        left_open: the measures that all predictions leave open (`Measure.unmeasured`).
        seen: what the scores of all units of the run show of its measures.
        repeats: how many times each unit was asked about, at least 1.
    """

    rows: Sequence[Estimate]
    counts: Counts
    declared: Declaration
    rules: AggregationRules
    left_open: frozenset[str]
    seen: Observed
    repeats: int

    def __deepcopy__(self, memo: object) -> Self:
        return self  # pandas copies what a table is of whenever the table is looked at

    @cached_property
    def _found(self) -> Mapping[tuple[str, str, str], Estimate]:
        return {(row.measure, row.average, row.rule): row for row in self.rows}

    def row(self, measure: str, average: str = "", rule: Rule | None = None) -> Estimate | None:
        """Return a row; of the headline's average and rule unless others are named.

        None for measures of parents that the units do not hold whole, for quartiles of what no
        unit has, and for what was not asked several times.
        """
        if not average:
            of = self.declared[measure]
            average = PARENTS if of.all_of else next(iter(of.averages), "")
        return self._found.get((measure, average, rule or self.rules.headline))

    @property
    def spread(self) -> float | None:
        """The standard deviation of the main measure's headline between repeats; None for a single
        repeat, and where it is not measured."""
        row = self.row(self.declared.main.name, SD)
        return row.number if row else None

    def over_repeats(self, average: str) -> dict[str, Estimate]:
        """Return the rows of an average over repeats by the name of their measure."""
        return {row.measure: row for row in self.rows if row.average == average}

    def withheld(self) -> Results:
        """Return the same without the numbers of parents: more units are still to come."""
        return replace(
            self,
            rows=[
                replace(row, number=None, interval=None) if row.average == PARENTS else row
                for row in self.rows
            ],
        )


UnitKey = tuple[int, str, str]
"""The repeat, the split and the id of a unit."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Scores that other agents would get, by unit; None where that is not known.

    chance: in expectation, one that knows nothing.
    ceiling: one that always knows the answer, under the same protocol and rules.
    """

    chance: Mapping[UnitKey, Scores] | None = None
    ceiling: Mapping[UnitKey, Scores] | None = None
