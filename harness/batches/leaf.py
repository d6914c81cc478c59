"""Functions that the rest of the harness calls by name, and `vlm-eval batches`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from adapters.batches.contract import Deferrable, Deferring, deferring_of
from adapters.catalog import MODELS
from harness.batches.log import BatchLog
from harness.errors import UserError
from harness.planning.estimated_calls import EstimatedCall
from harness.planning.model import options_of
from harness.planning.plan import Plan
from harness.printing import say
from harness.runs import open_run
from harness.settings import Settings
from harness.tables import Grid, Heading, counted, render, rows_of

WAVE_HOURS = 24
MANY_WAVES = 3
"""More waves than this are worth a warning."""


def check(settings: Settings) -> None:
    """Raise `UserError` for a run without its first call."""
    if not settings.preflight:
        raise UserError(
            "--no-preflight: without the first call, a mistake comes back after a day on every "
            "request of a batch; leave it out"
        )


def planned(plan: Plan) -> Deferring:
    """Return how the model of a plan is asked in batches. Raises `Fatal`."""
    adapter = plan.model.adapter
    if not isinstance(adapter, Deferrable):
        # The stand-in for a model that is not loaded has its declaration only.
        adapter = MODELS.keyless(plan.settings.model, **options_of(plan.settings))
    return deferring_of(adapter, plan.model.info.name)


def heading(plan: Plan, calls: Sequence[EstimatedCall]) -> str:
    """Say how long batches take, by the calls of a dialogue. Raises as `planned`."""
    planned(plan)
    waves = 1 + max((call.turn for call in calls), default=0)
    waits = f"{counted(waves, 'wave')}, up to {WAVE_HOURS} h each"
    line = f"{'batches:':<9} {waits}, as far as the first step shows"
    if waves > MANY_WAVES:
        line += f"; warning: more than {MANY_WAVES}, each of which waits for the one before"
    return line


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--cancel", is_flag=True, help="Have the provider end them.")
def batches(run: Path, cancel: bool) -> int:
    """Show which batches of RUN a provider has, as far as is known here.

    Starting the run again looks at them and takes what has been answered. Exit code 3 while there
    are any.
    """
    opened = open_run(run)
    if cancel:
        from harness.batches import passes

        asyncio.run(passes.cancel(run, lambda line: say(line, err=True)))
    log = BatchLog.read(run)
    if not log.packs:
        say(f"{run}: no batches")
        return 0
    heads = ("requests", "MB", "at most", "created (UTC)", "expires (UTC)")
    columns = (
        Heading("batch"),
        Heading("state", "left"),
        *map(Heading, heads),
        Heading("id", "left"),
    )
    rows = [
        (
            str(pack.n),
            pack.state,
            f"{pack.requests:,}",
            f"{pack.bytes / 1e6:,.1f}",
            f"${pack.upper:,.4f}",
            _time(pack.created_at),
            _time(pack.batch.expires_at if pack.batch else None),
            pack.batch.id if pack.batch else "–",
        )
        for pack in log.packs.values()
    ]
    say(render(Grid("", columns, rows_of(rows)), note="").rstrip("\n"))
    if opened.waiting is None:
        return 0
    unsent = bool(log.at("unsent"))
    to_do = "send what is not sent, and to take" if unsent else "take"
    say(f"waiting: {opened.waiting}. Start the run again to {to_do} what has been answered.")
    return 3


def _time(seconds: float | None) -> str:
    return "–" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
