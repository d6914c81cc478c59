"""The cells of a sweep: every combination of the values that options are given.

Each is opened once, to find mistakes before anything is paid. The tables say what they cost, and
how far they are.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters import Fatal, UnknownName
from adapters.secrets import masked
from harness.commands.options import RUN, by_key, config_value, is_several, over
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
from harness.settings import (
    SETTINGS,
    SEVERAL,
    Settings,
    allow_code,
    folded,
    read_settings,
    unknown,
    written,
)
from harness.tables import Cell, Grid, Heading, few_notes, percent, rows_of
from harness.tables.grid import FEW_MARK, interval_text
from harness.tables.results import cluster_note, main_text

MOST_CELLS = 10_000
FOR_ALL = ("out", "max_cost")
"""Settings of the whole sweep: the folder of its runs, and what they may cost together."""
FOR_ONE = ("redo", "redo_from")
"""Settings that are for one run at a time."""

Values = Mapping[str, Sequence[Any]]
"""Settings with the values that each takes in turn."""


@dataclass(frozen=True)
class Variant:
    """One run of a sweep.

    label: the model, and the options that differ from other cells of that model.
    """

    label: str
    settings: Settings


@dataclass(frozen=True)
class Matrix:
    """The cells of a sweep, and the settings `FOR_ALL` of them."""

    cells: Sequence[Variant]
    out: Path | None
    max_cost: float | None


def read_matrix(given: Values, content: Mapping[str, Any], source: str) -> Matrix:
    """Return every combination of values.

    Args:
        given: values from the command line, which take precedence.
        content: a file of options whose lists multiply, with a `[[run]]` for those of some runs.
        source: the name of the file in errors.

    Raises:
        UserError: a key that `run` does not have, or a value that an option does not take; the
            message names the place in the file.
    """
    common_options = dict(content)
    tables = common_options.pop(RUN, [{}])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UserError(f"{source}: {RUN} is not a table; write [[{RUN}]] above its options")
    common, found = _values(common_options, source), list[dict[str, Any]]()
    for number, table in enumerate(tables, 1):
        where = f"{source}: [[{RUN}]] {number}" if RUN in content else source
        try:
            found += _combined({**common, **_values(table, where)}, given)
        except ValueError as error:
            raise UserError(f"{where}: {error}") from error
    if not found:
        raise UserError(f"{source}: an empty list leaves nothing to run")
    for name in FOR_ALL:
        if any(one.get(name) != found[0].get(name) for one in found):
            raise UserError(f"{source}: {_key(name)} is for all runs together; give it once")
    out, max_cost = (found[0].get(name) for name in FOR_ALL)
    each = [{n: v for n, v in one.items() if n not in FOR_ALL} for one in found]
    return Matrix(list(_cells(each, source)), Path(out) if out else None, max_cost)


def _values(table: Mapping[str, Any], where: str) -> dict[str, list[Any]]:
    """Return the values of a table by setting. Raises `UserError`."""
    known, values = by_key(), dict[str, list[Any]]()
    for key, value in table.items():
        if key not in known:
            raise UserError(f"{where}: {unknown('key', key, known)}")
        setting = known[key]
        listed = value if is_several(setting, value) else [value]
        if not listed:
            raise UserError(f"{where}: {key}: an empty list leaves nothing to run")
        try:
            values[setting.name] = [config_value(setting, one) for one in listed]
        except ValueError as error:
            raise UserError(f"{where}: {key}: {error}") from error
    return values


def _combined(values: Values, given: Values) -> Iterator[dict[str, Any]]:
    """Yield every combination, models first: runs of one model may share its server.

    Raises ValueError.
    """
    if "model" not in {**values, **given}:
        raise ValueError("it names no model")
    columns = {
        (n, "file"): v for n, v in values.items() if n not in given or SETTINGS[n].holds_pairs
    }
    columns |= {(n, "given"): v for n, v in given.items()}
    if (number := math.prod(map(len, columns.values()))) > MOST_CELLS:
        raise ValueError(f"{number:,} runs are more than {MOST_CELLS:,}")
    order = sorted(columns, key=lambda column: (*SEVERAL, column[0]).index(column[0]))
    for chosen in itertools.product(*(columns[column] for column in order)):
        parts: dict[str, dict[str, Any]] = {"file": {}, "given": {}}
        for (name, part), value in zip(order, chosen, strict=True):
            parts[part][name] = value
        yield over(folded(parts["file"]), folded(parts["given"]))


def _cells(options: Sequence[dict[str, Any]], source: str) -> Iterator[Variant]:
    """Name each run by its model and what differs among the runs of that model."""
    shown = [_shown(one) for one in options]
    values: dict[tuple[str, str], set[str]] = {}
    names = {name for one in shown for name in one}
    for one, name in itertools.product(shown, names):
        values.setdefault((one["model"], name), set()).add(one.get(name, ""))
    for one, texts in zip(options, shown, strict=True):
        allow_code(one)
        model = texts["model"]
        differs = (f"{_key(n)}={text}" for n, text in texts.items() if len(values[model, n]) > 1)
        label = " ".join([model, *differs])
        try:
            settings = read_settings(one)
        except ValueError as error:
            raise UserError(f"{source}: {label}: {error}") from error
        for name in one:
            if name in FOR_ONE:
                raise UserError(f"{source}: {written(name)} is for one run at a time")
        yield Variant(label, settings)


def _shown(options: Mapping[str, Any]) -> dict[str, str]:
    """Return options as text, with secrets masked."""
    shown = dict[str, str]()
    for name, value in options.items():
        setting = SETTINGS[name]
        if setting.holds_pairs:
            shown |= {k: _text(v) for k, v in masked(dict(setting.read(value))).items()}
        else:
            shown[name] = _text(value)
    return shown


def _text(value: object) -> str:
    items = value if isinstance(value, (list, tuple)) else [value]
    return ",".join(str(one).lower() if isinstance(one, bool) else str(one) for one in items)


def _key(name: str) -> str:
    return (SETTINGS[name].key if name in SETTINGS else name).replace("_", "-")


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
