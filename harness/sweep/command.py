"""`vlm-eval sweep`: many runs from one file."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.errors import UserError
from harness.printing import say, terminal

if TYPE_CHECKING:
    from harness.sweep.file import Cell, CellPlan, SweepFile
    from harness.tables import Grid


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--out", "-o", metavar="DIR", help="Folder of the runs.  [default: sweeps/<file>]")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Most runs at a time; of each provider, device and server only one.  [default: one per "
    "processor, at most 8]",
)
@click.option(
    "--only",
    multiple=True,
    metavar="GLOB",
    help="Only runs whose name in the table, or directory, matches; may be repeated.",
)
@click.option("--dry-run", is_flag=True, help="Count calls, tokens and cost; start nothing.")
@click.option("--status", is_flag=True, help="Print how far the runs are; start nothing.")
@click.option("--wait", is_flag=True, help="Go on until no run waits for a provider any more.")
def sweep(
    file: str,
    out: str | None,
    jobs: int | None,
    only: tuple[str, ...],
    dry_run: bool,
    status: bool,
    wait: bool,
) -> int:
    """Carry out the runs that FILE describes, or go on with them.

    \b
      [defaults]                  # any option of `vlm-eval run`
      benchmark = "sample"
      [[run]]
      model = ["lexical", "random"]
      seed = [1, 2, 3]            # lists multiply: six runs

    All of them are checked before the first one starts. Each is an ordinary run in a directory of
    its own; the same line goes on after any interruption.

    Exit codes: 0 all complete, 3 some wait for a provider, 1 some incomplete, 2 bad input, 130
    interrupted.
    """
    if (status or dry_run) and (wait or jobs or (status and dry_run)):
        which = "--status" if status else "--dry-run"
        raise click.UsageError(f"{which} starts nothing: leave out --jobs, --wait and the like")
    folder = Path(out) if out else Path("sweeps") / Path(file).stem
    if status:
        return _status(file, folder, only)

    from harness.sweep.file import read_expansion, read_sweep
    from harness.sweep.planning import plan_cells

    described = read_sweep(file)
    if dry_run:
        return _dry_run(described, folder, only)
    planned = plan_cells(described, folder, _note, before=read_expansion(folder))
    return _run(planned, described, folder, only, jobs, wait)


def several(options: Mapping[str, Any], *, dry_run: bool) -> int:
    """Carry out the runs of one table of options of `run`, whose lists multiply.

    `out` is the folder of the runs, `max-cost` the most that all of them may cost together.
    Returns the exit code as `sweep`.
    """
    from harness.sweep.file import read_expansion, sweep_of_options
    from harness.sweep.planning import plan_cells

    given = dict(options)
    out, wait, most = (given.pop(key, None) for key in ("out", "wait", "max-cost"))
    described = sweep_of_options(given, "the command line", max_cost=most)
    folder = Path(out) if out else Path("sweeps") / _name(given)
    if dry_run:
        return _dry_run(described, folder, ())
    planned = plan_cells(described, folder, _note, before=read_expansion(folder))
    return _run(planned, described, folder, (), None, bool(wait))


def _name(options: Mapping[str, Any]) -> str:
    """Name the folder of a sweep without a file by what it runs."""
    listed = (options.get(key, ()) for key in ("model", "benchmark"))
    words = [word for one in listed for word in ([one] if isinstance(one, str) else one)]
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(words))[:60].strip("-.")
    text = json.dumps(options, sort_keys=True, default=str)
    return f"{plain}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _run(
    planned: Sequence[tuple[Cell, CellPlan]],
    described: SweepFile,
    folder: Path,
    only: tuple[str, ...],
    jobs: int | None,
    wait: bool,
) -> int:
    import asyncio

    from adapters.processes import available_cpus
    from harness.sweep.file import Expansion, owned
    from harness.sweep.planning import estimated, to_confirm
    from harness.sweep.schedule import Schedule
    from harness.sweep.standing import exit_code, standing_of, status_grid, strangers
    from harness.tables import counted

    expansion = Expansion(
        file=described.path,
        cells=tuple(plan for _, plan in planned),
        max_cost_total=described.max_cost_total,
    )
    chosen = _chosen(expansion.cells, only)
    cells = {plan.directory: cell for cell, plan in planned}
    standings = [(plan, standing_of(plan, folder)) for plan in chosen]
    left = [plan for plan, standing in standings if standing.state != "complete"]
    _note(f"{counted(len(chosen), 'run')} in {folder}, {len(chosen) - len(left)} complete")
    if line := estimated(standings, expansion.max_cost_total):
        _note(line)
    for name in strangers(expansion, folder):
        _note(f"{folder / name} is not of this sweep and is left alone")
    if question := to_confirm([(cells[p.directory], p) for p in left], expansion.max_cost_total):
        _note(question)
        if not sys.stdin.isatty():
            raise UserError(
                f"{question}; without a terminal to ask on, put max-cost-total = DOLLARS or "
                "yes = true under [defaults]"
            )
        if not click.confirm("Go on?", err=True):
            _note("not started")
            return 1
    with owned(folder):
        expansion.write(folder)
        schedule = Schedule(
            expansion,
            folder,
            cells,
            [plan.directory for plan in chosen],
            jobs or min(8, available_cpus()),
            wait,
            _note,
        )
        interrupted = asyncio.run(schedule.run())
    after = [standing_of(plan, folder) for plan in chosen]
    _print(status_grid(expansion.having(chosen), folder, after))
    if any(standing.settled for standing in after):
        say(f"results: vlm-eval report {shlex.quote(str(folder))} --compact")
    if interrupted:
        _note("interrupted; the same line goes on")
        return 130
    return exit_code(after)


def _status(file: str, folder: Path, only: tuple[str, ...]) -> int:
    from harness.sweep.file import read_expansion
    from harness.sweep.standing import exit_code, standing_of, status_grid, strangers

    expansion = read_expansion(folder)
    if expansion is None:
        raise UserError(
            f"no sweep was started in {folder} (vlm-eval sweep {shlex.quote(str(file))} starts one)"
        )
    chosen = _chosen(expansion.cells, only)
    standings = [standing_of(plan, folder) for plan in chosen]
    _print(status_grid(expansion.having(chosen), folder, standings))
    for name in strangers(expansion, folder):
        say(f"not of this sweep: {folder / name}")
    return exit_code(standings)


def _dry_run(described: SweepFile, folder: Path, only: tuple[str, ...]) -> int:
    from harness.sweep.planning import Counted, estimate_grid, plan_cells

    counted: list[Counted] = []
    planned = plan_cells(described, folder, _note, counted=counted)
    chosen = {plan.directory for plan in _chosen([plan for _, plan in planned], only)}
    _print(estimate_grid([one for one in counted if one.plan.directory in chosen]))
    return 0


def _chosen(cells: Sequence[CellPlan], only: tuple[str, ...]) -> list[CellPlan]:
    """Return the cells that match one of the patterns. Raises `UserError` where none does."""
    if not only:
        return list(cells)
    found = [
        plan
        for plan in cells
        if any(fnmatchcase(name, p) for p in only for name in (plan.label, plan.directory))
    ]
    if not found:
        raise UserError(
            f"--only {' '.join(only)} matches none of the runs, such as '{cells[0].label}'"
        )
    return found


def _print(grid: Grid) -> None:
    from harness.tables import render

    console = terminal()
    shown = render(grid, width=console.width, note="")
    console.print(shown, markup=False, highlight=False, soft_wrap=True, end="")


def _note(line: str) -> None:
    say(line, err=True)
