"""Records of the aggregated metrics of a run: means with intervals, and counts.

Undefined values (no unit, no complete parent) are None, never NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import quantiles
from typing import Literal

from parsers.declaration import Average, Declaration
from parsers.rates import Interval
from parsers.records import Status

InvalidPolicy = Literal["valid", "fail"]
"""Treatment of invalid rows in headline measures: left out, or counted as failures."""
Unattempted = Literal["exclude", "fail"]
"""Treatment of rows without an outcome: left out, or counted as failures."""
EXCLUDED = "excluded_"
"""Begins the reason why a row of an excluded status does not count."""


@dataclass(frozen=True, slots=True)
class AggregationRules:
    """Choices on which published evaluations differ, with our defaults.

    Attributes:
        variant: the headline variant of the measure that has several; "" for its usual one.
        invalid: rows that cannot be answered are left out of the headline (`valid`) or score zero
            (`fail`, as in MindAct and SeeAct); both are always computed.
        unattempted: valid rows without a result are left out (`exclude`) or count as failed
            (`fail`).
        exclude: statuses whose rows are treated as invalid, with the reason `excluded_<status>`;
            for example, to see the metrics without refusals.
        level: confidence level of the intervals.
        cluster: the level of parents that intervals take as independent, "" for the usual one.
            Tasks generalise to new tasks on these websites; websites, which group the tasks, to new
            websites.
    """

    variant: str = ""
    invalid: InvalidPolicy = "valid"
    unattempted: Unattempted = "exclude"
    exclude: frozenset[Status] = frozenset()
    level: float = 0.95
    cluster: str = ""

    def resolved(self, declared: Declaration) -> AggregationRules:
        """Return the rules with the variant and the cluster of a declaration."""
        variants = next((one.variants for one in declared.measures if one.variants), ("",))
        variant = self.variant if self.variant in variants else variants[0]
        return replace(self, variant=variant, cluster=self.cluster or declared.clusters[0])


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean between 0 and 1 over `n` parents (macro), units (micro) or cells."""

    value: float | None
    interval: Interval | None
    n: int


Rate = Mapping[Average, Estimate]
"""One measure, by the averages that are declared for it."""


@dataclass(frozen=True, slots=True)
class Quartiles:
    """A measure without an average, over `n` units."""

    median: float
    lower: float
    upper: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Quartiles:
        """Return those of one or more values, interpolated between neighbours.

        >>> Quartiles.of([4, 1, 2, 3])
        Quartiles(median=2.5, lower=1.75, upper=3.25, n=4)
        """
        many = len(values) > 1
        lower, median, upper = quantiles(values, method="inclusive") if many else [*values] * 3
        return cls(median, lower, upper, len(values))


@dataclass(frozen=True, slots=True)
class UnitMetrics:
    """The measures of a set of units.

    Attributes:
        n_parents: number of their innermost parents.
        rates: by name of the measure, and by `name.variant` in every variant.
        partial: how many units have a score of a measure, for the measures that some lack.
        implied: by name of the measure, the scores that are at least as high for every unit,
            because it needs them (`Measure.needs`).
        quartiles: of the measures without an average that some unit has a score of.
    """

    n_parents: int
    n_units: int
    rates: Mapping[str, Rate]
    partial: Mapping[str, int] = field(default_factory=dict)
    implied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    quartiles: Mapping[str, Quartiles] = field(default_factory=dict)

    def value(self, measure: str, average: Average) -> float | None:
        """Return a mean; None where it is not measured."""
        return self.rates[measure][average].value


@dataclass(frozen=True, slots=True)
class ParentRate:
    """The share of parents where every unit succeeds, such as task success.

    A parent is complete if all its rows have a result.

    Attributes:
        value: None while a parent is incomplete (or if there is none): the complete ones are a
            biased sample, because short ones finish first. Over repeats the mean.
        interval: None with `value`. Over repeats it is one over parents of each one's share of
            repeats, and None if the repeats hold different parents.
        successes: number of complete parents that succeed.
        complete: number of complete parents.
        total: number of all parents.
    """

    value: float | None
    interval: Interval | None
    successes: int
    complete: int
    total: int

    @property
    def partial(self) -> bool:
        """Return True if any parent is incomplete."""
        return self.complete < self.total

    def __str__(self) -> str:
        if self.value is None:
            return f"n/a ({self.complete} of {self.total})"
        return f"{self.value:.3f} ({self.successes}/{self.total})"


@dataclass(frozen=True, slots=True)
class ParentMetrics:
    """A measure of parents under three ways of treating invalid rows.

    Attributes:
        default: all valid units of a parent must succeed; parents without valid units are left out.
        strict: an invalid row fails its parent.
        clean: only parents without invalid rows.
    """

    default: ParentRate
    strict: ParentRate
    clean: ParentRate


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of rows that the metrics are based on. A settled row is one with a result.

    Attributes:
        n_parents: number of their innermost parents.
        invalid: invalid rows by reason.
        statuses: settled valid rows by status.
        flags: settled valid rows by what the parser had to repair or ignore.
        parse_failures: settled valid rows whose element could not be read from the reply
            (`parse_error`, `no_element`, `ambiguous`).
        parse_failure_rate: their share of the settled valid rows; above 2 %, a comparison of models
            is largely one of formatting.
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

    @property
    def excluded(self) -> dict[str, int]:
        """Rows left out because of how they ended, by status; they are among the invalid ones."""
        return {
            reason.removeprefix(EXCLUDED): n
            for reason, n in self.invalid.items()
            if reason.startswith(EXCLUDED)
        }


@dataclass(frozen=True, slots=True)
class Metrics:
    """All metrics of one group of rows.

    Attributes:
        valid: measures without invalid rows.
        strict: measures with invalid rows scored as zero.
        parents: by measure of parents; without those that are not measured, or whose parents the
            group does not hold whole.
        rules: those of the aggregation, and `declared` what their benchmark
            declares.
        left_open: the measures that all predictions leave open.
    """

    counts: Counts
    valid: UnitMetrics
    strict: UnitMetrics
    parents: Mapping[str, ParentMetrics]
    rules: AggregationRules
    declared: Declaration
    left_open: frozenset[str] = frozenset()

    @property
    def headline(self) -> UnitMetrics:
        """The measures of the headline: `valid` or `strict`, as the rules say."""
        return self.strict if self.rules.invalid == "fail" else self.valid

    def of_parents(self, measure: str) -> ParentRate | None:
        """Return a measure of parents, under the policy of the headline; None where there is
        none."""
        rates = self.parents.get(measure)
        if rates is None:
            return None
        return rates.strict if self.rules.invalid == "fail" else rates.default

    def measured(self, measure: str) -> bool:
        """Return True if a measure of units was measured, which needs a unit with a score of it."""
        return any(estimate.value is not None for estimate in self.strict.rates[measure].values())
