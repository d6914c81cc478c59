"""Carries out the runs of a sweep, one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import math
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from adapters.contract import Fatal
from adapters.served import SHARED, ModelServer
from harness.commands.main import complaint
from harness.commands.run import heading
from harness.errors import UserError
from harness.planning.plan import plan_run
from harness.planning.spending import CONFIRM_FROM
from harness.printing import say, terminal
from harness.runs.directory import lock_run
from harness.session.display import Display
from harness.session.observers import open_observers
from harness.session.run import carry_out
from harness.settings import RUNS
from harness.sweep.planning import (
    FOR_ALL,
    Planned,
    Standing,
    Values,
    estimate_grid,
    plan_cells,
    read_matrix,
    standing_of,
    status_grid,
)
from harness.tables import Grid, counted, render

SWEEPS = Path("sweeps")
INTERRUPTED = 130

_log = logging.getLogger(__name__)


def several(
    given: Values, content: Mapping[str, Any] | None, config: str, *, dry_run: bool, status: bool
) -> int:
    """Carry out every combination of options, or only say how far they are or what they cost.

    Args:
        given: values from the command line, by setting.
        content: a file whose lists multiply; None without one.
        config: the path of `--config`, "" without one.
        dry_run: whether to print the estimate only.
        status: whether to print the progress only.

    Returns:
        0 if all runs are complete, 3 if some wait for a provider, 1 if some are incomplete, 130
        after an interrupt.
    """
    matrix = read_matrix(given, content or {}, f"--config {config}" if config else "command line")
    cells, max_cost = matrix.cells, matrix.max_cost
    folder = matrix.out or SWEEPS / _name(given, content, config)
    if content is None and len(cells) == 1:  # The progress of a run that is not a part of a sweep.
        folder = RUNS
        out = str(matrix.out) if matrix.out else None
        cells = [replace(one, settings=replace(one.settings, out=out)) for one in cells]
    asks = not (dry_run or status)
    runs = plan_cells(cells, folder, max_cost, _note, asks=asks, estimates=not status)
    if dry_run:
        _print(estimate_grid(runs))
        return 0
    if status:
        standings = [run.standing for run in runs]
        _print(status_grid(runs, standings, {}, max_cost))
        return exit_code(standings)
    left = [run for run in runs if run.standing.state != "complete"]
    _note(f"{counted(len(runs), 'run')} in {folder}, {len(runs) - len(left)} complete")
    if not _is_confirmed(left, max_cost):
        _note("not started")
        return 1
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot use {folder}: {error.strerror or error}") from error
    lock = lock_run(folder)
    try:
        sweep = Sweep(runs, folder, max_cost)
        sweep.carry_out(left)
    finally:
        lock.release()
    standings = [standing_of(run.directory) for run in runs]
    _print(status_grid(runs, standings, sweep.reasons, max_cost))
    say(f"results: vlm-eval report {shlex.quote(str(folder))} --compact")
    if INTERRUPTED in sweep.codes.values():
        _note("interrupted; the same line goes on")
        return INTERRUPTED
    return exit_code(standings) or max(sweep.codes.values(), default=0)


def _is_confirmed(runs: Sequence[Planned], max_cost: float | None) -> bool:
    """Show what the runs cost together, and ask if need be.

    As with a single run, `--yes` or `--max-cost` answers beforehand, and a few calls need no
    answer. Raises `UserError` without a terminal to ask on.
    """
    if priced := [run for run in runs if run.estimate is not None]:
        _print(estimate_grid(priced), err=True)
    asked = [run for run in runs if run.spends and not run.settings.yes]
    calls = sum(run.most_calls for run in asked)
    if max_cost is not None or calls <= CONFIRM_FROM:
        return True
    question = f"{counted(len(asked), 'run')} may cost money: at most {calls:,} calls"
    if not sys.stdin.isatty():
        raise UserError(
            f"{question}; without a terminal to ask on, say --yes or --max-cost DOLLARS"
        )
    return click.confirm(f"{question}. Go on?", err=True)


def exit_code(standings: Sequence[Standing]) -> int:
    """0 where all runs are complete, 3 where some wait for a provider, else 1."""
    states = {standing.state for standing in standings}
    if states <= {"complete"}:
        return 0
    return 3 if "waiting" in states else 1


@dataclass
class Sweep:
    """A start of a sweep.

    runs: all runs; some may be complete.
    folder: that of all runs.
    max_cost: the most that they may cost together in US dollars.
    codes: the last exit codes of those that were started, by their directories.
    reasons: why runs were not started or ended by an error, by their directories.
    """

    runs: Sequence[Planned]
    folder: Path
    max_cost: float | None
    codes: dict[Path, int] = field(default_factory=dict)
    reasons: dict[Path, str] = field(default_factory=dict)

    def carry_out(self, runs: Sequence[Planned]) -> None:
        """Carry out runs in order, those that wait for a provider first.

        Every run hands its calls over to its provider before one of them is waited for (`wait`).
        """
        runs = sorted(runs, key=lambda run: run.standing.state != "waiting")
        at_once = [replace(run, settings=replace(run.settings, wait=False)) for run in runs]
        patient = [run for run in runs if run.settings.wait]
        for served, group in groupby([*at_once, *patient], lambda run: run.served):
            same = list(group)
            try:
                with _server(served, self.folder):
                    for run in same:
                        if INTERRUPTED not in self.codes.values():
                            self._carry_out_one(run)
            except (UserError, Fatal) as error:  # The server does not start.
                self.reasons |= {run.directory: str(error) for run in same}
                self.codes |= {run.directory: 2 for run in same}

    def _carry_out_one(self, run: Planned) -> None:
        if standing_of(run.directory).state == "complete":
            return
        number = 1 + [one.directory for one in self.runs].index(run.directory)
        _note(f"\n[{number}/{len(self.runs)}] {run.label}")
        try:
            self.codes[run.directory] = self._evaluate(run)
        except Exception as error:  # It ends this run, not the others.
            _log.debug(run.label, exc_info=error)
            self.codes[run.directory] = 2
            self.reasons[run.directory] = complaint(error)
            _note(self.reasons[run.directory])

    def _evaluate(self, run: Planned) -> int:
        settings = run.settings
        if run.spends and self.max_cost is not None:
            settings = replace(settings, max_cost=self._limit(run))
        display = Display(settings)
        with open_observers(settings, display) as observer:
            with display.adapter_messages():
                plan = plan_run(settings, folder=self.folder)
            for line in heading(plan):
                display.say(line)
            done = asyncio.run(carry_out(plan, observer))
        again = "Run the same line again"
        display.say(f"complete: {done.directory}" if done.complete else done.how_to_go_on(again))
        return done.exit_code

    def _limit(self, run: Planned) -> float:
        """Return the most that a run may cost in all, which is what the others have left.

        Raises `UserError` where it is spent already.
        """
        assert self.max_cost is not None
        standings = {one.directory: standing_of(one.directory) for one in self.runs}
        own = standings.pop(run.directory)
        others = math.fsum(one.spent + one.reserved for one in standings.values())
        limit = math.floor((self.max_cost - others) * 1e4) / 1e4
        if limit <= own.spent and not own.reserved:
            raise UserError("--max-cost is spent; the same line with a higher one goes on")
        return limit


@contextlib.contextmanager
def _server(served: tuple[str, str] | None, folder: Path) -> Iterator[None]:
    """Start the server of runs that follow each other, unless another process lends one.

    Raises `Fatal` if it does not start.
    """
    if served is None or SHARED in os.environ:
        yield
        return
    command, model = served
    server = ModelServer(command, model)
    name = re.sub(r"[^\w.-]+", "-", model).strip("-.")[-60:]
    try:
        server.start(folder / f"server-{name}.log", _note, _note)
        os.environ.update(server.environment)
        yield
    finally:
        os.environ.pop(SHARED, None)
        server.stop()


def _name(given: Values, content: Mapping[str, Any] | None, config: str) -> str:
    """Name the folder of a sweep by its file, or by what it runs."""
    if Path(config).is_file():
        return Path(config).stem
    words = [str(word) for key in ("model", "benchmark") for word in given.get(key, ())]
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(words))[:60].strip("-.")
    options = {name: values for name, values in given.items() if name not in FOR_ALL}
    text = json.dumps([options, content], sort_keys=True, default=str)
    return f"{plain or 'sweep'}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _print(grid: Grid, *, err: bool = False) -> None:
    console = terminal(err=err)
    shown = render(grid, width=console.width, note="")
    console.print(shown, markup=False, highlight=False, soft_wrap=True, end="")


def _note(line: str) -> None:
    say(line, err=True)
