"""Opens every cell of a sweep once, to find mistakes before anything is paid."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adapters import Fatal, UnknownName
from adapters.prices import source
from harness.errors import UserError, WithoutEffect
from harness.planning.estimate import Estimate, estimate
from harness.planning.estimated_calls import EXPECTED_REPLY
from harness.planning.plan import Plan, plan_run
from harness.planning.spending import CONFIRM_FROM, check_cost_limit
from harness.runs import RunError
from harness.serve import ServerSettings
from harness.session.observers import SessionObserver, open_observers
from harness.settings import written
from harness.sweep.file import Cell, CellPlan, Cost, Expansion, SweepFile, shown_options
from harness.sweep.standing import Standing
from harness.tables import Column, Grid, rows_of
from harness.tables import counted as number_of

HERE = "this machine"
"""The slot of models that run here, in a process or a server: one at a time has the device."""

TELL_S = 5.0
"""Time between two lines about how far the planning is."""


@dataclass(frozen=True)
class Counted:
    """A cell and its estimate."""

    plan: CellPlan
    estimate: Estimate


def plan_cells(
    file: SweepFile,
    folder: Path,
    say: Callable[[str], None],
    *,
    before: Expansion | None = None,
    counted: list[Counted] | None = None,
) -> list[tuple[Cell, CellPlan]]:
    """Check every cell of a file: its settings, key, prices and data.

    Cells that share their options are returned without those that have no effect on them, and a
    line says which; an option has to have an effect on one cell at least.

    Costs are estimated where money is divided or has to be confirmed; `before` has the estimates of
    an earlier start. With `counted` every cell is estimated anew and added there, and no key is
    needed. Raises `UserError` for the first cell that cannot be run, and for two equal ones.
    """
    known = {cell.directory: cell for cell in before.cells} if before else {}
    planned: dict[str, tuple[Cell, CellPlan]] = {}
    left_out: dict[str, dict[str, WithoutEffect]] = {}
    last_shown = time.monotonic()
    for number, cell in enumerate(file.cells, 1):
        if time.monotonic() - last_shown > TELL_S:
            last_shown = time.monotonic()
            say(f"planning {number} of {len(file.cells)}: {cell.label}")
        where = f"{file.path}: {cell.place} ({cell.label})"
        try:
            cell, plan = _fitting(cell, file, folder, left_out, asks=counted is None)
            own = _cell_plan(cell, plan)
            if own.directory in planned:
                raise UserError(_same(cell, planned[own.directory][0]))
            own = _priced(own, cell, plan, file, known.get(own.directory), counted)
            asyncio.run(_close(plan))
        except (UserError, Fatal, UnknownName, RunError) as error:
            raise UserError(f"{where}: {error}") from error
        planned[own.directory] = cell, own
    for option, reasons in left_out.items():
        if len(reasons) == len(file.cells):
            raise UserError(f"{file.path}: {next(iter(reasons.values()))} (as in every other run)")
        say(f"without {option}, which has no effect there: {', '.join(reasons)}")
    return list(planned.values())


def _fitting(
    cell: Cell,
    file: SweepFile,
    folder: Path,
    left_out: dict[str, dict[str, WithoutEffect]],
    *,
    asks: bool,
) -> tuple[Cell, Plan]:
    """Plan a cell; of a file with shared options, without those that have no effect on it.

    Adds the reason to `left_out`, by option and label. Raises as `plan_run`.
    """
    while True:
        try:
            open_observers(cell.settings, SessionObserver())
            plan = plan_run(cell.settings, asks=asks, starts=False, folder=folder)
            _check_money(plan, file.max_cost_total)
            return cell, plan
        except WithoutEffect as error:
            fewer = cell.without(error.setting, error.key) if file.shared else None
            if fewer is None:
                raise
            option = f"{written(error.setting)} {error.key}".strip()
            left_out.setdefault(option, {})[cell.label] = error
            cell = fewer


def _same(cell: Cell, other: Cell) -> str:
    """Explain the mistake in two cells that are the same run."""
    keys = dict.fromkeys((*other.options, *cell.options))
    differ = [key for key in keys if other.options.get(key) != cell.options.get(key)]
    whatever = f", whatever they say of {' and '.join(differ)}" if differ else ""
    return f"the same run as {other.place} ({other.label}){whatever}; leave one of them out"


def _check_money(plan: Plan, total: float | None) -> None:
    if total is not None and plan.model.policy is None and plan.settings.max_cost is None:
        plan = replace(plan, settings=replace(plan.settings, max_cost=total))
    check_cost_limit(plan)


def _cell_plan(cell: Cell, plan: Plan) -> CellPlan:
    info, command = plan.model.info, ServerSettings.of(plan.settings).with_server
    here = plan.model.on_this_machine or info.runs_here
    slot = info.endpoint or info.provider
    if plan.model.policy is not None:
        slot = ""
    elif here or command:
        slot = HERE
    return CellPlan(
        label=cell.label,
        directory=plan.directory.name,
        options=shown_options(cell.options),
        dialogues=plan.dialogues,
        slot=slot,
        server=(command, info.model) if command else None,
        sends=slot != "" and not here and plan.pictures.name != "none",
        spends=plan.spends,
        most_calls=plan.most_calls,
    )


def _priced(
    own: CellPlan,
    cell: Cell,
    plan: Plan,
    file: SweepFile,
    before: CellPlan | None,
    counted: list[Counted] | None,
) -> CellPlan:
    """Return the cell with its estimated cost, if it is needed."""
    settings = plan.settings
    divided = file.max_cost_total is not None
    matters = plan.spends and (divided or not (settings.yes or settings.max_cost is not None))
    if counted is None and not matters:
        return own
    prices = source()
    same = before is not None and (before.priced_by, before.options) == (prices, own.options)
    if counted is None and before is not None and same and settings.prices is None:
        return replace(own, priced_by=prices, cost=before.cost)
    found = estimate(plan)
    expected, high = (found.cases[name].cost for name in ("expected", "high"))
    if expected is not None and high is not None:
        own = replace(own, cost=Cost(expected, high))
    own = replace(own, priced_by=prices)
    if counted is not None:
        counted.append(Counted(own, found))
    return own


async def _close(plan: Plan) -> None:
    await plan.source.close()
    if plan.model.load is None:
        await plan.model.adapter.close()
    for role in plan.roles.values():
        await role.close()


def to_confirm(cells: Sequence[tuple[Cell, CellPlan]], total: float | None) -> str:
    """Return the question that a user must confirm before the cells start; "" if already done.

    As with a run: `yes`, `max-cost` or a limit for all together answer beforehand, and a few calls
    need no answer.
    """
    asked = [
        plan
        for cell, plan in cells
        if plan.spends and not cell.settings.yes and cell.settings.max_cost is None
    ]
    calls = sum(plan.most_calls for plan in asked)
    if total is not None or calls <= CONFIRM_FROM:
        return ""
    known = [plan.cost for plan in asked if plan.cost is not None]
    text = f"{number_of(len(asked), 'run')} may cost money: at most {calls:,} calls"
    if known:
        low, high = sum(cost.expected for cost in known), sum(cost.high for cost in known)
        text += f", about ${low:,.2f} and at most ${high:,.2f}"
    if len(known) < len(asked):
        text += f" (without {number_of(len(asked) - len(known), 'run')} of unknown price)"
    return text


def estimated(cells: Sequence[tuple[CellPlan, Standing]], total: float | None) -> str:
    """Describe the estimated cost of the cells from here on; "" without an estimate."""
    known = [
        (plan.cost, 1 - standing.settled / max(1, plan.dialogues))
        for plan, standing in cells
        if plan.cost is not None
    ]
    if not known:
        return ""
    low = sum(cost.expected * left for cost, left in known)
    high = sum(cost.high * left for cost, left in known)
    limit = "" if total is None else f"; ${total:,.2f} in all"
    return f"estimated for what is left: ${low:,.2f}, at most ${high:,.2f}{limit}"


def estimate_grid(cells: Sequence[Counted]) -> Grid:
    """Return the table of `--dry-run`: a row per cell, and one for all of them."""
    rows = [_row(one.plan.label, [one]) for one in cells]
    if len(rows) > 1:
        rows.append(_row("all runs", cells))
    columns = (Column("run", "left"), *map(Column, ("units", "calls", "in", "out", *_COSTS)))
    notes = (
        f"in, out: tokens with replies of {EXPECTED_REPLY}; at most: with the longest replies that "
        "are allowed. Prompt caches and what is on record are ignored.",
    )
    return Grid("", columns, rows_of(rows), footnotes=notes)


_COSTS = ("cost", "at most")


def _row(label: str, cells: Sequence[Counted]) -> tuple[str, ...]:
    estimates = [one.estimate for one in cells]
    least = sum(one.calls_at_least for one in estimates)
    most = sum(one.calls_at_most for one in estimates)
    tokens = (
        sum(getattr(e.cases["expected"], way) for e in estimates) for way in ("input", "output")
    )
    costs = [[e.cases[name].cost for e in estimates] for name in ("expected", "high")]
    # A model that is asked somewhere, and that nobody bills for; a baseline is asked nowhere.
    billed = any(one.plan.spends for one in cells) or not any(one.plan.slot for one in cells)
    return (
        label,
        f"{sum(one.plan.dialogues for one in cells):,}",
        f"{most:,}" if least == most else f"{least:,}-{most:,}",
        *(f"{number:,}" for number in tokens),
        *(_sum(of_case) if billed else "not priced" for of_case in costs),
    )


def _sum(costs: Sequence[float | None]) -> str:
    known = [cost for cost in costs if cost is not None]
    if not known:
        return "unknown"
    return f"${sum(known):,.2f}" + ("" if len(known) == len(costs) else " and more")
