"""Trackers by name, and their packages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

import click

from adapters.registry import Registry, UnknownName, install
from harness.commands.listing import print_names
from harness.errors import UserError
from harness.trackers.contract import Tracker

TRACKERS: Registry[Tracker] = Registry(
    "tracker", "vlm_eval.trackers", has=("start", "log", "finish")
)
TRACKERS.add(
    "trackio",
    "harness.trackers.trackio:TrackioTracker",
    "trackio: a local database and dashboard, or a Space (extra trackio)",
)
TRACKERS.add(
    "wandb",
    "harness.trackers.wandb:WandbTracker",
    "Weights & Biases, online or offline (extra wandb)",
)


def package(name: str) -> Any:
    """Return the package of a service. Raises `UserError` with the line that installs it."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        spec = None
    # A folder of that name is none: services leave their files in such folders.
    if spec is None or spec.origin is None:
        raise UserError(f"the package {name} is missing: {install(name)}")
    return import_module(name)


def open_trackers(names: Iterable[str], given: Mapping[str, object]) -> dict[str, Tracker]:
    """Open trackers by name; nothing is sent yet. `given` has trackers of the caller by name.

    Raises `UserError` for an unknown name, a repeated one, and a tracker that cannot be made: its
    package or its key is missing.
    """
    opened: dict[str, Tracker] = {}
    for written in names:
        if written in opened:
            raise UserError(f"--track {written} is given twice")
        if written in given:
            if missing := [one for one in TRACKERS.has if not hasattr(given[written], one)]:
                raise UserError(f"track: {written} is not a tracker: it has no '{missing[0]}'")
            opened[written] = cast(Tracker, given[written])
            continue
        try:
            opened[written] = TRACKERS.make(*TRACKERS.split(written))
        except (UnknownName, UserError) as error:
            raise UserError(f"--track {written}: {error}") from error
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise UserError(f"--track {written}: it cannot be opened ({why})") from error
    return opened


@click.command()
def trackers() -> None:
    """List the services that --track takes."""
    print_names(TRACKERS.names().items())
