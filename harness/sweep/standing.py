"""Reads the progress of a sweep's runs from their directories alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.runs import (
    MANIFEST,
    RunError,
    is_in_use,
    manifest_before,
    open_run,
    read_settled,
)
from harness.runs.finding import State, settings_of, spent_by, state_of
from harness.session.rescoring import task_rows_of
from harness.session.run import REACHED_COST_LIMIT, STOPPED
from harness.session.summary import total_of
from harness.sweep.file import CellPlan, Expansion
from harness.tables import Cell, Column, Grid, few_notes, percent, rows_of
from harness.tables.grid import FEW_MARK, interval_text
from harness.tables.results import (
    cluster_note,
    main_text,
)

LAST_BYTES = 8192


@dataclass(frozen=True)
class Standing:
    """How far a run is.

    settled: dialogues with a final outcome.
    spent: US dollars, with what may have been spent on calls that are not on record.
    limit: what its last session was allowed to spend, None where it had no limit.
    reached_limit: whether that ended it.
    with_provider: what its batches at a provider may still cost.
    why: why it stopped, "" where there is nothing to tell.
    """

    state: State | Literal["unreadable"]
    settled: int = 0
    spent: float = 0.0
    limit: float | None = None
    reached_limit: bool = False
    with_provider: float = 0.0
    why: str = ""

    @property
    def reserved(self) -> float:
        """US dollars that it may still spend without another start."""
        if self.state == "running" and self.limit is not None:
            return max(0.0, self.limit - self.spent)
        return self.with_provider


def standing_of(plan: CellPlan, folder: Path) -> Standing:
    """Return the progress of a cell."""
    path = folder / plan.directory
    said = last_words(plan.log(folder))
    try:
        if not (path / MANIFEST).exists():
            manifest_before(path)  # Lines without a manifest are an error.
            return Standing("running" if is_in_use(path) else "not started", why=said)
        run = open_run(path)
        settled, spent, manifest = len(read_settled(path)), spent_by(run), run.manifest
        state, waiting = state_of(run), run.waiting
    except RunError as error:
        return Standing("unreadable", why=str(error))
    last = manifest.sessions[-1] if manifest.sessions else None
    limit = last.settings.get("max_cost") if last else None
    measured = last.measured if last else {}
    stopped = str(measured.get(STOPPED, ""))
    # The last line of a process has advice for a user who started it by hand.
    why = stopped if stopped and said.startswith(stopped) else said
    if state == "waiting" and waiting:
        why = f"{waiting} at the provider ({waiting.command})"
    return Standing(
        state,
        settled,
        spent,
        limit if isinstance(limit, (int, float)) else None,
        bool(measured.get(REACHED_COST_LIMIT)),
        waiting.cost if waiting else 0.0,
        why,
    )


def last_words(log: Path) -> str:
    """Return the last line of a log, "" where there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - LAST_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


@dataclass(frozen=True)
class Score:
    """A run's main measure over what is settled so far: its head, its value, what it means."""

    head: str
    cell: Cell
    notes: tuple[str, ...]


def score_of(path: Path) -> Score | None:
    """Return the score of a run, None before a unit is scored. Raises `RunError`."""
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
    return Score(declared.main.head, cell, (f"{what} {cluster_note(declared)}", *few))


def status_grid(expansion: Expansion, folder: Path, standings: Sequence[Standing]) -> Grid:
    """Return the table of a sweep: a row per cell, with why it stopped below."""
    scores: list[Score | None] = []
    for plan, standing in zip(expansion.cells, standings, strict=True):
        try:
            scores.append(score_of(folder / plan.directory) if standing.settled else None)
        except RunError:
            scores.append(None)
    known = [score for score in scores if score is not None]
    heads = list(dict.fromkeys(score.head for score in known))
    money = any(plan.spends for plan in expansion.cells)
    rows: list[tuple[str | Cell, ...]] = []
    for plan, standing, score in zip(expansion.cells, standings, scores, strict=True):
        shown = score.cell if score else Cell("")
        if score and len(heads) > 1:
            shown = Cell(f"{score.head} {shown.text}", shown.interval)
        settled = f"{standing.settled:,}/{plan.dialogues:,}"
        cost = [_dollars(standing)] if money else []
        rows.append((plan.label, settled, standing.state, *cost, shown))
    columns = (
        Column("run", "left"),
        Column("answered"),
        Column("state", "left"),
        *([Column("spent")] if money else []),
        Column(heads[0] if len(heads) == 1 else "score"),
    )
    meanings = dict.fromkeys(note for score in known for note in score.notes)
    notes = (*_notes(expansion, standings, money), *meanings)
    return Grid("", columns, rows_of(rows), footnotes=notes)


def _dollars(standing: Standing) -> Cell:
    held = f"+{standing.reserved:,.2f} held" if standing.reserved else ""
    return Cell(f"${standing.spent:,.2f}", held)


def _notes(expansion: Expansion, standings: Sequence[Standing], money: bool) -> list[str]:
    notes = [
        f"{plan.label}: {standing.why}"
        for plan, standing in zip(expansion.cells, standings, strict=True)
        if standing.why and standing.state not in ("complete", "running")
    ]
    if money:
        spent = sum(standing.spent for standing in standings)
        total = expansion.max_cost_total
        of = "" if total is None else f" of ${total:,.2f}"
        notes.append(f"spent: ${spent:,.2f}{of}")
    return notes


def strangers(expansion: Expansion, folder: Path) -> list[str]:
    """Directories in the folder that do not belong to the sweep."""
    ours = {plan.directory for plan in expansion.cells}
    try:
        found = [entry.name for entry in folder.iterdir() if entry.is_dir()]
    except FileNotFoundError:
        return []
    return sorted(name for name in found if name not in ours)


def exit_code(standings: Sequence[Standing]) -> int:
    """0 where all runs are complete, 3 where some wait for a provider, else 1."""
    states = {standing.state for standing in standings}
    if states <= {"complete"}:
        return 0
    return 3 if "waiting" in states else 1
