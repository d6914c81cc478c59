"""The tables of a sweep: what its runs cost, and how far they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.planning.estimated_calls import EXPECTED_REPLY
from harness.runs import open_run
from harness.runs.finding import settings_of
from harness.session.rescoring import task_rows_of
from harness.session.summary import total_of
from harness.sweep.planning import Planned, Standing
from harness.tables import Cell, Grid, Heading, few_notes, percent, rows_of
from harness.tables.grid import FEW_MARK, interval_text
from harness.tables.results import cluster_note, main_text


def estimate_grid(cells: Sequence[Planned]) -> Grid:
    """Return the table of what cells cost: a row for each, and one for all of them."""
    rows = []
    for label, some in [*((one.label, [one]) for one in cells), ("all runs", cells)]:
        found = [one.estimate for one in some if one.estimate is not None]
        least = sum(one.calls_at_least for one in found)
        most = sum(one.calls_at_most for one in found)
        numbers = (
            f"{sum(one.dialogues for one in some):,}",
            f"{most:,}" if least == most else f"{least:,}-{most:,}",
            f"{sum(one.cases['expected'].input for one in found):,}",
            f"{sum(one.cases['expected'].output for one in found):,}",
        )
        rows.append((label, *numbers, _dollars(some, "expected"), _dollars(some, "high")))
    heads = ("units", "calls", "in", "out", "cost", "at most")
    notes = (
        f"in, out: tokens with replies of {EXPECTED_REPLY}; at most: with the longest replies that "
        "are allowed. Prompt caches and what is on record are ignored.",
    )
    return Grid("", (Heading("run", "left"), *map(Heading, heads)), rows_of(rows), footnotes=notes)


def _dollars(cells: Sequence[Planned], case: str) -> str:
    """Return what cells cost together; a model that no one bills costs nothing."""
    costs = [one.estimate.cases[case].cost if one.spends and one.estimate else 0.0 for one in cells]
    known = [cost for cost in costs if cost is not None]
    if not known:
        return "unknown"
    return f"${sum(known):,.2f}" + ("" if len(known) == len(costs) else " and more")


def score_of(path: Path) -> tuple[str, Cell, tuple[str, ...]] | None:
    """Return a run's main measure over what is settled so far: its head, value and meaning.

    None before a unit is settled. Raises `RunError`.
    """
    run = open_run(path)
    declared, settings = run.manifest.declaration, settings_of(run)
    records = [record for record in run.records() if record.settled]
    if not records:
        return None
    total = total_of(records, settings, declared, task_rows_of(run, records))
    row, average = total.row(declared.main.name), declared.main.averages[0]
    cell = Cell(percent(row.number), interval_text(row.interval)) if row else Cell("")
    clusters = declared.level(total.rules.cluster).many
    few = few_notes(rates=True, clusters=clusters) if cell.interval.endswith(FEW_MARK) else ()
    what = f"{declared.main.head}: per cent, {main_text(declared, average)}, of answers so far."
    return declared.main.head, cell, (f"{what} {cluster_note(declared)}", *few)


def status_grid(
    cells: Sequence[Planned],
    standings: Sequence[Standing],
    reasons: Mapping[Path, str],
    max_cost: float | None,
) -> Grid:
    """Return the table of a sweep: a row per cell, with why it stopped below.

    `reasons` say why runs ended in this session, where their directories do not.
    """
    rows, notes, meanings = list[tuple[str | Cell, ...]](), list[str](), dict[str, None]()
    money = any(one.spends for one in cells)
    for one, standing in zip(cells, standings, strict=True):
        score = score_of(one.directory) if standing.settled else None
        head, value, meaning = score or ("", Cell(""), ())
        meanings |= dict.fromkeys(meaning)
        held = f"+{standing.reserved:,.2f} held" if standing.reserved else ""
        cost = [Cell(f"${standing.spent:,.2f}", held)] if money else []
        settled = f"{standing.settled:,}/{one.dialogues:,}"
        rows.append((one.label, settled, standing.state, *cost, head, value))
        why = reasons.get(one.directory) or standing.why
        if why and standing.state not in ("complete", "running"):
            notes.append(f"{one.label}: {why}")
    if money:
        spent = sum(standing.spent for standing in standings)
        of = "" if max_cost is None else f" of ${max_cost:,.2f}"
        notes.append(f"spent: ${spent:,.2f}{of}")
    left = ("run", "state", "measure")
    heads = ("run", "answered", "state", *(["spent"] if money else []), "measure", "score")
    columns = tuple(Heading(head, "left") if head in left else Heading(head) for head in heads)
    return Grid("", columns, rows_of(rows), footnotes=(*notes, *meanings))
