"""Opens every cell of a sweep once, to find mistakes before anything is paid; the tables of what
they cost, and of how far they are."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adapters import Fatal, UnknownName
from harness.errors import UserError
from harness.planning.estimate import CostEstimate, estimate
from harness.planning.estimated_calls import EXPECTED_REPLY
from harness.planning.plan import Plan, plan_run
from harness.planning.spending import check_cost_limit
from harness.runs import manifest_before, open_run, read_settled
from harness.runs.directory import is_in_use
from harness.runs.run import State, settings_of, spent_by, state_of
from harness.session.observers import SessionObserver, open_observers
from harness.session.rescoring import task_rows_of
from harness.session.run import STOPPED
from harness.session.summary import total_of
from harness.settings import Settings
from harness.sweep.matrix import Variant
from harness.tables import Cell, Grid, Heading, few_notes, percent, rows_of
from harness.tables.grid import FEW_MARK, interval_text
from harness.tables.results import cluster_note, main_text

TELL_S = 5.0
"""Time between two lines about how far the planning is."""


@dataclass(frozen=True)
class Standing:
    """How far a run is.

    settled: dialogues with a final outcome.
    spent: US dollars, with what may have been spent on calls that are not on record.
    reserved: what its batches at a provider may still cost, in US dollars.
    why: why it stopped, or what it waits for; "" where there is nothing to say.
    """

    state: State
    settled: int = 0
    spent: float = 0.0
    reserved: float = 0.0
    why: str = ""


def standing_of(path: Path) -> Standing:
    """Return the progress of the run in a directory. Raises `RunError`."""
    if manifest_before(path) is None:
        return Standing("running" if is_in_use(path) else "not started")
    run = open_run(path)
    state, waiting, sessions = state_of(run), run.waiting, run.manifest.sessions
    why = str(sessions[-1].measured.get(STOPPED, "")) if sessions else ""
    if state == "waiting" and waiting:
        why = f"{waiting} at the provider ({waiting.command})"
    settled, reserved = len(read_settled(path)), waiting.cost if waiting else 0.0
    return Standing(state, settled, spent_by(run), reserved, why)


@dataclass(frozen=True)
class Planned:
    """A cell that can be run.

    directory: that of its run.
    dialogues: the number of units times that of repeats.
    standing: how far it is.
    served: the command that serves its model and the model's name for it; None without one.
    spends: whether its calls may cost money.
    most_calls: the largest number of calls that it can take.
    estimate: None where it is not needed.
    """

    label: str
    settings: Settings
    directory: Path
    dialogues: int
    standing: Standing
    served: tuple[str, str] | None
    spends: bool
    most_calls: int
    estimate: CostEstimate | None


def plan_cells(
    cells: Sequence[Variant],
    folder: Path,
    max_cost: float | None,
    say: Callable[[str], None],
    *,
    asks: bool = True,
    estimates: bool = True,
) -> list[Planned]:
    """Check settings, key, prices and data of every cell.

    Without `asks` no key is needed, and all costs are estimated; else those of incomplete runs that
    have to be confirmed, or limited.

    Raises `UserError` for the first cell that cannot be run, and for two that are the same run.
    """
    planned: dict[Path, Planned] = {}
    last_shown = time.monotonic()
    for number, cell in enumerate(cells, 1):
        if time.monotonic() - last_shown > TELL_S:
            last_shown = time.monotonic()
            say(f"planning {number} of {len(cells)}: {cell.label}")
        try:
            open_observers(cell.settings, SessionObserver())
            plan = plan_run(cell.settings, asks=asks, starts=False, folder=folder)
            if max_cost is not None and plan.model.policy is None:
                limited = replace(plan.settings, max_cost=max_cost)
                check_cost_limit(replace(plan, settings=limited))
            if other := planned.get(plan.directory):
                raise UserError(f"the same run as {other.label}; leave one of them out")
            standing = standing_of(plan.directory)
            agreed = cell.settings.yes and max_cost is None
            paid = plan.spends and not agreed and standing.state != "complete"
            found = estimate(plan) if estimates and (paid or not asks) else None
            command = plan.settings.with_server
            planned[plan.directory] = Planned(
                cell.label,
                cell.settings,
                plan.directory,
                plan.dialogues,
                standing,
                (command, plan.model.info.model) if command else None,
                plan.spends,
                plan.most_calls,
                found,
            )
            asyncio.run(_close(plan))
        except (UserError, Fatal, UnknownName) as error:
            raise UserError(f"{cell.label}: {error}") from error
    return list(planned.values())


async def _close(plan: Plan) -> None:
    await plan.source.close()
    if plan.model.load is None:
        await plan.model.adapter.close()
    for role in plan.roles.values():
        await role.close()


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
