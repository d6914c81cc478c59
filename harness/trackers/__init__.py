"""Trackers: services that receive live metrics of a run (`--track`).

`contract` has the interface of a tracker and its thread, `tracking` the observer that `--track`
opens. No service's package is imported before the service is named.
"""

from __future__ import annotations

from dataclasses import dataclass

from adapters.options import LeafSettings, session_setting


@dataclass(frozen=True, kw_only=True)
class TrackerSettings(LeafSettings):
    """The trackers of a run."""

    track: tuple[str, ...] = session_setting(
        (),
        "Experiment tracker to log to: trackio, wandb, or your own; NAME:PROJECT "
        "names a project there. May be repeated.",
        metavar="NAME[:PROJECT]",
    )
