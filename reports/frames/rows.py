"""The frame of a run as input of `parsers.averages`: every number of a report passes here."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Literal, get_args

import pandas as pd

from harness.runs import Manifest, Run, RunError
from harness.runs.columns import id_column, level_column, total_column
from harness.settings import written
from harness.tables.results import POOLED
from parsers import AggregationRules, Declaration, Measure, Results, Status, results
from parsers.counting import Observed, Trial, observed
from reports.comparability import row_of
from reports.frames.steps import frame_of
from reports.load import RunLike, open_runs

InvalidRule = Literal["exclude", "fail"]
VARIANT, RULE = "f1", "step_rule"
"""The setting that chooses the variant of a measure, and the one under whose usual value alone it
decides the measures that need it."""
INVALID_RULES: tuple[InvalidRule, ...] = get_args(InvalidRule)


@dataclass(frozen=True)
class RunRows:
    """A run's rows, ready to be aggregated in any grouping.

    Attributes:
        label: the run's label in the report.
        run: the run.
        frame: its frame of steps.
        trials: the same rows for `parsers.averages`, in the same order.
        rules: how rows are aggregated.
        lengths: number of rows of parents that the data or the selection cut short, by id.
        unreached: selected rows not on record yet; while there are any, measures of parents are
            withheld.
        variant: what the setting `f1` chose, for the run or this report; "" where no measure has
            this variant.
    """

    label: str
    run: Run
    frame: pd.DataFrame
    trials: tuple[Trial, ...]
    rules: AggregationRules
    lengths: dict[str, int]
    unreached: int
    variant: str = ""

    @property
    def declared(self) -> Declaration:
        """Return the declaration of the run's benchmark."""
        return self.run.manifest.declaration

    @cached_property
    def seen(self) -> Observed:
        """Return what the scores of all rows show of the measures."""
        return observed((unit for _, unit in self.trials), self.declared)

    @cached_property
    def total(self) -> Results:
        """Return the numbers of all rows."""
        return self.results()

    def splits(self) -> Iterator[tuple[str, list[int]]]:
        """Yield each split with the places of its rows; all of several splits pooled come last."""
        places: dict[str, list[int]] = {}
        for place, (_, unit) in enumerate(self.trials):
            places.setdefault(unit.split, []).append(place)
        yield from sorted(places.items())
        if len(places) > 1:
            yield POOLED, [*range(len(self.trials))]

    def results(self, places: Iterable[int] | None = None, *, whole: str | None = None) -> Results:
        """Return the numbers of the rows at these positions of the frame, or of all rows.

        `whole` is as in `parsers.averages.results`.
        """
        chosen = self.trials if places is None else [self.trials[place] for place in places]
        found = results(
            chosen, self.declared, self.rules, lengths=self.lengths, whole=whole, seen=self.seen
        )
        return found.withheld() if self.unreached else found


def run_rows(
    runs: RunLike | Iterable[RunLike],
    *,
    f1: str | None = None,
    invalid: InvalidRule | None = None,
    cluster: str = "",
) -> list[RunRows]:
    """Return the rows of every run under its own scoring rules, or under `f1` and `invalid`.

    `f1` is a variant of a measure (`Declaration.variants`). `cluster` is the level of parents that
    intervals take as independent, "" for each benchmark's own. Raises `RunError` for runs that
    cannot be read or cannot be scored under these rules.
    """
    opened = open_runs(runs).items()
    return [_rows(label, run, f1, invalid, cluster) for label, run in opened]


def common_rows(runs: Sequence[RunRows]) -> list[RunRows]:
    """Return the runs reduced to the rows with an outcome in every repeat of all runs.

    A task of which a row is missing counts as incomplete. Raises `RunError` if no row is shared, as
    between runs of different benchmarks.
    """
    shared = set.intersection(*map(_done, runs))
    if not shared:
        raise RunError(
            f"no {runs[0].declared.unit} has an outcome in all of these runs, so --common "
            "shows nothing"
        )
    lengths: dict[str, int] = {}
    for rows in runs:
        declared = rows.declared
        parents = rows.frame.groupby(level_column(declared.innermost), observed=True)
        known = parents[id_column(declared)].nunique()
        for task, number in (*rows.lengths.items(), *known.items()):
            lengths[str(task)] = max(lengths.get(str(task), 0), int(number))
    reduced = []
    for rows in runs:
        kept = [(unit.split, unit.unit_id) in shared for _, unit in rows.trials]
        trials = tuple(compress(rows.trials, kept))
        frame = rows.frame[kept].reset_index(drop=True)
        reduced.append(replace(rows, frame=frame, trials=trials, lengths=lengths, unreached=0))
    return reduced


def _done(rows: RunRows) -> set[tuple[str, str]]:
    """Return the split and id of the rows that are invalid or settled in every repeat."""
    waiting = {
        (unit.split, unit.unit_id)
        for _, unit in rows.trials
        if unit.invalid is None and unit.scores is None
    }
    return {(unit.split, unit.unit_id) for _, unit in rows.trials} - waiting


