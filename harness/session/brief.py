"""The result of a run in a few lines, for a first reader."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.benchmarks import Benchmark
from harness.benchmarks.scoring import Records
from harness.pictures import show_answers
from harness.planning.model import limits_of
from harness.runs import Manifest, Run, Unit
from harness.runs.manifest import changes
from harness.runs.on_record import reused_replies
from harness.session.deployment import higher, unusable_replies
from harness.session.summary import agreement_line
from harness.settings import Settings
from harness.tables import Cell, Grid, Heading, Row, Section, counted, percent, render
from harness.tables.grid import FEW_MARK
from harness.tables.results import cell_of, repeats_text
from parsers import Counts, Declaration, Measure, Results
from parsers.declaration import SPLIT
from parsers.estimates import FINE
from parsers.records import STATUS_WORDS, Status

if TYPE_CHECKING:
    from rich.console import Console

MOST = 4
"""Measures shown."""
ORACLE_NOTE = "the pictures were cropped around the right answer; an upper bound, not a result"


def print_result(console: Console, grid: Grid) -> None:
    """Print a grid as wide as the console."""
    shown = render(grid, width=console.width, note="")
    console.print(shown, markup=False, highlight=False, soft_wrap=True, end="")


def empty_grid(declared: Declaration) -> Grid:
    """The result of a run without units."""
    return Grid("", (Heading("", "left"),), (), footnotes=(f"no {declared.units}",))


def brief_grid(
    records: Records,
    settings: Settings,
    source: Benchmark,
    total: Results,
    run: Run,
) -> Grid:
    """The scores of a run over all of its splits, a measure a row, and what was not scored.

    The numbers are those of `result_grid`, which has more of them: every split, average and bound.
    """
    declared, manifest, directory = source.declared, run.manifest, run.path
    if not records:
        return empty_grid(declared)
    shown = _first(declared)
    found = {one: total.row(one.name) for one in shown}
    chance = any(row is not None and row.chance is not None for row in found.values())
    over, explained = repeats_text(total), source.explained
    rows = tuple(
        Row(
            (
                one.head,
                cell_of(row, total),
                *(
                    [percent(row.chance) if row and row.chance is not None else ""]
                    if chance
                    else []
                ),
                explained.get(one.name, one.meaning),
            )
        )
        for one, row in found.items()
    )
    splits = ", ".join(sorted({record.scored().group(SPLIT) for record in records}))
    columns = [Heading("", "left"), Heading("score [95 % interval]"), Heading("meaning", "left")]
    title = f"{manifest.model['name']} on {settings.benchmark} ({splits}): {_scored(total)}"
    if chance:
        columns.insert(2, Heading("chance"))
    return Grid(
        title="; ".join(filter(None, [run.incomplete(records), title])),
        columns=tuple(columns),
        sections=(Section(rows),),
        footnotes=(
            _legend([row.cells[1] for row in rows], total, len(declared.shown) - len(rows)),
            *_left_out(records, total),
            *([f"over repeats: {over}"] if over else []),
            *agreement_line(records, settings),
            *([f"{manifest.pictures}: {ORACLE_NOTE}"] if show_answers(manifest.pictures) else []),
            *warnings_of(records, settings, source, manifest, directory),
            *reused_replies(directory),
            *([manifest.dates] if manifest.dates else []),
            f"more: --details, or vlm-eval report {shlex.quote(str(directory))}",
        ),
    )


def _first(declared: Declaration) -> list[Measure]:
    """The measures that are shown: the first ones, and the main one in any case."""
    measures = list(declared.shown)
    shown = measures[:MOST]
    return shown if declared.main in shown else [*shown[:-1], declared.main]


def _scored(total: Results) -> str:
    counts, declared = total.counts, total.declared
    level = declared.innermost
    times = f", {total.repeats} times each" if total.repeats > 1 else ""
    units = counted(counts.n_settled // total.repeats, declared.unit, declared.units)
    return f"{units} of {counted(counts.n_parents, level.one, level.many)}{times}"


def _legend(cells: Sequence[str | Cell], total: Results, others: int) -> str:
    """Explain the numbers and signs of the table in a line."""
    declared = total.declared
    level = declared.level(total.rules.cluster)
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


def _left_out(records: Records, total: Results) -> Iterator[str]:
    """Units that were not scored, and those scored as wrong since they could not be read."""
    counts, declared, parts = total.counts, total.declared, []
    if counts.n_invalid:
        why = ", ".join(
            f"{n // total.repeats} {reason.replace('_', ' ')}"
            for reason, n in counts.invalid.items()
        )
        number = counts.n_invalid // total.repeats
        parts.append(f"not scored: {counted(number, declared.unit, declared.units)} ({why})")
    if counts.n_unsettled:
        parts.append(f"without an answer so far: {unsettled(records, counts)}")
    if failed := {name: n for name, n in counts.statuses.items() if name not in FINE}:
        why = ", ".join(f"{n} {STATUS_WORDS[Status(name)]}" for name, n in failed.items())
        parts.append(f"no usable answer, so wrong: {sum(failed.values())} ({why})")
    if parts:
        yield "; ".join(parts)


def values_row(label: str, values: Mapping[str, str | Cell], declared: Declaration) -> Row:
    """A row with these values by the names of measures."""
    return Row((label, *(values.get(measure.name, "") for measure in declared.shown)))


def unsettled(records: Records, totals: Counts) -> str:
    """Count the units without an outcome, by the errors that they ended with."""
    errors = Counter(r.error.partition(":")[0] for r in records if r.error and not r.settled)
    why = ", ".join(f"{reason}: {n}" for reason, n in sorted(errors.items()))
    return f"{totals.n_unsettled}" + (f" ({why})" if why else "")


def warnings_of(
    records: Records,
    settings: Settings,
    source: Benchmark,
    manifest: Manifest | None,
    directory: Path | None,
) -> Iterator[str]:
    """Say what is wrong with many replies, or what mistake in the settings they suggest.

    A policy has nothing to change. `manifest` and `directory` are the run's, None if no model was
    asked.
    """
    if manifest is not None and manifest.of_policy:
        return
    limits, units = limits_of(settings), source.declared.units
    if manifest is not None and (bad := unusable_replies(records, limits, units, directory)):
        yield f"warning: {bad}"
    for change in changes(manifest.answerers) if manifest is not None else ():
        yield f"warning: {change}"
    if mistake := source.mistake(records, settings):
        yield f"warning: {mistake}"


def redo_hint(
    directory: Path, records: Sequence[Unit[Any]], settings: Settings, units: str
) -> str | None:
    """Say how to ask truncated units of a run again, if there are many."""
    cut = any(r.prediction and r.prediction.status is Status.TRUNCATED for r in records)
    limits = limits_of(settings)
    if not cut or unusable_replies(records, limits) is None:
        return None
    return (
        f"to ask only the truncated {units} again: vlm-eval --redo truncated --redo-from "
        f"{shlex.quote(str(directory))} --max-tokens {higher(limits)} --out NEW"
    )
