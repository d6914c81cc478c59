"""Functions that the rest of the harness calls by name, and `vlm-eval batches`."""

from __future__ import annotations

import asyncio
import math
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
from harness.planning.tier_table import Traffic, Wave
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


def estimate(plan: Plan, waves: Sequence[Wave], traffic: Traffic) -> list[str]:
    """Describe the batches of a run. Raises as `planned`."""
    limits = planned(plan).limits
    ratio = traffic.bytes_per_pixel(plan.settings.workers)
    sizes = [wave.text_bytes + ratio * wave.pixels for wave in waves]
    queued = plan.settings.queue_tokens or limits.queued_tokens
    number = 0
    for wave, size in zip(waves, sizes, strict=True):
        parts = [wave.calls / limits.requests, size / limits.bytes]
        parts += [2 * wave.prompt / queued] if queued else []
        number = max(number, math.ceil(max(parts)))
    most = max(wave.prompt for wave in waves)
    seen, tokens = len(traffic.pictures), "queued tokens" if queued else "tokens"
    by = f" (by the first {counted(seen, 'picture')})" if seen else ""
    lines = [
        f"batch:     {counted(len(waves), 'wave')}, up to {WAVE_HOURS} h a wave; at most "
        f"{max(wave.calls for wave in waves):,.0f} requests, {max(sizes) / 1e6:,.1f} MB{by} "
        f"and {most:,.0f} {tokens} a wave, in {counted(number, 'batch', 'batches')}"
    ]
    if queued and most > queued:
        lines.append(
            f"{'':<10} the provider lets {queued:,} tokens wait at a time (queue_tokens): a "
            f"wave is sent in {math.ceil(most / queued)} parts, one after the other"
        )
    return lines


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
