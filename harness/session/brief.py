"""The result of a run in a few lines, for somebody who has read nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.kinds.contract import unit_kind
from harness.kinds.scoring import FINE, Bound, Bounds, Records
from harness.pictures import show_answers
from harness.runs import Manifest
from harness.runs.on_record import reused_replies
from harness.session.report import (
    ORACLE_NOTE,
    headline_row,
    number_of,
    result_grid,
    unsettled,
    warnings_of,
)
from harness.session.summary import Part, aggregation_rules, agreement_line, part
from harness.settings import Settings
from harness.tables import FEW_MARK, Cell, Column, Grid, Row, Section, percent, repeats_text
from parsers import Declaration, Measure
from parsers.declaration import SPLIT
from parsers.records import STATUS_WORDS, Status

MOST = 4
"""Measures shown."""


def brief_grid(
    records: Records,
    settings: Settings,
    task_rows: Mapping[str, int],
    manifest: Manifest,
    directory: Path,
    bounds: Bounds | None = None,
) -> Grid:
    """The scores of a run over all of its splits, a measure a row, and what was not scored.

    The numbers are those of `result_grid`, which has more of them: every split, average and bound.
    """
    declared = manifest.declaration
    if not records:
        return result_grid(records, settings, declared, task_rows)
    rules = aggregation_rules(settings, declared)
    bounds = bounds or unit_kind(declared.kind).extras.bounds(records, settings)
    total = part(records, declared, rules, task_rows, bounds=bounds)
    measures = declared.shown
    by_measure = zip(measures, headline_row(total).cells[1:], strict=True)
    shown = [(one, cell) for one, cell in by_measure if one in _first(declared)]
    chance = total.floor or {}
    over = repeats_text(total.over_repeats, declared)
    rows = tuple(
        Row((one.head, cell, *_chance(one, chance), one.explained or one.meaning))
        for one, cell in shown
    )
    splits = ", ".join(sorted({record.scored().group(SPLIT) for record in records}))
    columns = [Column("", "left"), Column("score [95 % interval]"), Column("meaning", "left")]
    if chance:
        columns.insert(2, Column("chance"))
    return Grid(
        title=f"{manifest.model['name']} on {settings.benchmark} ({splits}): {_scored(total)}",
        columns=tuple(columns),
        sections=(Section(rows),),
        footnotes=(
            _legend([cell for _, cell in shown], total, len(measures) - len(rows)),
            *_left_out(records, total),
            *([f"over repeats: {over}"] if over else []),
            *agreement_line(records, settings),
            *([f"{manifest.pictures}: {ORACLE_NOTE}"] if show_answers(manifest.pictures) else []),
            *warnings_of(records, settings, declared, manifest),
            *reused_replies(directory),
            *([manifest.dates] if manifest.dates else []),
            f"more: --details, or vlm-eval report {directory}",
        ),
    )


def _first(declared: Declaration) -> list[Measure]:
    """The measures that are shown: the first ones, and the main one in any case."""
    measures = list(declared.shown)
    shown = measures[:MOST]
    return shown if declared.main in shown else [*shown[:-1], declared.main]


def _chance(measure: Measure, chance: Bound) -> tuple[str, ...]:
    """The cell of a measure's chance; no cell for kinds that know none."""
    if not chance:
        return ()
    return (percent(chance[measure.name]) if measure.name in chance else "",)


def _scored(total: Part) -> str:
    counts, declared = total.metrics.counts, total.metrics.declared
    level = declared.innermost
    times = f", {total.repeats} times each" if total.repeats > 1 else ""
    units = number_of(counts.n_settled // total.repeats, declared.unit, declared.units)
    return f"{units} of {number_of(counts.n_parents, level.one, level.many)}{times}"


def _legend(cells: Sequence[str | Cell], total: Part, others: int) -> str:
    """Explain the numbers and signs of the table in a line."""
    declared = total.metrics.declared
    level = declared.level(total.metrics.rules.cluster)
    means = {_mean_over(one, declared) for one in declared.in_tables}
    notes = [
        f"per cent, mean over {means.pop()}" if len(means) == 1 else "per cent",
        f"intervals for new {level.extent}",
    ]
    if any(one in declared.spread for one in _first(declared)):
        medians = ", ".join(one.head for one in _first(declared) if one in declared.spread)
        notes.append(f"{medians}: median and [quartiles]")
    if any(FEW_MARK in str(cell) for cell in cells):
        notes.append(f"{FEW_MARK} rough: few {level.many}")
    if others > 0:
        notes.append(f"{others} more with --details")
    return "; ".join(notes)


def _mean_over(measure: Measure, declared: Declaration) -> str:
    match measure.averages[0]:
        case "macro":
            return declared.level(measure.over).many
        case "micro":
            return declared.units
        case _:
            return f"{' x '.join(measure.cells)}"


def _left_out(records: Records, total: Part) -> Iterator[str]:
    """What was not scored, and what was scored as wrong since it could not be read."""
    counts, declared, parts = total.metrics.counts, total.metrics.declared, []
    if counts.n_invalid:
        why = ", ".join(
            f"{n // total.repeats} {reason.replace('_', ' ')}"
            for reason, n in counts.invalid.items()
        )
        number = counts.n_invalid // total.repeats
        parts.append(f"not scored: {number_of(number, declared.unit, declared.units)} ({why})")
    if counts.n_unsettled:
        parts.append(f"without an answer so far: {unsettled(records, counts)}")
    if failed := {name: n for name, n in counts.statuses.items() if name not in FINE}:
        why = ", ".join(f"{n} {STATUS_WORDS[Status(name)]}" for name, n in failed.items())
        parts.append(f"no usable answer, so wrong: {sum(failed.values())} ({why})")
    if parts:
        yield "; ".join(parts)
