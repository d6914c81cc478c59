"""`vlm-eval batches`: what a provider has of a run."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from harness.batches.log import BatchLog
    from harness.tables import Grid


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
    import asyncio

    from harness.batches import passes
    from harness.batches.log import BatchLog
    from harness.printing import say
    from harness.runs import open_run
    from harness.tables import render

    open_run(run)
    if cancel:
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
    from harness.tables import Column, Grid, Row, Section

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
    from datetime import UTC

    return "–" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
