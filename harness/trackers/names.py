"""Trackers by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from adapters.registry import Registry, UnknownName
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


def open_trackers(
    names: Iterable[str], given: Mapping[str, object] | None = None
) -> dict[str, Tracker]:
    """Open trackers by name; nothing is sent yet.

    `given` has trackers of the caller by the names that stand for them. Raises `UserError` for an
    unknown name, a repeated one, and a tracker that cannot be made: its package or its key is
    missing.
    """
    opened: dict[str, Tracker] = {}
    for written in names:
        if written in opened:
            raise UserError(f"--track {written} is given twice")
        if given and written in given:
            opened[written] = _checked(written, given[written])
            continue
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


def _checked(name: str, tracker: object) -> Tracker:
    """A tracker of the caller. Raises `UserError` for an object that is not a tracker."""
    for needed in TRACKERS.has:
        if not hasattr(tracker, needed):
            raise UserError(f"track: {name} is not a tracker: it has no '{needed}'")
    return cast(Tracker, tracker)
