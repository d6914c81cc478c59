"""`vlm-eval trackers`."""

from __future__ import annotations

import click

from harness.commands.listing import print_names
from harness.trackers.config import TRACKERS


@click.command()
def trackers() -> None:
    """List the services that --track takes."""
    print_names(TRACKERS.names())
