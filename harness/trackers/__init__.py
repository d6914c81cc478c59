"""Trackers: services that are told how a run goes while it goes.

    trackers = open_trackers(["trackio", "wandb:my-project"])

What a tracker has to do is in `harness.trackers.contract`; each has a thread of its own, from which
nothing that it does comes back into the run (`harness.trackers.feed`). Nothing of a service is
imported before it is named.
"""

from __future__ import annotations

from collections.abc import Iterable

from adapters.registry import Registry, UnknownName
from harness.errors import UserError
from harness.trackers.config import sendable
from harness.trackers.contract import CellValue, Ending, Table, TrackedRun, Tracker
from harness.trackers.feed import Feed, Point

__all__ = [
    "TRACKERS",
    "CellValue",
    "Ending",
    "Feed",
    "Point",
    "Table",
    "TrackedRun",
    "Tracker",
    "open_trackers",
    "sendable",
]

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


def open_trackers(names: Iterable[str]) -> dict[str, Tracker]:
    """The trackers that a user names, by those names; nothing is sent yet.

    Raises `UserError` for an unknown name, one that is given twice, and a tracker that cannot be
    made: its package or its key is missing.
    """
    opened: dict[str, Tracker] = {}
    for written in names:
        if written in opened:
            raise UserError(f"--track {written} is given twice")
        try:
            name, argument = TRACKERS.split(written)
            opened[written] = TRACKERS.make(name, argument)
        except (UnknownName, UserError) as error:
            raise UserError(f"--track {written}: {error}") from error
        except Exception as error:
            raise UserError(
                f"--track {written}: it cannot be opened ({type(error).__name__}: {error})"
            ) from error
    return opened
