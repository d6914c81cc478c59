"""Options of episodes: what is offered, their number, and the processes they run in."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.options import Count, PathText
from harness.benchmarks.step.options import ElementOptions
from harness.options import setting


@dataclass(frozen=True, kw_only=True)
class EpisodeOptions(ElementOptions):
    """Options of episodes."""

    episodes: Count | None = setting(
        None, "Only the first N episodes of each task. Default: all.", group="Data", metavar="N"
    )
    max_steps: Count | None = setting(
        None,
        "Most steps of an episode. Default: what its task says.",
        group="Question",
        metavar="N",
    )
    environments: Count | None = setting(
        None,
        "Number of processes that run episodes. Default: one per processor.",
        group="Running",
        metavar="N",
        identity=False,
    )


@dataclass(frozen=True, kw_only=True)
class ForeignOptions(EpisodeOptions):
    """Options of episodes that run under another Python."""

    env_python: PathText | None = setting(
        None,
        "Python of the environment that BrowserGym is installed in (docs/episodes.md).",
        group="Running",
        metavar="PATH",
        identity=False,
    )
