"""Batches as the rest of the harness knows them (`CALLERS`), and `vlm-eval batches`."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Container, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adapters.batches import BatchSettings
from adapters.batches.contract import Deferrable, Deferring
from adapters.catalog import MODELS
from adapters.contract import Fatal, PictureSource
from harness.batches.log import BatchLog
from harness.errors import UserError
from harness.planning.estimated_calls import EstimatedCall
from harness.planning.model import options_of
from harness.planning.plan import Plan
from harness.planning.tier_table import Traffic, Wave
from harness.printing import say
from harness.runs import RunDirectory, open_run
from harness.runs.callers import Waiting
from harness.settings import EPISODES, Settings
from harness.tables import Column, Grid, Row, Section, counted, render

if TYPE_CHECKING:
    from harness.batches.passes import BatchPasses

WAVE_HOURS = 24
MANY_WAVES = 3
"""More waves than this are worth a warning."""


def _days(deferring: Deferring) -> str:
    """How long a provider may take for a wave; "" for files that the user has answered."""
    return f"up to {WAVE_HOURS} h" if deferring.preflights else ""


def deferring_of(plan: Plan) -> Deferring:
    """How a model is asked in batches. Raises `Fatal` for one that is not."""
    adapter = plan.model.adapter
    if not isinstance(adapter, Deferrable):
        # What stands in for a model that is not loaded declares its facts only.
        adapter = MODELS.keyless(plan.settings.model, **options_of(plan.settings))
    if not isinstance(adapter, Deferrable):
        raise Fatal(f"{plan.model.info.name} has a tier batch, but does not say how it is asked")
    return adapter.deferring(Path())


class Batches:
    """The caller that hands calls over to a provider's batches."""

    def check(self, settings: Settings, lacks: Container[str]) -> None:
        """Raise `UserError` for live pages, and for a run without its first call."""
        if EPISODES not in lacks:
            raise UserError(
                "--tier batch: a live page does not wait a day for an answer; leave it out"
            )
        if not settings.preflight:
            raise UserError(
                "--no-preflight: without the first call, a mistake comes back after a day on every "
                "request of a batch; leave it out"
            )

    def waiting_at(self, path: Path) -> Waiting | None:
        """Count what a provider has of the run at `path`. Raises `RunError`."""
        return BatchLog.read(path).waiting

    def unrecorded_at(self, path: Path) -> float:
        """Return what requests that came to nothing cost, in US dollars. Raises `RunError`."""
        return BatchLog.read(path).unrecorded

    def open(
        self,
        plan: Plan,
        directory: RunDirectory,
        pictures: PictureSource,
        ready: Callable[[], Awaitable[None]],
        say: Callable[[str], None],
    ) -> BatchPasses | None:
        """Open the batches of a run. See `harness.session.run.Passes`."""
        from harness.batches.passes import BatchPasses

        return BatchPasses.open(plan, directory, pictures, ready, say)

    def heading(self, plan: Plan, calls: Sequence[EstimatedCall]) -> str:
        """Say how long batches take, by the calls of a dialogue."""
        waves = 1 + max((call.turn for call in calls), default=0)
        days = _days(deferring_of(plan))
        line = f"{'batches:':<9} {counted(waves, 'wave')}{days and f', {days} each'}"
        line += ", as far as the first step shows"
        if waves > MANY_WAVES:
            line += f"; warning: more than {MANY_WAVES}, each of which waits for the one before"
        return line

    def estimate(self, plan: Plan, waves: Sequence[Wave], traffic: Traffic) -> list[str]:
        """Describe the batches of a run. Raises `Fatal`."""
        deferring = deferring_of(plan)
        limits, days = deferring.limits, _days(deferring)
        ratio = traffic.bytes_per_pixel(plan.settings.workers)
        sizes = [wave.text_bytes + ratio * wave.pixels for wave in waves]
        queued = BatchSettings.of(plan.settings).queue_tokens or limits.queued_tokens
        number = 0
        for wave, size in zip(waves, sizes, strict=True):
            parts = [wave.calls / limits.requests, size / limits.bytes]
            parts += [2 * wave.prompt / queued] if queued else []
            number = max(number, math.ceil(max(parts)))
        most = max(wave.prompt for wave in waves)
        seen, tokens = len(traffic.pictures), "queued tokens" if queued else "tokens"
        by = f" (by the first {counted(seen, 'picture')})" if seen else ""
        lines = [
            f"batch:     {counted(len(waves), 'wave')}{days and f', {days} a wave'}; at most "
            f"{max(wave.calls for wave in waves):,.0f} requests, {max(sizes) / 1e6:,.1f} MB{by} "
            f"and {most:,.0f} {tokens} a wave, in {number:,} batch{'' if number == 1 else 'es'}"
        ]
        if queued and most > queued:
            lines.append(
                f"{'':<10} the provider lets {queued:,} tokens wait at a time (--queue-tokens): a "
                f"wave is sent in {math.ceil(most / queued)} parts, one after the other"
            )
        return lines


BATCHES = Batches()


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--cancel", is_flag=True, help="End the batches, and fetch what they have answered by then."
)
def batches(run: Path, cancel: bool) -> int:
    """Show which batches of RUN a provider has, as far as is known here.

    Starting the run again looks at them and takes what has been answered. Exit code 3 while there
    are any.
    """
    open_run(run)
    if cancel:
        from harness.batches import passes

        asyncio.run(passes.cancel(run, lambda line: say(line, err=True)))
    log = BatchLog.read(run)
    if not log.packs:
        say(f"{run}: no batches")
        return 0
    say(render(batches_grid(log), note="").rstrip("\n"))
    if log.waiting is None:
        return 0
    unsent = any(pack.is_unsent for pack in log.live)
    to_do = "send what is not sent, and to take" if unsent else "take"
    say(f"waiting: {log.waiting}. Start the run again to {to_do} what has been answered.")
    return 3


def batches_grid(log: BatchLog) -> Grid:
    """Return the table: a row per pack."""
    rows = [
        Row(
            (
                str(pack.n),
                pack.state,
                f"{pack.requests:,}",
                f"{pack.bytes / 1e6:,.1f}",
                f"${pack.upper:,.4f}",
                _time(pack.created_at),
                _time(pack.expires_at),
                pack.id or "–",
            )
        )
        for pack in log.packs.values()
    ]
    heads = ("requests", "MB", "at most", "created (UTC)", "expires (UTC)")
    columns = (Column("batch"), Column("state", "left"), *map(Column, heads), Column("id", "left"))
    return Grid(title="", columns=columns, sections=(Section(tuple(rows)),))


def _time(seconds: float | None) -> str:
    return "–" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
