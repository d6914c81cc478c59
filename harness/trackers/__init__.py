"""Trackers: services that receive live metrics of a run (`--track`).

    from harness.trackers.config import open_trackers

    trackers = open_trackers(["trackio", "wandb:my-project"])

`contract` has the interface of a tracker, and the thread on which each one works: nothing that it
does comes back into the run. `tracking` has the observer that `--track` opens. No service's package
is imported before the service is named.
"""

from __future__ import annotations

from dataclasses import dataclass

from adapters.options import LeafSettings
from adapters.options import session_setting as _running


@dataclass(frozen=True, kw_only=True)
class TrackerSettings(LeafSettings):
    """The trackers of a run."""

    track: tuple[str, ...] = _running(
        (),
        "Experiment tracker to log to: trackio, wandb, or your own; NAME:PROJECT "
        "names a project there. May be repeated.",
        metavar="NAME[:PROJECT]",
    )
    track_texts: bool = _running(
        False,
        "Tell it tasks, predictions and replies, too, in a table at the end.",
        needs=("track",),
    )
