"""Episodes on live pages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from adapters.options import EPISODES, OWN_PYTHON, LeafSettings, PathText, setting
from adapters.options import Count as AtLeastOne
from adapters.options import session_setting as _running

_question = partial(setting, group="Question", about="question")


@dataclass(frozen=True, kw_only=True)
class EpisodeSettings(LeafSettings):
    """Settings of episodes: their number, and the processes they run in."""

    episodes: AtLeastOne | None = setting(
        None,
        "Only the first N episodes of each task. Default: all.",
        group="Data",
        about="data",
        metavar="N",
        recorded="when set",
        needs=(EPISODES,),
    )
    max_steps: AtLeastOne | None = _question(
        None,
        "Most steps of an episode. Default: what its task says.",
        metavar="N",
        recorded="when set",
        needs=(EPISODES,),
    )
    environments: AtLeastOne | None = _running(
        None,
        "Number of processes that run episodes. Default: one per processor.",
        metavar="N",
        needs=(EPISODES,),
    )
    env_python: PathText | None = _running(
        None,
        "Python of the environment that BrowserGym is installed in (docs/episodes.md).",
        metavar="PATH",
        needs=(OWN_PYTHON,),
    )
