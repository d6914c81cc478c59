"""Scores of units as their benchmark computes and declares them; what chance and the oracle get."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from harness.benchmarks import declared
from harness.benchmarks.contract import Benchmark, Scorer
from harness.benchmarks.opening import as_oracle, open_with
from harness.errors import ScoringError, UserError, raised, suggestion
from harness.runs import Unit
from harness.settings import Settings
from parsers import Bounds, Measure
from parsers.declaration import SPREAD, Declaration
from parsers.records import SCORING_ERROR, Prediction, Scores

log = logging.getLogger(__name__)


def on_record(settings: Settings, declaration: Declaration) -> Benchmark:
    """Return the benchmark of a run on record, also where its package is not installed.

    It declares what the run's does (`declaration`): by now it may declare more.
    """
    if (found := declared(settings.benchmark)) is None:
        from harness.benchmarks.uninstalled import uninstalled

        return uninstalled(settings.benchmark, declaration).of_run(settings)
    found = found.with_options(settings.benchmark_option).of_run(settings)
    return replace(found, declared=declaration)


def scorer_of(source: Benchmark, declaration: Declaration) -> Scorer:
    """Open the scorer of the units of a run by its benchmark; see `Benchmark.score`.

    Raises `DataError` where the package that has the benchmark is missing; the scorer raises
    `UserError` for scores that are not as declared, and `ScoringError` where it fails.
    """
    source.check_installed()
    names = declaration.scores

    @cache
    def measures() -> dict[str, Measure]:
        return {one.name: one for one in source.declared.measures if not (one.all_of or one.rule)}

    def score(prediction: Prediction, detail: Any) -> Scores:
        scores = {**of_one(prediction, detail)}
        for measure in declaration.measures:
            if measure.rule:
                read = prediction.by_rule.get(measure.rule)
                found = scores if read is None else of_one(read, detail)
                scores[measure.name] = found.get(measure.plain)
        # The measures are those of the run's manifest: its benchmark may declare more by now.
        return {name: scores.get(name) for name in names}

    def of_one(prediction: Prediction, detail: Any) -> Scores:
        try:
            scores = source.score(prediction, detail)
        except (UserError, MemoryError):
            raise
        except Exception as error:
            raise ScoringError(f"the scorer of {source.name} raised {raised(error)}") from error
        if problem := _problem(scores, measures()):
            raise UserError(f"{source.name} {problem}")
        if unscored := [name for name in measures() if name not in scores]:
            raise UserError(f"{source.name} declares {unscored[0]} and does not score it")
        return scores

    return score


def scored(record: Unit[Any], score: Scorer) -> Unit[Any]:
    """Return a unit with the scores of its prediction, or without any if it has none.

    A unit whose scorer raises is settled as `SCORING_ERROR`; scored again, it may count.
    """
    prediction = record.prediction
    if prediction is None:
        return replace(record, scores=None)
    if record.invalid == SCORING_ERROR:
        record = replace(record, invalid=None, error=None)
    try:
        return replace(record, scores=score(prediction, record.detail))
    except ScoringError as error:
        log.debug("%s %s", record.kind, record.unit_id, exc_info=error)
        return replace(record, scores=None, invalid=SCORING_ERROR, error=str(error))


def _problem(scores: Scores, measures: Mapping[str, Measure]) -> str:
    """Describe what is wrong with the scores of a unit; "" if nothing is.

    measures: by name.
    """
    for name, value in scores.items():
        measure = measures.get(name)
        if measure is None:
            return f"scores {name}, which it does not declare: {suggestion(name, measures)}"
        if value is None:
            continue
        if not math.isfinite(value):
            return f"scores {name} with {value}, which is not finite"
        if measure.averages not in ((), SPREAD) and not 0 <= value <= 1:
            return f"scores {name} with {value}: what is averaged lies between 0 and 1"
        if not measure.averages and value not in (0, 1):
            return f"scores {name} with {value}: what has no averages is 0 or 1"
    return ""


Records = Sequence[Unit[Any]]


def bounds_of(source: Benchmark, records: Records, settings: Settings) -> Bounds | None:
    """What chance, in expectation, and the oracle get of every unit, the same in each repeat.

    Both are of the same scores. None for a benchmark that says nothing of chance.
    """
    distinct = {_key(record, settings): record for record in reversed(records)}
    chance = dict(zip(distinct, source.chance(list(distinct.values())), strict=False))
    if not chance:
        return None
    names = {name for scores in chance.values() for name in scores}
    ceiling = _ceiling(source, distinct, settings, names)

    def repeated(known: Mapping[BoundKey, Scores]) -> dict[tuple[int, str, str], Scores]:
        keyed = ((record, _key(record, settings)) for record in records)
        return {
            (record.repeat, record.split, record.unit_id): known[key]
            for record, key in keyed
            if key in known
        }

    return Bounds(repeated(chance), None if ceiling is None else repeated(ceiling))


BoundKey = tuple[int, str, str]


def _key(record: Unit[Any], settings: Settings) -> BoundKey:
    """Shuffle, split and id of a unit, which has one chance and one right answer."""
    shuffle = record.repeat if settings.shuffles > 1 else 0
    return shuffle, record.split, record.unit_id


def _ceiling(
    source: Benchmark,
    distinct: Mapping[BoundKey, Unit[Any]],
    settings: Settings,
    names: Collection[str],
) -> dict[BoundKey, Scores] | None:
    """The scores of the oracle as the protocol reads it; None where it cannot be asked."""
    valid = {key: record for key, record in distinct.items() if record.invalid is None}
    try:
        protocol = open_with(settings, source, texts=False)
    except UserError:
        return None
    found: dict[BoundKey, Scores] = {}
    for key, record in valid.items():
        try:
            ready = source.recall(record)
            ready = replace(ready, view=ready.view.shuffled(key[0]))
            said = ready.known or as_oracle(protocol, ready, source.declared.actions)
            scores = source.score(said, record.detail)
        except Exception:
            # A protocol of a plugin may need more than the record; a table is still printed.
            return None
        found[key] = {name: value for name, value in scores.items() if name in names}
    return found
