"""The result of a run for a reader: its table and further counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters import Usage
from harness.kinds.contract import unit_kind
from harness.kinds.scoring import Bounds, Records
from harness.pictures import show_answers
from harness.runs import Manifest, by_role, by_tier, open_run
from harness.runs.on_record import reused_replies
from harness.session.brief import (
    ORACLE_NOTE,
    empty_grid,
    rate_of_parents,
    unsettled,
    values_row,
    warnings_of,
    whole_cells,
)
from harness.session.summary import Part, aggregation_rules, agreement_line, part, parts
from harness.settings import Settings
from harness.tables import Cell, Column, Grid, Row, Section, counted, few_notes, percent
from harness.tables.grid import interval_text
from harness.tables.repeats import repeat_notes, repeat_rows
from harness.tables.results import (
    POOLED,
    coverage_notes,
    finer_clusters,
    heads,
    invalid_label,
    open_notes,
    quartiles_notes,
    rate_cell,
    rates_note,
    result_records,
)
from parsers import Average, Counts, Declaration
from parsers.declaration import SPLIT
from parsers.metrics import EXCLUDED
from parsers.records import LOST

if TYPE_CHECKING:
    pass

Notes = Callable[[Mapping[str, int]], Sequence[str]]
"""Lines of a protocol about its flags and their numbers (`AskingProtocol.notes`)."""


def result_grid(
    records: Records,
    settings: Settings,
    declared: Declaration,
    task_rows: Mapping[str, int],
    *,
    manifest: Manifest | None = None,
    notes: Notes | None = None,
    bounds: Bounds | None = None,
    directory: Path | None = None,
) -> Grid:
    """Metrics by split and overall, with floor and ceiling, and what a reader should know of them.

    `declared` is what the benchmark declares, `task_rows` the number of rows of tasks cut short.
    `manifest` is the run's, None if no model was asked. `notes` are the protocol's. `bounds` are
    worked out here if they are not known yet. `directory` is that of the run, None without one.
    """
    if not records:
        return empty_grid(declared)
    rules = aggregation_rules(settings, declared)
    bounds = bounds or unit_kind(declared.kind).extras.bounds(records, settings)
    by_split = parts(records, SPLIT, declared, rules, task_rows, bounds=bounds)
    total = part(records, declared, rules, task_rows, bounds=bounds)
    finer: dict[str, dict[str, Part]] = {}
    for level in finer_clusters(declared):
        again = replace(rules, cluster=level.name)
        finer[level.many] = parts(records, SPLIT, declared, again, task_rows)
        finer[level.many][POOLED] = part(records, declared, again, task_rows)
    if len(by_split) > 1:
        by_split[POOLED] = total
    sections = (
        Section(tuple(_rows(group, {many: of[name] for many, of in finer.items()})), name)
        for name, group in by_split.items()
    )
    pictures, unrecorded = (manifest.pictures, manifest.unrecorded) if manifest else ("", 0.0)
    return Grid(
        title=open_run(directory).incomplete(records) if directory else "",
        columns=(Column("", "left"), *map(Column, heads(declared))),
        sections=tuple(sections),
        footnotes=(
            *_footnotes(list(by_split.values()), settings, declared),
            *([f"{pictures}: {ORACLE_NOTE}"] if show_answers(pictures) else []),
            *counts(records, total, settings, declared, task_rows, notes, unrecorded),
            *agreement_line(records, settings),
            *(reused_replies(directory) if directory else ()),
            *warnings_of(records, settings, declared, manifest, directory),
        ),
    )


def _rows(group: Part, finer: Mapping[str, Part]) -> Iterator[Row]:
    """The rows of one set of units: all averages, the other rule for invalid rows, the bounds.

    `finer` has the same units with smaller clusters, by the word for them.
    """
    metrics = group.metrics
    declared, level = metrics.declared, metrics.declared.innermost
    records = {record["line"]: record for record in result_records(metrics)}
    headline = next(record for record in records.values() if record["headline"])
    first, *others = _averages(declared)
    times = f" x {group.repeats}" if group.repeats > 1 else ""
    counts = {
        "macro": counted(headline[level.many], level.one, level.many),
        "micro": counted(headline[declared.units] // group.repeats, declared.unit, declared.units)
        + times,
        "cells": " x ".join(next((m.cells for m in declared.in_tables if m.cells), ())),
    }
    yield _rates(f"{first}, {counts[first]}", headline, first, declared, parents=True)
    over, spread = group.over_repeats, group.repeat_sd
    for label, values in repeat_rows(over, spread, group.repeats, declared):
        yield values_row(label, values, declared)
    for average in others:
        yield _rates(f"{average}, {counts[average]}", headline, average, declared)
    for many, same in finer.items():
        lines = (record for record in result_records(same.metrics) if record["headline"])
        yield _rates(f"{first}, {many} as clusters", next(lines), first, declared)
    if records["strict"][declared.units] > headline[declared.units]:
        yield _rates(invalid_label("strict"), records["strict"], first, declared, parents=True)
        for name, rates in metrics.parents.items():
            clean = Cell(
                rate_of_parents(rates.clean.value, rates.clean.complete, rates.clean.total),
                interval_text(rates.clean.interval),
            )
            many = declared.level(declared[name].over).many
            number = rates.clean.total // group.repeats
            yield values_row(f"{number} valid {many}", {name: clean}, declared)
    for label, bound in (("chance", group.floor), ("ceiling", group.oracle)):
        if bound is not None:
            values = {name: percent(value) for name, value in bound.items()}
            yield values_row(label, values, declared)


def _averages(declared: Declaration) -> list[Average]:
    """The averages of the measures in the table, that of the main measure first."""
    measures = sorted(declared.in_tables, key=lambda measure: not measure.main)
    return list(dict.fromkeys(average for measure in measures for average in measure.averages))


def _rates(
    label: str,
    record: Mapping[str, Any],
    average: Average,
    declared: Declaration,
    *,
    parents: bool = False,
) -> Row:
    """A row of a line of results in one average, with the measures of parents or without."""
    values: dict[str, str | Cell] = {}
    for measure in declared.in_tables:
        if average in measure.averages:
            values[measure.name] = rate_cell(record, measure, average, declared)
    if parents:
        values |= whole_cells(record, declared)
    return values_row(label, values, declared)


def _footnotes(shown: Sequence[Part], settings: Settings, declared: Declaration) -> Iterator[str]:
    """Explain the signs in the table and its definitions."""
    first, *_ = _averages(declared)
    records = [record for group in shown for record in result_records(group.metrics)]
    yield rates_note(first, [shown[0].metrics.rules.variant], declared, records)
    ceilings = [group.oracle for group in shown if group.oracle is not None]
    yield from unit_kind(declared.kind).extras.definitions(settings, ceilings)
    left_open = {name for group in shown for name in group.metrics.left_open}
    yield from open_notes(left_open, declared)
    yield from coverage_notes(records, declared)
    yield from quartiles_notes(declared)
    if any(record["few"] for record in records):
        cluster = shown[0].metrics.rules.cluster
        yield from few_notes(rates=True, clusters=declared.level(cluster).many)
    spread = any(group.repeat_sd is not None for group in shown)
    over = {name for group in shown for name in group.over_repeats}
    yield from repeat_notes(over, declared, spread=spread)


def counts(
    records: Records,
    total: Part,
    settings: Settings,
    declared: Declaration,
    task_rows: Mapping[str, int],
    notes: Notes | None,
    unrecorded: float,
) -> list[str]:
    """Validity, failures settled and unsettled, properties of the questions, tokens and cost."""
    totals, kind = total.metrics.counts, unit_kind(declared.kind).extras
    lines = [_rows_line(totals, total.repeats)]
    if short := _parents_with_missing_rows(records, declared, task_rows):
        measured = ", ".join(measure.meaning for measure in declared.of_parents)
        lines.append(
            f"{declared.innermost.many}: {short} of {totals.n_parents} have more recorded actions "
            f"than rows; {measured} counts the rows only"
        )
    lines += kind.answers(records, totals, settings.top_k)
    lines += notes(totals.flags) if notes is not None else ()
    lines += kind.places(records)
    if totals.n_unsettled:
        lines.append(f"without an answer so far: {unsettled(records, totals)}")
    asked = [record for record in records if record.asked]
    lines += kind.questions(asked)
    if total.prompt_tokens:
        median, most = total.prompt_tokens
        lines.append(f"prompt tokens (estimated): median {median:,}, 99th percentile {most:,}")
    usage = sum((r.usage for r in records if r.usage is not None), Usage())
    if usage.input:
        cached = f" ({usage.cached:,} from a prompt cache)" if usage.cached else ""
        lines.append(f"tokens of all replies: {usage.input:,} in{cached}, {usage.output:,} out")
    costs = [record.cost for record in records if record.cost is not None]
    if any(costs) or unrecorded:
        unpriced = sum(record.settled and record.cost is None for record in asked)
        without = counted(unpriced, declared.unit, declared.units)
        but = f" (without {without} of unknown cost)" if unpriced else ""
        upto = f", at most ${unrecorded:.4f} of it for calls without a record" if unrecorded else ""
        lines.append(f"cost: ${sum(costs) + unrecorded:.4f} billed in this run{but}{upto}")
    if roles := by_role(records):
        told = (f"{role or 'model under test'}: {spent}" for role, spent in roles.items())
        lines.append(f"by role: {'; '.join(told)}")
    tiers = by_tier(records)
    if tiers and (settings.tier or tiers.keys() != {"default"}):
        lines.append(f"served: {', '.join(f'{n:,} on {tier}' for tier, n in tiers.items())}")
    return lines


def _rows_line(totals: Counts, repeats: int) -> str:
    """Count the rows that count, and the others by reason; each row once, repeats included."""
    excluded = sum(totals.excluded.values())
    valid = (totals.n_valid + excluded) // repeats
    line = f"rows: {valid} valid, {(totals.n_invalid - excluded) // repeats} invalid"
    reasons = {
        reason: f"{n // repeats} {reason}"
        for reason, n in totals.invalid.items()
        if not reason.startswith(EXCLUDED)
    }
    failed = [reasons.pop(one) for one in sorted(LOST & reasons.keys())]
    why = [f"{', '.join(reasons.values())}; not asked"] if reasons else []
    if told := "; ".join([*why, *failed]):
        line += f" ({told})"
    if excluded:
        by_status = ", ".join(f"{n} {status}" for status, n in totals.excluded.items())
        line += f"; left out by status: {by_status}"
    return line


def _parents_with_missing_rows(
    records: Records, declared: Declaration, task_rows: Mapping[str, int]
) -> int:
    rows: dict[str, set[str]] = {}
    actions: dict[str, int] = {}
    for record in records:
        parent = record.parents.get(declared.innermost.name, "")
        rows.setdefault(parent, set()).add(record.unit_id)
        actions[parent] = max(actions.get(parent, 0), record.total)
    # Counts of the data, where known: an interrupted run has not seen every row.
    return sum(task_rows.get(parent, len(rows[parent])) < actions[parent] for parent in rows)
