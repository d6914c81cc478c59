"""From the lines of a run to its numbers: what the table shows and `summary.json` keeps.

Everything here is computed from step records alone, so it can be computed again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from adapters import Usage
from harness.benchmarks import Benchmark, benchmark
from harness.benchmarks.scoring import Records, bounds_of
from harness.pictures import show_answers
from harness.runs import Manifest, StepKey, Unit
from harness.runs.on_record import by_role, by_tier
from harness.settings import Settings
from parsers import AggregationRules, Counts, Declaration, Estimate, Results, every_result, results
from parsers.counting import Trial
from parsers.records import Status

Found = Mapping[tuple[str, str], Results]
"""The numbers of a run: of all its units by ("", ""), and of each value of each declared group."""


def aggregation_rules(settings: Settings, declared: Declaration) -> AggregationRules:
    """Return the rules for averaging scores."""
    rules = AggregationRules(
        invalid="fail" if settings.invalid == "fail" else "valid",
        unattempted=settings.unattempted,
        exclude=frozenset(Status(status) for status in settings.exclude_status),
    )
    return rules.resolved(declared)


def trials_of(records: Records) -> list[Trial]:
    """Return the units with the number of their repeat, for averages."""
    return [(record.repeat, record.scored()) for record in records]


def results_of(
    records: Records,
    settings: Settings,
    source: Benchmark,
    task_rows: Mapping[str, int] | None = None,
) -> Found:
    """Return every number of these units, with what can at least and at most be reached.

    `source` is their benchmark, which declares what the run's does. `task_rows` has the number of
    rows of tasks cut short.
    """
    bounds, declared = bounds_of(source, records, settings), source.declared
    rules = aggregation_rules(settings, declared)
    return every_result(trials_of(records), declared, rules, lengths=task_rows, bounds=bounds)


def total_of(
    records: Records,
    settings: Settings,
    declared: Declaration,
    task_rows: Mapping[str, int] | None = None,
) -> Results:
    """Return the numbers over all of these units, without chance and ceiling."""
    rules = aggregation_rules(settings, declared)
    return results(trials_of(records), declared, rules, lengths=task_rows)


def prompt_tokens_of(records: Records) -> tuple[int, int] | None:
    """Return median and 99th percentile of the estimated length of a unit's longest prompt."""
    counts = sorted(r.prompt_tokens for r in records if r.prompt_tokens is not None)
    if not counts:
        return None
    return counts[(len(counts) - 1) // 2], counts[min(len(counts) - 1, len(counts) * 99 // 100)]


def plain(value: Any) -> Any:
    """A record as JSON values, sets and mappings in a fixed order."""
    return msgspec.to_builtins(value, order="deterministic")


def plain_row(row: Estimate) -> dict[str, Any]:
    """A number as `summary.json` has it: its interval by `low`, `high`, `method`, `clusters` and
    `few`, and of what not every row has, only what there is."""
    interval = row.interval
    ends = ("low", "high", "method", "clusters", "few")
    some = ("units", "won", "complete", "chance", "ceiling")
    return {
        **{name: getattr(row, name) for name in ("group", "value", "rule", "measure", "average")},
        "number": row.number,
        **{name: getattr(interval, name) if interval else None for name in ends},
        "n": row.n,
        **{name: value for name in some if (value := getattr(row, name)) is not None},
    }


def plain_results(found: Found) -> dict[str, Any]:
    """The numbers of a run as `summary.json` has them: rows, and the counts of each group."""
    total = found["", ""]
    declared = total.declared
    return {
        "rules": plain(total.rules),
        "repeats": total.repeats,
        "counts": [
            {"group": group, "value": value, **_plain_counts(part.counts, declared)}
            for (group, value), part in found.items()
        ],
        "estimates": [plain_row(row) for part in found.values() for row in part.rows],
    }


def _plain_counts(counts: Counts, declared: Declaration) -> dict[str, Any]:
    values, many = plain(counts), f"n_{declared.innermost.many}"
    behind = {
        rule: {many: parents, f"n_{declared.units}": units}
        for rule, (parents, units) in values.pop("behind").items()
    }
    return {many: values.pop("n_parents"), **values, "behind": behind}


def summarise(
    records: Records, settings: Settings, source: Benchmark, manifest: Manifest, found: Found
) -> dict[str, Any]:
    """`summary.json`: all numbers (`found`), counts, tokens and cost, computed from the lines."""
    usage, cost = tokens_and_cost(records)
    return {
        "note": source.note,
        "run": manifest.name,
        "model": manifest.model,
        "answered_by": sorted(manifest.answered_by),
        "pictures": manifest.pictures,
        "oracle_pictures": show_answers(manifest.pictures),
        **({"redone": plain(manifest.redone)} if manifest.redone else {}),
        "scoring": {
            **{name: getattr(settings, name) for name in ("invalid", "unattempted")},
            "exclude_status": plain(settings.exclude_status),
            **source.options.scoring,
        },
        **plain_results(found),
        "prompt_tokens": plain(prompt_tokens_of(records)),
        "rows": {
            "all": len(records),
            "asked": sum(record.asked for record in records),
            **source.counts(records),
        },
        **({"agreement": share} if (share := agreement_of(records)) is not None else {}),
        "usage": plain(usage),
        "cost": cost,
        **({"by_role": plain(roles)} if (roles := by_role(records)) else {}),
        **({"by_tier": tiers} if (tiers := by_tier(records)) else {}),
    }


def tokens_and_cost(records: Records) -> tuple[Usage, float | None]:
    """Sum the tokens and US dollars of the replies to these steps; None without any price."""
    usage = sum((r.usage for r in records if r.usage is not None), Usage())
    costs = [record.cost for record in records if record.cost is not None]
    return usage, math.fsum(costs) if costs else None


def agreement_of(records: Records) -> float | None:
    """Return the mean share of a unit's samples that gave the answer that counts; None for runs
    without samples."""
    shares = [
        said.agreement
        for record in records
        if (said := record.prediction) is not None and said.agreement is not None
    ]
    return math.fsum(shares) / len(shares) if shares else None


def agreement_line(records: Records, settings: Settings) -> Iterator[str]:
    """Say how many samples agree with the answers that count."""
    if (share := agreement_of(records)) is not None:
        yield (
            f"{settings.samples} samples per call: {100 * share:.1f} % gave the answer that counts "
            f"({settings.vote or 'majority'})"
        )


GROWTH, PAUSE_S = 1.02, 2.0
"""Results are worked out again from so many times as many units on, and after so many seconds."""


class RunningScores:
    """The records of a run so far, and its results.

    records: those of settled units with scores, in order of arrival.
    latest: the last record of every unit, settled or not.
    settled: number of settled units, those that do not count included.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self.records: list[Unit[Any]] = []
        self.latest: dict[StepKey, Unit[Any]] = {}
        self.settled = 0
        self._clock = clock
        self._results: Results | None = None
        self._counted, self._made = 0, -math.inf

    def add(self, record: Unit[Any]) -> None:
        """Take up a unit's line."""
        before = self.latest.get(record.key)
        self.settled += record.settled - (before is not None and before.settled)
        self.latest[record.key] = record
        if record.settled and record.scores is not None:
            self.records.append(record)

    def results(self, *, whole: bool = False) -> Results | None:
        """The results of nearly all records, or of all (`whole`); None as long as there is none.

        The same object as before where they were not worked out again.
        """
        count = len(self.records)
        grown = count >= max(1, self._counted * GROWTH, self._counted + 1)
        due = self._clock() - self._made >= PAUSE_S
        if (grown and due) or (whole and count > self._counted):
            self._results = self.results_of(self.records)
            self._counted, self._made = count, self._clock()
        return self._results

    def results_of(self, records: Records) -> Results:
        """The results of some records."""
        declared = benchmark(self.settings.benchmark).declared
        return total_of(records, self.settings, declared)
