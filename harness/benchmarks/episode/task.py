"""The tasks of episodes, and what their lines keep."""

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
    """The task of an episode.

    parameters: what its world is given to begin it, in JSON.
    max_steps: most steps before it is over.
    """

    parameters: Mapping[str, Any]
    max_steps: int = STEPS


@dataclass(frozen=True, slots=True)
class EpisodeDetail:
    """The detail of an episode.

    asked: its task.
    gold: the solution for policies, in JSON; models never see it.
    """

    asked: EpisodeTask
    gold: Mapping[str, Any] = field(default_factory=dict)
