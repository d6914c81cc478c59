"""The result of a run: table and counts for a reader, JSON for other programs (`--json`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.benchmarks import Benchmark
from harness.benchmarks.scoring import Records
from harness.pictures import show_answers
from harness.runs import Manifest, Run, open_run
from harness.runs.on_record import by_role, by_tier, reused_replies
from harness.runs.scores import scores_of
from harness.session.brief import (
    ORACLE_NOTE,
    empty_grid,
    unsettled,
    values_row,
    warnings_of,
)
from harness.session.summary import (
    Found,
    agreement_line,
    prompt_tokens_of,
    tokens_and_cost,
    trials_of,
)
from harness.settings import Settings
from harness.tables import Grid, Heading, Row, Section, counted, few_notes, percent
from harness.tables.results import (
    POOLED,
    cell_of,
    coverage_notes,
    finer_clusters,
    has_few,
    invalid_label,
    open_notes,
    quartiles_notes,
    rates_note,
    repeat_notes,
    repeat_rows,
)
from parsers import Average, Counts, Declaration, Results, results
from parsers.counting import EXCLUDED, Rule
from parsers.declaration import SPLIT
from parsers.estimates import SHARE
from parsers.records import LOST

if TYPE_CHECKING:
    from harness.planning.estimate import CostEstimate
    from harness.planning.plan import Plan

Notes = Callable[[Mapping[str, int]], Sequence[str]]
"""Lines of a protocol about its flags and their numbers (`AskingProtocol.notes`)."""


def result_grid(
    records: Records,
    settings: Settings,
    source: Benchmark,
    found: Found,
    task_rows: Mapping[str, int],
    *,
    manifest: Manifest | None = None,
    notes: Notes | None = None,
    directory: Path | None = None,
) -> Grid:
    """Numbers by split and overall, with chance and ceiling, and what a reader should know of them.

    `found` are the numbers, `task_rows` has the number of rows of tasks cut short. `manifest` is
    the run's, None if no model was asked. `notes` are the protocol's. `directory` is that of the
    run, None without one.
    """
    declared = source.declared
    if not records:
        return empty_grid(declared)
    total = found["", ""]
    shown = {value: part for (group, value), part in found.items() if group == SPLIT}
    if len(shown) > 1:
        shown[POOLED] = total
    finer: dict[str, dict[str, Results]] = {name: {} for name in shown}
    trials = trials_of(records)
    for level in finer_clusters(declared):
        again = replace(total.rules, cluster=level.name)
        for name in shown:
            same = [one for one in trials if name in (POOLED, one[1].split)]
            finer[name][level.many] = results(same, declared, again)
    pictures, unrecorded = (manifest.pictures, manifest.unrecorded) if manifest else ("", 0.0)
    return Grid(
        title=open_run(directory).incomplete(records) if directory else "",
        columns=(Heading("", "left"), *(Heading(one.head) for one in declared.shown)),
        sections=tuple(
            Section(tuple(_rows(part, finer[name])), name) for name, part in shown.items()
        ),
        footnotes=(
            *_footnotes(list(shown.values()), source),
            *([f"{pictures}: {ORACLE_NOTE}"] if show_answers(pictures) else []),
            *counts(records, total, settings, source, task_rows, notes, unrecorded),
            *agreement_line(records, settings),
            *(reused_replies(directory) if directory else ()),
            *warnings_of(records, settings, source, manifest, directory),
        ),
    )


def _rows(part: Results, finer: Mapping[str, Results]) -> Iterator[Row]:
    """The rows of one set of units: all averages, the other rule for invalid rows, the bounds.

    `finer` has the same units with smaller clusters, by the word for them.
    """
    declared, level = part.declared, part.declared.innermost
    parents, units = part.counts.behind[part.rules.headline]
    first, *others = _averages(declared)
    times = f" x {part.repeats}" if part.repeats > 1 else ""
    counts = {
        "macro": counted(parents, level.one, level.many),
        "micro": counted(units // part.repeats, declared.unit, declared.units) + times,
        "cells": " x ".join(next((m.cells for m in declared.in_tables if m.cells), ())),
    }
    whole = (*declared.of_parents, *(one for one in declared.spread if one.head))

    def rates(label: str, average: Average, of: Results = part, rule: Rule | None = None) -> Row:
        values = {
            one.name: cell_of(of.row(one.name, average, rule), of)
            for one in declared.in_tables
            if average in one.averages
        }
        if of is part and average == first:
            values |= {one.name: cell_of(part.row(one.name, "", rule), part) for one in whole}
        return values_row(label, values, declared)

    yield rates(f"{first}, {counts[first]}", first)
    for label, values in repeat_rows(part):
        yield values_row(label, values, declared)
    for average in others:
        yield rates(f"{average}, {counts[average]}", average)
    for many, same in finer.items():
        yield rates(f"{first}, {many} as clusters", first, same)
    if part.counts.behind["strict"][1] > units:
        yield rates(invalid_label("strict"), first, rule="strict")
        for one in declared.of_parents:
            if row := part.row(one.name, "", "clean"):
                many = declared.level(one.over).many
                label = f"{row.n // part.repeats} valid {many}"
                yield values_row(label, {one.name: cell_of(row, part)}, declared)
    found = ((one.name, part.row(one.name)) for one in declared.in_tables)
    bounds = {
        name: {"chance": row.chance, "ceiling": row.ceiling}
        for name, row in found
        if row is not None and (name in part.left_open or not (row.chance is row.ceiling is None))
    }
    for label in ("chance", "ceiling") if bounds.keys() - part.left_open else ():
        shown = {name: percent(bound[label]) for name, bound in bounds.items()}
        yield values_row(label, shown, declared)


def _averages(declared: Declaration) -> list[Average]:
    """The averages of the measures in the table, that of the main measure first."""
    measures = sorted(declared.in_tables, key=lambda measure: not measure.main)
    return list(dict.fromkeys(average for measure in measures for average in measure.averages))


def _footnotes(shown: Sequence[Results], source: Benchmark) -> Iterator[str]:
    """Explain the signs in the table and its definitions."""
    declared = source.declared
    first, *_ = _averages(declared)
    yield rates_note(first, declared, shown)
    known = any(row.ceiling is not None for part in shown for row in part.rows)
    yield from source.footnotes(known=known)
    left_open = {name for part in shown for name in part.left_open}
    yield from open_notes(left_open, declared)
    yield from coverage_notes(shown, declared)
    yield from quartiles_notes(declared)
    if has_few(shown):
        many = declared.level(shown[0].rules.cluster).many
        yield from few_notes(rates=True, clusters=many)
    over = {name for part in shown for name in part.over_repeats(SHARE)}
    yield from repeat_notes(over, declared, spread=any(part.spread is not None for part in shown))


def counts(
    records: Records,
    total: Results,
    settings: Settings,
    source: Benchmark,
    task_rows: Mapping[str, int],
    notes: Notes | None,
    unrecorded: float,
) -> list[str]:
    """Validity, failures settled and unsettled, properties of the questions, tokens and cost."""
    totals, declared = total.counts, source.declared
    lines = [_rows_line(totals, total.repeats)]
    if short := _parents_with_missing_rows(records, declared, task_rows):
        measured = ", ".join(measure.meaning for measure in declared.of_parents)
        lines.append(
            f"{declared.innermost.many}: {short} of {totals.n_parents} have more recorded actions "
            f"than rows; {measured} counts the rows only"
        )
    lines += source.notes(records, totals)
    lines += notes(totals.flags) if notes is not None else ()
    if totals.n_unsettled:
        lines.append(f"without an answer so far: {unsettled(records, totals)}")
    asked = [record for record in records if record.asked]
    if tokens := prompt_tokens_of(records):
        median, most = tokens
        lines.append(f"prompt tokens (estimated): median {median:,}, 99th percentile {most:,}")
    usage, cost = tokens_and_cost(records)
    if usage.input:
        cached = f" ({usage.cached:,} from a prompt cache)" if usage.cached else ""
        lines.append(f"tokens of all replies: {usage.input:,} in{cached}, {usage.output:,} out")
    if cost or unrecorded:
        unpriced = sum(record.settled and record.cost is None for record in asked)
        without = counted(unpriced, declared.unit, declared.units)
        but = f" (without {without} of unknown cost)" if unpriced else ""
        upto = f", at most ${unrecorded:.4f} of it for calls without a record" if unrecorded else ""
        lines.append(f"cost: ${(cost or 0) + unrecorded:.4f} billed in this run{but}{upto}")
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


def result_json(run: Run, *, full: bool, summary: Mapping[str, Any] | None = None) -> str:
    """Write the headline scores of a run, or with `full` its whole summary.

    `summary` replaces that of the run, as where it was scored again. Raises `RunError`.
    """
    found = run.summary if summary is None else {"complete": run.complete, **summary}
    manifest = run.manifest
    about = {
        "directory": str(run.path),
        "complete": run.complete,
        "model": manifest.model_name,
        "benchmark": manifest.config.get("benchmark"),
        "splits": manifest.dataset.get("splits"),
        "protocol": manifest.config.get("protocol"),
    }
    if full:
        return json.dumps({"directory": str(run.path), **found}, indent=2)
    return scores_json(about, found, manifest.declaration)


def scores_json(about: Mapping[str, Any], summary: Mapping[str, Any], declared: Declaration) -> str:
    """Write the headline scores of a summary, behind what it is `about`, a value per line."""
    counts = summary["counts"][0]
    scores = {
        name: {
            "value": score.value,
            "low": score.interval.low if score.interval else None,
            "high": score.interval.high if score.interval else None,
            "n": score.n,
            "over": score.over,
        }
        for name, score in scores_of(summary, declared, "scores").items()
    }
    return _lines(
        {
            **about,
            declared.units: counts["n_settled"],
            "statuses": counts["statuses"],
            **({"cost": summary["cost"]} if "cost" in summary else {}),
            "scores": scores,
        }
    )


def estimate_json(plan: Plan, estimate: CostEstimate, *, full: bool) -> str:
    """Write an estimate: calls, tokens and US dollars of three lengths of replies.

    With `full` it has the parts of each role and of the prompts, too.
    """
    settings = plan.settings
    values: dict[str, Any] = {
        "directory": str(plan.directory),
        "model": plan.model.info.name,
        "benchmark": settings.benchmark,
        "protocol": settings.protocol,
        plan.dataset.units: estimate.steps,
        "invalid": estimate.invalid,
        "calls": [estimate.calls_at_least, estimate.calls_at_most],
        "pictures": estimate.pictures,
        **{name: asdict(case) for name, case in estimate.cases.items()},
    }
    if full:
        values |= {
            "not_offered": estimate.not_offered,
            "too_long": estimate.too_long,
            "picture_tokens": estimate.picture_tokens,
            "text_tokens": estimate.text_tokens,
            "roles": {name: asdict(role) for name, role in estimate.roles.items()},
        }
    return _lines(values)


def _lines(values: Mapping[str, Any]) -> str:
    """Write an object with a value a line; the scores have a line each."""
    lines = []
    for name, value in values.items():
        text = json.dumps(value)
        if name == "scores":
            each = ",\n".join(f"    {json.dumps(key)}: {json.dumps(value[key])}" for key in value)
            text = f"{{\n{each}\n  }}"
        lines.append(f"  {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}"
