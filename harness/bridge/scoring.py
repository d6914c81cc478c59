"""The scorer of our tasks in inspect_ai, and metrics with the intervals of a run.

The solver puts the record of a unit, with the prediction, into the sample's store. The scorer
applies the benchmark's rules to it; `inspect score` can apply other rules later. Metrics see every
epoch, and use the aggregation of runs. They return NaN if that has no value: inspect also calls
them for the samples so far, and ends the whole evaluation if one raises.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    metric,
    scorer,
)
from inspect_ai.solver import TaskState

from adapters.inspect import score_reason
from harness.benchmarks import benchmark
from harness.benchmarks.scoring import scored, scorer_of
from harness.runs import Unit
from harness.runs.lines import line_decoder, to_line
from harness.runs.run import detail_type
from harness.session.summary import aggregation_rules, plain
from harness.settings import SETTINGS, Settings, field_of, read_settings
from parsers import Declaration, Measure, results
from parsers.declaration import Average
from parsers.rates import Interval
from parsers.records import ScoredUnit, Status

RECORD = "vlm_eval"
"""Key of a unit's record in the store of its sample."""
_log = logging.getLogger(__name__)


def stored(record: Unit[Any]) -> Any:
    """Convert the record of a unit to JSON values."""
    return msgspec.to_builtins(to_line(record))


def restored(value: Any, of: str) -> Unit[Any]:
    """Read the record of a unit of a benchmark from JSON values.

    Raises `msgspec.ValidationError`.
    """
    source = benchmark(of)
    detail = detail_type(source, source.kind)
    read: Unit[Any] = line_decoder(Unit, detail)(msgspec.json.encode(value))
    return read


def scoring_settings(settings: Settings) -> dict[str, Any]:
    """Collect the settings of scoring and averaging that differ from the defaults."""
    return {
        name: plain(value)
        for name, setting in SETTINGS.items()
        if setting.about == "scoring" and (value := getattr(settings, name)) != setting.default
    }


def measures_of(declared: Declaration) -> dict[str, list[Metric]]:
    """List the metrics of each measure of units, with those of parents under their source."""
    averages: dict[Average, Callable[..., Metric]] = {
        "macro": macro,
        "micro": micro,
        "cells": cells,
    }
    found: dict[str, list[Metric]] = {
        one.name: [averages[average](measure=one.name) for average in one.averages]
        for one in _shown(declared)
    }
    for one in declared.of_parents:
        if one.all_of in found:
            found[one.all_of].append(whole(measure=one.name))
    return found


def _metric(measure: str, average: Average | None) -> Metric:
    # inspect reads a metric's input from the annotation.
    def compute(scores: list[SampleScore]) -> Value:
        return _estimates(scores, measure, average)

    return compute


@metric(scores="unreduced")
def macro(measure: str = "") -> Metric:
    """Return the mean over tasks of each task's mean, with its interval.

    `measure`: the measure to average; without it, scores of any measure.
    """
    return _metric(measure, "macro")


@metric(scores="unreduced")
def micro(measure: str = "") -> Metric:
    """Return the mean over steps, with an interval clustered by task; `measure` as in `macro`."""
    return _metric(measure, "micro")


@metric(scores="unreduced")
def cells(measure: str = "") -> Metric:
    """Return the mean over cells of each cell's mean, with its interval, as `macro` does."""
    return _metric(measure, "cells")


@metric(scores="unreduced")
def whole(measure: str = "") -> Metric:
    """Return the share of parents (tasks) whose units all succeed; NaN while one is incomplete."""
    return _metric(measure, None)


@scorer(metrics={"*": [macro(), micro()]})
def scores(benchmark: str = "", **rules: Any) -> Scorer:
    """Score the predictions that a protocol has read from the replies.

    Args:
        benchmark: the benchmark of the measures; default: that of the samples.
        rules: settings of scoring (`f1`, `step_rule`, ...) that differ from the defaults.

    Raises `PrerequisiteError` for an unknown setting or value.
    """
    try:
        _settings(benchmark, rules)
    except ValueError as error:
        raise PrerequisiteError(f"-S {error}") from error
    for name in rules:
        field = field_of(name)
        if field is None or SETTINGS[field].about != "scoring":
            raise PrerequisiteError(f"-S {name}: not a setting of scoring")

    async def score(state: TaskState, target: Target) -> Score:
        of = benchmark or str(state.metadata.get("benchmark", ""))
        settings = _settings(of, rules)
        declared = _declared(of)
        facts: dict[str, Any] = {"repeat": state.epoch - 1, "scoring": dict(rules)}
        names = _headline(declared, settings)
        if state.store.get(RECORD) is None:
            return Score(value=dict.fromkeys(names), metadata={**facts, "unsettled": True})
        record = scored(restored(state.store.get(RECORD), of), scorer_of(settings, declared))
        prediction, by_name = record.prediction, record.scores or {}
        right = _words(record)
        return Score(
            value={name: by_name.get(key) for name, key in names.items()},
            answer=str(prediction.action or prediction.status) if prediction else None,
            explanation=record.error
            or (f"not asked: {record.invalid}" if record.invalid else f"right: {right}"),
            reason=_reason(record),
            metadata={
                **facts,
                "status": str(prediction.status) if prediction else None,
                "flags": list(prediction.flags) if prediction else [],
                "invalid": record.invalid,
                "all": dict(by_name),
            },
        )

    return score