def _rows(
    label: str, run: Run, variant: str | None, invalid: InvalidRule | None, cluster: str
) -> RunRows:
    declared = run.manifest.declaration
    rules = _rules(label, run.manifest, invalid, cluster)
    own = _variant(label, run.manifest, None)
    chosen = _variant(label, run.manifest, variant)
    records = run.records()
    frame = frame_of([(label, run, records)])
    trials = tuple((record.repeat, record.scored()) for record in records)
    if chosen != own:
        trials = _in_variant(label, run, trials, chosen)
    unreached = 0 if run.complete else max(0, run.manifest.planned - len(frame))
    partial = run.manifest.dataset.get("partial_tasks")
    known = partial.items() if isinstance(partial, Mapping) else ()
    lengths = {parent: total for parent, total in known if isinstance(total, int)}
    if unreached:
        # The missing rows are unknown, but no parent has more rows than it is said to have.
        parents = frame[level_column(declared.innermost)]
        totals = frame[total_column(declared)]
        for parent, total in zip(parents, totals, strict=True):
            lengths[parent] = max(lengths.get(parent, 0), int(total))
    return RunRows(label, run, frame, trials, rules, lengths, unreached, chosen)


def varied(declared: Declaration, variant: str) -> Measure | None:
    """Return the measure that can be computed in this variant, too."""
    measures = (one for one in declared.measures if variant in declared.variants(one.name))
    return next(measures, None)


def _variant(label: str, manifest: Manifest, wanted: str | None) -> str:
    """Return the variant of a measure that a report wants, or else the run's own; "" for none."""
    declared, usual = manifest.declaration, str(row_of(VARIANT).usual)
    measure = varied(declared, usual)
    if measure is None:
        if wanted:
            raise RunError(f"{label} has no measure with variants: leave out {wanted}")
        return ""
    chosen = str(wanted or manifest.chosen.get(VARIANT) or usual)
    if chosen not in declared.variants(measure.name):
        raise RunError(f"{label} has an unknown variant of {measure.name}: {chosen!r}")
    return chosen


def _in_variant(label: str, run: Run, trials: Sequence[Trial], variant: str) -> tuple[Trial, ...]:
    """Return rows with another variant of a measure, which decides again those that need it.

    Raises `RunError` where it does not decide them, and where a row is without this variant.
    """
    declared, rule = run.manifest.declaration, run.manifest.chosen.get(RULE)
    measure = varied(declared, variant)
    assert measure is not None
    again = [one for one in declared.of_units if measure.name in one.needs]
    if again and rule not in (None, row_of(RULE).usual):
        raise RunError(
            f"{label} was scored with {RULE} {rule}, which depends on the variant: score it again "
            f"with vlm-eval score {shlex.quote(str(run.path))} {written(VARIANT)} {variant}"
        )
    found = []
    for repeat, unit in trials:
        if unit.scores is not None:
            scores = dict(unit.scores)
            scores[measure.name] = scores[f"{measure.name}.{variant}"]
            if scores[measure.name] is None:
                raise RunError(
                    f"{label} holds {declared.units} without {measure.meaning} in the variant "
                    f"{variant}"
                )
            scores |= {one.name: _all_right(one, scores) for one in again}
            # What other rules read was scored in the run's own variant only.
            scores |= dict.fromkeys(one.name for one in declared.measures if one.rule)
            unit = replace(unit, scores=scores)
        found.append((repeat, unit))
    return tuple(found)


def _rules(
    label: str, manifest: Manifest, invalid: InvalidRule | None, cluster: str
) -> AggregationRules:
    declared = manifest.declaration
    rule = invalid or manifest.config.get("invalid") or "exclude"
    if rule not in INVALID_RULES:
        raise RunError(f"{label} has an unknown rule for invalid rows: {rule!r}")
    if cluster and cluster not in declared.clusters:
        raise RunError(
            f"{label} cannot take {cluster!r} as clusters, only {', '.join(declared.clusters)}"
        )
    excluded = manifest.config.get("exclude_status") or ()
    statuses = excluded if isinstance(excluded, list | tuple) else [excluded]
    if not all(one in [status.value for status in Status] for one in statuses):
        raise RunError(f"{label} leaves out an unknown status: {', '.join(map(str, statuses))}")
    rules = AggregationRules(
        invalid="fail" if rule == "fail" else "valid",
        unattempted="fail" if manifest.config.get("unattempted") == "fail" else "exclude",
        exclude=frozenset(Status(status) for status in statuses),
        cluster=cluster,
    )
    return rules.resolved(declared)


def _all_right(measure: Measure, scores: Mapping[str, float | None]) -> float | None:
    needed = [scores[name] for name in measure.needs]
    return None if None in needed else float(all(value == 1 for value in needed))
