"""Settings of trackers."""

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
