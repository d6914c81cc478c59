"""The results of a run under way, worked out again as it grows."""

from __future__ import annotations

from typing import Any

from harness.benchmarks import benchmark
from harness.kinds.extras import Records
from harness.runs import StepKey, Unit
from harness.session.summary import Part, aggregation_rules, part
from harness.settings import Settings

GROWTH = 1.02
"""From how many times as many units on results are worked out again."""


class RunningScores:
    """The records of a run so far, and its results.

    records: those of settled units with scores, in order of arrival.
    latest: the last record of every unit, settled or not.
    settled: number of settled units, those that do not count included.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.records: list[Unit[Any]] = []
        self.latest: dict[StepKey, Unit[Any]] = {}
        self.settled = 0
        self._part: Part | None = None
        self._counted = 0

    def add(self, record: Unit[Any]) -> None:
        """Take up a unit's line."""
        before = self.latest.get(record.key)
        self.settled += record.settled - (before is not None and before.settled)
        self.latest[record.key] = record
        if record.settled and record.scores is not None:
            self.records.append(record)

    def part(self) -> Part | None:
        """The results of nearly all records; None as long as there is none.

        The same object as before where they were not worked out again.
        """
        count = len(self.records)
        if count >= max(1, self._counted * GROWTH, self._counted + 1):
            self._part = self.part_of(self.records)
            self._counted = count
        return self._part

    def part_of(self, records: Records) -> Part:
        """The results of some records."""
        declared = benchmark(self.settings.benchmark).declared
        return part(records, declared, aggregation_rules(self.settings, declared))
