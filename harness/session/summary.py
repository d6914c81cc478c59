"""From the lines of a run to its numbers: what the table shows and `summary.json` keeps.

Everything here is computed from step records alone, so that it can be computed again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from adapters import Usage
from harness.benchmarks import benchmark, note_of
from harness.kinds.contract import unit_kind
from harness.kinds.scoring import Bound, Bounds, Records
from harness.pictures import show_answers
from harness.runs import Manifest, StepKey, Unit, by_role, by_tier
from harness.settings import SETTINGS, Settings
from parsers import AggregationRules, Counts, Declaration, Metrics, UnitMetrics
from parsers.records import Status
from parsers.repeats import OverRepeats, aggregate_repeats


@dataclass(frozen=True, slots=True)
class Part:
    """The numbers of one set of rows.

    `floor` and `oracle` are what can at least and at most be reached on the rows of the headline,
    under the run's protocol and rules (`harness.kinds.scoring`); None for kinds without such
    bounds. `ceiling` is the oracle's main measure, or the first one where that is left open.
    `repeat_sd` is the standard deviation of the main measure between repeats, None for one repeat;
    where `repeats` are several, a unit counts once in each. `over_repeats` has pass@k, pass^k and
    the spread of measures of success. `prompt_tokens` are (median, 99th percentile) of the longest
    prompt of a unit, estimated.
    """

    metrics: Metrics
    floor: Bound | None
    oracle: Bound | None
    ceiling: float | None
    repeats: int
    repeat_sd: float | None
    over_repeats: Mapping[str, OverRepeats]
    prompt_tokens: tuple[int, int] | None


def aggregation_rules(settings: Settings, declared: Declaration) -> AggregationRules:
    """Return the rules for averaging scores."""
    chosen = next((one.setting for one in declared.measures if one.variants), "")
    rules = AggregationRules(
        variant=getattr(settings, chosen) if chosen else "",
        invalid="fail" if settings.invalid == "fail" else "valid",
        unattempted=settings.unattempted,
        exclude=frozenset(Status(status) for status in settings.exclude_statuses),
    )
    return rules.resolved(declared)


def part(
    records: Records,
    declared: Declaration,
    rules: AggregationRules,
    task_rows: Mapping[str, int] | None = None,
    *,
    whole: str | None = None,
    bounds: Bounds | None = None,
) -> Part:
    """The numbers of the given rows. `task_rows` has the number of rows of tasks cut short.

    `whole` is as in `parsers.aggregation.aggregate`. Without `bounds`, floor and ceiling are left
    out.

    Repeats of a unit are pooled for its measures, where a parent stays one cluster; measures of
    parents are the mean over repeats.
    """
    repeated = aggregate_repeats(
        ((record.repeat, record.scored()) for record in records),
        declared,
        rules,
        lengths=task_rows,
        whole=whole,
    )
    metrics = repeated.metrics
    floor = oracle = None
    if bounds is not None:
        floor = _measured(bounds.floor(records, declared, metrics.rules), metrics)
        oracle = _measured(bounds.ceiling(records, declared, metrics.rules), metrics)
    known = [one.name for one in declared.of_units if one.name not in metrics.left_open]
    main = declared.main.name if declared.main.name in known else next(iter(known), "")
    return Part(
        metrics=metrics,
        floor=floor,
        oracle=oracle,
        ceiling=oracle.get(main) if oracle else None,
        repeats=len({record.repeat for record in records}) or 1,
        repeat_sd=repeated.spread,
        over_repeats=repeated.over,
        prompt_tokens=_prompt_tokens(records),
    )


def _measured(bound: Bound, metrics: Metrics) -> Bound:
    """A bound without the measures that the predictions leave open."""
    return {name: None if name in metrics.left_open else value for name, value in bound.items()}


def parts(
    records: Records,
    key: str,
    declared: Declaration,
    rules: AggregationRules,
    task_rows: Mapping[str, int] | None = None,
    *,
    bounds: Bounds | None = None,
) -> dict[str, Part]:
    """The numbers of every subgroup, by name."""
    groups: dict[str, list[Unit[Any]]] = {}
    for record in records:
        groups.setdefault(record.scored().group(key), []).append(record)
    whole = declared.group(key).whole
    return {
        name: part(groups[name], declared, rules, task_rows, whole=whole, bounds=bounds)
        for name in sorted(groups)
    }


def _prompt_tokens(records: Records) -> tuple[int, int] | None:
    counts = sorted(r.prompt_tokens for r in records if r.prompt_tokens is not None)
    if not counts:
        return None
    return counts[(len(counts) - 1) // 2], counts[min(len(counts) - 1, len(counts) * 99 // 100)]


def plain(value: Any) -> Any:
    """A record as JSON values, sets and mappings in a fixed order."""
    return msgspec.to_builtins(value, order="deterministic")


def plain_part(part: Part) -> dict[str, Any]:
    """The numbers of some rows as `summary.json` has them."""
    metrics = part.metrics
    declared = metrics.declared
    parents = {measure.key: metrics.parents.get(measure.name) for measure in declared.of_parents}
    return {
        "metrics": {
            "counts": _plain_counts(metrics.counts, declared),
            "valid": _plain_units(metrics.valid, declared),
            "strict": _plain_units(metrics.strict, declared),
            **{key: plain(of_parents) for key, of_parents in parents.items()},
            "rules": plain(metrics.rules),
        },
        "floor": plain(part.floor),
        "oracle": plain(part.oracle),
        "ceiling": part.ceiling,
        "repeats": part.repeats,
        "repeat_sd": part.repeat_sd,
        **({"over_repeats": over} if (over := plain(part.over_repeats)) else {}),
        "prompt_tokens": plain(part.prompt_tokens),
    }


def _plain_counts(counts: Counts, declared: Declaration) -> dict[str, Any]:
    values = plain(counts)
    return {f"n_{declared.innermost.many}": values.pop("n_parents"), **values}


def _plain_units(metrics: UnitMetrics, declared: Declaration) -> dict[str, Any]:
    variants = {
        variant: plain(metrics.rates[f"{one.name}.{variant}"])
        for one in declared.of_units
        for variant in sorted(one.variants)
    }
    return {
        f"n_{declared.innermost.many}": metrics.n_parents,
        f"n_{declared.units}": metrics.n_units,
        **{one.key: plain(metrics.rates[one.name]) for one in declared.of_units},
        **({"variants": variants} if variants else {}),
        **({"quartiles": plain(dict(metrics.quartiles))} if metrics.quartiles else {}),
        **({"partial": plain(metrics.partial)} if metrics.partial else {}),
    }


def plain_parts(parts: Mapping[str, Part]) -> dict[str, Any]:
    """The numbers of subgroups as `summary.json` has them."""
    return {name: plain_part(part) for name, part in parts.items()}


def summarise(
    records: Records,
    settings: Settings,
    task_rows: Mapping[str, int],
    manifest: Manifest,
    bounds: Bounds | None = None,
) -> dict[str, Any]:
    """`summary.json`: all metrics by group, counts, tokens and cost, computed from the lines.

    `bounds` are worked out here if they are not known yet.
    """
    declared = manifest.declaration
    rules = aggregation_rules(settings, declared)
    kind = unit_kind(declared.kind).extras
    bounds = bounds or kind.bounds(records, settings)
    usage, cost = tokens_and_cost(records)
    by_group = {
        f"by_{group.name}": plain_parts(
            parts(records, group.name, declared, rules, task_rows, bounds=bounds)
        )
        for group in declared.groups
    }
    return {
        "note": note_of(settings.benchmark),
        "run": manifest.name,
        "model": manifest.model,
        "answered_by": sorted(manifest.answered_by),
        "pictures": manifest.pictures,
        "oracle_pictures": show_answers(manifest.pictures),
        **({"redone": plain(manifest.redone)} if manifest.redone else {}),
        "scoring": {
            name: plain(value)
            for name, setting in SETTINGS.items()
            if setting.about == "scoring"
            and ((value := getattr(settings, name)) or setting.recorded == "always")
        },
        "total": plain_part(part(records, declared, rules, task_rows, bounds=bounds)),
        **by_group,
        "rows": {
            "all": len(records),
            "asked": sum(record.asked for record in records),
            **kind.rows(records),
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

    def part(self, *, whole: bool = False) -> Part | None:
        """The results of nearly all records, or of all (`whole`); None as long as there is none.

        The same object as before where they were not worked out again.
        """
        count = len(self.records)
        grown = count >= max(1, self._counted * GROWTH, self._counted + 1)
        if grown or (whole and count > self._counted):
            self._part = self.part_of(self.records)
            self._counted = count
        return self._part

    def part_of(self, records: Records) -> Part:
        """The results of some records."""
        declared = benchmark(self.settings.benchmark).declared
        return part(records, declared, aggregation_rules(self.settings, declared))