def _words(record: Unit[Any]) -> str:
    return benchmark(record.benchmark).words(record)


def _reason(record: Unit[Any]) -> str | None:
    """Return inspect's word for the end of an abnormal answer, else ours."""
    return score_reason(str(record.prediction.status)) if record.prediction else None


def _settings(benchmark: str, rules: Mapping[str, Any]) -> Settings:
    return read_settings({"benchmark": benchmark, **rules})


def _declared(name: str) -> Declaration:
    return benchmark(name).declared


def _headline(declared: Declaration, settings: Settings) -> dict[str, str]:
    """Map the name of each measure of units to its main score."""
    variant = aggregation_rules(settings, declared).variant
    return {one.name: one.score(variant) for one in _shown(declared)}


def _shown(declared: Declaration) -> list[Measure]:
    """List the measures of units that tables of results show."""
    return [one for one in declared.of_units if one.averages and one.in_tables]


def _estimates(scores: list[SampleScore], measure: str, average: Average | None) -> Value:
    """Return a measure's value and interval over all samples, and by split if there are several."""
    try:
        trials = [(_number(one, "repeat"), one) for one in scores]
        units = [(repeat, _unit(one)) for repeat, one in trials]
        splits = sorted({unit.split for _, unit in units})
        found = dict(_named("", _ends(scores, units, measure, average)))
        if len(splits) > 1:
            for split in splits:
                part = [(repeat, unit) for repeat, unit in units if unit.split == split]
                found |= _named(split, _ends(scores, part, measure, average))
        return found
    except Exception as error:
        _log.warning("%s of %s: %s", average or "whole", measure or "a score", error)
        return dict(_named("", (None, None)))


def _named(split: str, ends: tuple[float | None, Interval | None]) -> Iterable[tuple[str, float]]:
    value, interval = ends
    before = f"{split}_" if split else ""
    yield split or "value", math.nan if value is None else value
    yield f"{before}low", math.nan if interval is None else interval.low
    yield f"{before}high", math.nan if interval is None else interval.high


def _ends(
    scores: list[SampleScore],
    units: list[tuple[int, ScoredUnit]],
    measure: str,
    average: Average | None,
) -> tuple[float | None, Interval | None]:
    if not scores:
        return None, None
    metadata = scores[0].sample_metadata or {}
    known = _declared(str(metadata.get("benchmark", "")))
    declared = _alone(known, measure, average)
    rules = aggregation_rules(
        _settings(str(metadata.get("benchmark", "")), _facts(scores[0]).get("scoring", {})),
        declared,
    )
    level = declared.innermost.name
    lengths = {
        unit.parents[level]: int(rows)
        for (_, unit), rows in zip(units, _rows(scores, units), strict=False)
        if level in unit.parents and rows
    }
    found = results(units, declared, rules, lengths=lengths)
    row = found.row(measure) if average is None else found.row(VALUE, average)
    return (row.number, row.interval) if row else (None, None)


def _rows(scores: list[SampleScore], units: list[tuple[int, ScoredUnit]]) -> list[int]:
    rows = {str(one.sample_id): (one.sample_metadata or {}).get("rows", 0) for one in scores}
    return [rows.get(unit.unit_id, 0) for _, unit in units]


VALUE = "measured"
"""Name of a score that is averaged alone."""


def _alone(declared: Declaration, measure: str, average: Average | None) -> Declaration:
    """Build a declaration of one measure, with the score `VALUE`, and of its parents' measure."""
    named = declared[measure] if measure else Measure(VALUE)
    of_units = declared[named.all_of] if named.all_of else named
    only = replace(
        of_units,
        name=VALUE,
        main=True,
        averages=(average,) if average else ("micro",),
        variants=(),
        setting="",
        needs=(),
        column=VALUE,
        result=VALUE,
        key=VALUE,
        cells=of_units.cells if average == "cells" else (),
    )
    parents = (replace(named, all_of=VALUE, needs=()),) if named.all_of else ()
    return replace(declared, measures=(only, *parents))


def _unit(one: SampleScore) -> ScoredUnit:
    """Convert a sample's score to a row for the aggregation."""
    metadata, facts, value = one.sample_metadata or {}, _facts(one), one.score.value
    status = facts.get("status")
    known = _declared(str(metadata.get("benchmark", "")))
    settled = not facts.get("unsettled")
    number = value if isinstance(value, int | float) and not math.isnan(value) else None
    return ScoredUnit(
        unit_id=str(one.sample_id),
        split=str(metadata.get("split", "")),
        parents={
            level.name: str(metadata[level.name])
            for level in known.levels
            if level.name in metadata
        },
        labels=metadata.get("labels", {}),
        invalid=facts.get("invalid"),
        scores={VALUE: number} if settled and status is not None else None,
        status=Status(status) if status is not None else None,
        flags=tuple(facts.get("flags", ())),
    )


def _facts(one: SampleScore) -> Mapping[str, Any]:
    return one.score.metadata or {}


def _number(one: SampleScore, name: str) -> int:
    return int(_facts(one).get(name, 0))
