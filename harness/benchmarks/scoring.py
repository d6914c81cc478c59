"""Scores of units as their benchmark computes and declares them; bounds and extra counts.

A kind brings an `Extras` (`UnitKind.extras`). Without one, only its measures are reported.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from harness.benchmarks import declared
from harness.benchmarks.recorded import scoring_rules
from harness.errors import DataError, ScoringError, UserError, raised, suggestion
from harness.runs import Unit
from harness.settings import SETTINGS, Settings
from parsers import Bounds, Counts, Measure
from parsers.declaration import Declaration
from parsers.mind2web import MIND2WEB
from parsers.records import SCORING_ERROR, Prediction, Scores, Status
from parsers.scoring import score as step_score

log = logging.getLogger(__name__)

Scorer = Callable[[Prediction, Any], Scores]
"""From a prediction and the detail of a unit to its scores."""


def scorer_of(settings: Settings, declaration: Declaration) -> Scorer:
    """Open the scorer of a run's units by its settings; see `Benchmark.score`.

    Runs of recorded steps are scored without the package that has the benchmark. Raises `DataError`
    for others without theirs, and `UserError` for a variant that they do not have; the scorer
    raises `UserError` for scores that are not as declared, and `ScoringError` where it fails.
    """
    found = declared(settings.benchmark)
    if found is None and declaration != MIND2WEB:
        raise DataError(
            f"scoring needs the package that has the benchmark {settings.benchmark}, which is not "
            "installed"
        )
    if found is not None:
        found = found.with_options(settings.benchmark_options).of_run(settings)
        found.check_installed()
    check_variant(settings, declaration)
    names, rules = declaration.scores, scoring_rules(settings)

    @cache
    def measures() -> dict[str, Measure]:
        listed = found.declared.measures if found else ()
        return {name: measure for measure in listed for name in measure.scores}

    def score(prediction: Prediction, detail: Any) -> Scores:
        if found is None:
            return step_score(prediction, detail.gold, rules)
        try:
            scores = found.score(prediction, detail)
        except (UserError, MemoryError):
            raise
        except Exception as error:
            raise ScoringError(
                f"the scorer of {settings.benchmark} raised {raised(error)}"
            ) from error
        if problem := _problem(scores, measures()):
            raise UserError(f"{settings.benchmark} {problem}")
        if unscored := [name for name in measures() if name not in scores]:
            raise UserError(f"{settings.benchmark} declares {unscored[0]} and does not score it")
        # The measures are those of the run's manifest: its benchmark may declare more by now.
        return {name: scores.get(name) for name in names}

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


def check_variant(settings: Settings, declaration: Declaration) -> None:
    """Raise `UserError` for a variant of a measure that a benchmark does not declare."""
    for measure in declaration.measures:
        if not (measure.variants and measure.setting):
            continue
        chosen = getattr(settings, measure.setting)
        if chosen not in measure.variants:
            raise UserError(
                f"{SETTINGS[measure.setting].written(chosen)} is not a variant of "
                f"{measure.meaning or measure.name} on "
                f"{settings.benchmark}, which has {', '.join(measure.variants)}"
            )


def _problem(scores: Scores, measures: Mapping[str, Measure]) -> str:
    """Describe what is wrong with the scores of a unit; "" if nothing is.

    measures: by the names of their scores.
    """
    for name, value in scores.items():
        measure = measures.get(name)
        if measure is None:
            return f"scores {name}, which it does not declare: {suggestion(name, measures)}"
        if value is None:
            continue
        if not math.isfinite(value):
            return f"scores {name} with {value}, which is not finite"
        if measure.averages and not 0 <= value <= 1:
            return f"scores {name} with {value}: what is averaged lies between 0 and 1"
        if measure.binary and value not in (0, 1):
            return f"scores {name} with {value}: a measure that is not 0 or 1 has binary=False"
    return ""


Records = Sequence[Unit[Any]]

FINE = frozenset({Status.ANSWERED, Status.NONE, Status.NOT_OFFERED})

UnitKey = tuple[str, str]


def key_of(record: Unit[Any]) -> UnitKey:
    """Split and id of a unit, which has one chance and one right answer."""
    return record.split, record.unit_id


def bounds_for(
    records: Records, chance: Mapping[UnitKey, Scores], ceiling: Mapping[UnitKey, Scores] | None
) -> Bounds:
    """What chance, in expectation, and the oracle get of every unit, the same in each repeat.

    ceiling: None if the oracle cannot be asked.
    """

    def repeated(known: Mapping[UnitKey, Scores]) -> dict[tuple[int, str, str], Scores]:
        return {
            (record.repeat, *key): known[key]
            for record in records
            for key in [key_of(record)]
            if key in known
        }

    return Bounds(repeated(chance), None if ceiling is None else repeated(ceiling))


class Extras:
    """What a kind of units tells beside its measures, unless it overrides this: how many units have
    what is 0 or 1 and not averaged."""

    def bounds(self, records: Records, settings: Settings) -> Bounds | None:
        """Chance and ceiling of the units of a run; None for kinds that have none."""
        return None

    def rows(self, records: Records) -> dict[str, int]:
        """Further counts of rows, for `summary.json`."""
        return {measure.name: number for measure, number in _unaveraged(records)}

    def definitions(self, settings: Settings, *, known: bool) -> Iterator[str]:
        """Footnotes of the table that define its measures and bounds; `known` says whether there
        is a ceiling."""
        return iter(())

    def answers(self, records: Records, counts: Counts, top_k: int | None) -> Iterator[str]:
        """Lines on how the settled units ended."""
        yield f"replies without an answer: {unanswered(counts)}"
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
