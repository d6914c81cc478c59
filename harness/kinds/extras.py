"""Bounds and extra counts per kind of unit.

A kind brings an `Extras` (`harness.kinds.contract.UnitKind.extras`). Without one, only its measures
are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from harness.benchmarks import declared
from harness.runs import Unit
from harness.settings import Settings
from parsers import AggregationRules, Counts, Declaration, Measure
from parsers.aggregation import headline_value
from parsers.records import Scores, Status

Records = Sequence[Unit[Any]]
Bound = Mapping[str, float | None]
"""Values of measures by name, in their headline's average."""

FINE = frozenset({Status.ANSWERED, Status.NONE, Status.NOT_OFFERED})


class Bounds(Protocol):
    """The least and the most that a run could have reached."""

    def floor(self, records: Records, rules: AggregationRules) -> Bound:
        """Expected scores of an agent that knows nothing, on the rows of the headline."""
        ...

    def ceiling(self, records: Records, rules: AggregationRules) -> Bound:
        """Scores of an agent that always knows the answer."""
        ...


UnitKey = tuple[str, str]


def key_of(record: Unit[Any]) -> UnitKey:
    """Split and id of a unit, which has one chance and one right answer."""
    return record.split, record.unit_id


@dataclass(frozen=True, slots=True)
class UnitBounds:
    """What chance, in expectation, and the oracle get of every unit, averaged as the headline is.

    oracle: None if it cannot be asked.
    """

    declared: Declaration
    chance: Mapping[UnitKey, Scores]
    oracle: Mapping[UnitKey, Scores] | None

    def floor(self, records: Records, rules: AggregationRules) -> Bound:
        return self._averaged(records, rules, self.chance)

    def ceiling(self, records: Records, rules: AggregationRules) -> Bound:
        if self.oracle is None:
            return {measure.name: None for measure in self.declared.of_units}
        return self._averaged(records, rules, self.oracle)

    def _averaged(
        self, records: Records, rules: AggregationRules, scores: Mapping[UnitKey, Scores]
    ) -> Bound:
        rows = [
            replace(row, scores=scores[key_of(record)]) if row.scores else row
            for record in records
            for row in (record.scored(),)
        ]
        return {
            measure.name: headline_value(rows, self.declared, rules, measure)
            for measure in self.declared.of_units
        }


class Extras:
    """What a kind of units tells beside its measures, unless it overrides this: how many units have
    what is 0 or 1 and not averaged."""

    def bounds(self, records: Records, settings: Settings) -> Bounds | None:
        """Floor and ceiling on the rows of a run; None for kinds that have none."""
        return None

    def rows(self, records: Records) -> dict[str, int]:
        """Further counts of rows, for `summary.json`."""
        return {measure.name: number for measure, number in _unaveraged(records)}

    def definitions(self, settings: Settings, ceilings: Iterable[Bound]) -> Iterator[str]:
        """Footnotes of the table that define its measures and bounds."""
        return iter(())

    def answers(self, records: Records, counts: Counts, top_k: int | None) -> Iterator[str]:
        """Lines on how the settled units ended."""
        yield f"settled without an answer: {unanswered(counts)}"
        for measure, number in _unaveraged(records):
            yield f"{measure.meaning or measure.head}: {number}"

    def places(self, records: Records) -> Iterator[str]:
        """Lines on answers that name a place."""
        return iter(())

    def questions(self, asked: Records) -> Iterator[str]:
        """Lines on what was asked."""
        return iter(())

    def warning(self, records: Records, settings: Settings) -> str:
        """A mistake in the settings that the answers suggest, said while a run goes on and at its
        end; "" for none."""
        return ""


def _unaveraged(records: Records) -> list[tuple[Measure, int]]:
    """The measures of 0 or 1 that are not averaged, each with the number of units that have 1."""
    source = declared(records[0].benchmark) if records else None
    measures = source.declared.measures if source else ()
    return [
        (
            one,
            sum(record.settled and (record.scores or {}).get(one.name) == 1 for record in records),
        )
        for one in measures
        if one.binary and not one.averages
    ]


def unanswered(counts: Counts) -> str:
    """The settled units without an answer by status, and the share that could not be read."""
    failures = {name: n for name, n in counts.statuses.items() if name not in FINE}
    by_status = ", ".join(f"{n} {name}" for name, n in failures.items()) or "0"
    return f"{by_status} ({100 * (counts.parse_failure_rate or 0):.1f} % unreadable)"
