"""MiniWoB++ as a benchmark: its episodes, and when one has succeeded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.files import check_splits
from harness.benchmarks.items import Items
from harness.errors import UserError
from harness.kinds.episode.benchmark import EpisodeBenchmark, EpisodeDetail, EpisodeTask
from harness.kinds.episode.miniwob.tasks import (
    EPISODES,
    PUBLISHED,
    SCALE,
    SIZE,
    all_tasks,
    episode_of,
    most_steps,
    package,
    pages,
)
from harness.live.chromium import found
from harness.page import MINIWOB_ATTRIBUTES
from harness.runs.records import Unit
from parsers.declaration import SPLIT, Declaration, Group, Level, Measure
from parsers.live import LIVE_ACTIONS
from parsers.records import Prediction

SPLITS = ("published", "other")


def raw_reward(prediction: Prediction, detail: EpisodeDetail) -> float:
    """The reward without the page's clock, between -1 and 1; 0 where the page has given none."""
    reward = prediction.parsed.get("reward")
    return float(reward) if isinstance(reward, int | float) else 0.0


def success(prediction: Prediction, detail: EpisodeDetail) -> float:
    """Return whether the raw reward is 1 (AutoWebGLM, `get_binary_reward`)."""
    return float(raw_reward(prediction, detail) == 1.0)


def seeclick(prediction: Prediction, detail: EpisodeDetail) -> float:
    """Return whether it is above 0.8 (SeeClick)."""
    return float(raw_reward(prediction, detail) > 0.8)


def browsergym(prediction: Prediction, detail: EpisodeDetail) -> float:
    """Return whether it is above 0 (BrowserGym): half of the boxes right is a success."""
    return float(raw_reward(prediction, detail) > 0.0)


def steps(prediction: Prediction, detail: EpisodeDetail) -> float | None:
    """Return the number of steps of the episode."""
    number = prediction.parsed.get("steps")
    return float(number) if isinstance(number, int) else None


SCORERS = {
    "success": success,
    "success_seeclick": seeclick,
    "success_browsergym": browsergym,
    "raw_reward": raw_reward,
    "steps": steps,
}
DECLARED = Declaration(
    measures=(
        Measure("success", "Success", "episodes with a raw reward of 1", main=True),
        Measure("success_seeclick", "> 0.8", "episodes with more than 0.8 (SeeClick's rule)"),
        Measure("success_browsergym", "> 0", "episodes with more than 0 (BrowserGym's rule)"),
        Measure("raw_reward", "Reward", "the reward of the page", binary=False, averages=()),
        Measure("steps", "Steps", "steps of an episode", binary=False, averages=()),
    ),
    levels=(Level("task", extent="tasks", column="task_id"),),
    groups=(
        Group(SPLIT, "the split", whole="task"),
        Group("task", "the task", whole="task", column="task_id"),
    ),
    kind="episode",
    actions=LIVE_ACTIONS,
)


@dataclass(frozen=True)
class MiniWoB(EpisodeBenchmark):
    """The pages of the package `miniwob`: the 56 tasks of the papers, and all others."""

    name: str = "miniwob"
    description: str = "MiniWoB++: 56 of its small web pages, or any others, live in Chromium"
    splits: tuple[str, ...] = SPLITS
    default_splits: tuple[str, ...] = SPLITS[:1]
    sizes: tuple[SplitSize, ...] = (
        SplitSize(SPLITS[0], len(PUBLISHED), len(PUBLISHED) * EPISODES),
    )
    guarded = False
    note = ""
    declared: Declaration = DECLARED

    world = "harness.kinds.episode.miniwob.tasks:MiniWoBWorld"
    viewport = (SIZE[0] * SCALE, SIZE[1] * SCALE)
    attributes = MINIWOB_ATTRIBUTES
    scorers: ClassVar = SCORERS

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        """Open 100 episodes of every task; their pages follow from `seed`."""
        if data is not None:
            raise UserError(f"{self.name} has its pages from the package miniwob: leave out --data")
        check_splits(splits, self.splits, self.name)
        return Items.of(
            self._units(splits or self.default_splits),
            origin={"origin": "local", "package": f"miniwob {package()}".strip()},
        )

    def check_installed(self) -> None:
        """Check for the pages, playwright and Chromium."""
        pages()
        found(purpose=self.name, extra=self.name)

    def options(self) -> Mapping[str, Any]:
        return {"pages": str(pages())}

    def _units(self, splits: Sequence[str]) -> Iterator[Unit[Any]]:
        for split in splits:
            published = split == SPLITS[0]
            for task in sorted(PUBLISHED if published else set(all_tasks()) - set(PUBLISHED)):
                for number in range(EPISODES):
                    asked = EpisodeTask(episode_of(self.seed, task, number), most_steps(task))
                    yield self.unit(
                        f"{task}-{number}",
                        EpisodeDetail(asked, {"task": task}),
                        split,
                        parents={"task": task},
                    )


BENCHMARK = MiniWoB()
