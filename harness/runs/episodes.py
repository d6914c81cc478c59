"""What only episodes have on their line: where they begin, and how long they may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

EPISODE = "episode"
"""The kind of units that are episodes."""
STEPS = 10
"""Most steps of an episode whose task says nothing else."""


@dataclass(frozen=True, slots=True)
class EpisodeTask:
    """What an episode is about.

    parameters: what its world is given to begin it, in JSON.
    max_steps: most steps before it is over.
    """

    parameters: Mapping[str, Any]
    max_steps: int = STEPS


@dataclass(frozen=True, slots=True)
class EpisodeDetail:
    """The detail of an episode.

    asked: its task.
    gold: what a policy that solves it has to know, in JSON; no model is told.
    """

    asked: EpisodeTask
    gold: Mapping[str, Any] = field(default_factory=dict)
