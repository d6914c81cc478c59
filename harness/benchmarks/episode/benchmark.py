"""Benchmarks of episodes on live pages.

@dataclass(frozen=True)
class Counting(EpisodeBenchmark):
    world = "package.module:CountingWorld"      # a harness.live.World
    def open(self, *, splits=None, data=None):
        return Items.of([self.unit("count-3", EpisodeDetail(EpisodeTask({"to": 3})))])
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from harness.benchmarks.contract import Benchmark
from harness.benchmarks.episode import EpisodeSettings
from harness.live.pool import Foreign, Limits
from harness.page import MIND2WEB_ATTRIBUTES, Attributes, Page
from harness.settings import Settings
from harness.views import LiveView
from parsers.actions import Action

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


@dataclass(frozen=True)
class EpisodeBenchmark(Benchmark):
    """A benchmark whose units are episodes: a live page and an agent taking turns.

    Attributes:
        seed: the run's seed, which decides how its episodes begin.
        first: number of episodes of a task that a run plays; None: all.
    """

    seed: int = 42
    first: int | None = None

    View = LiveView
    Detail = EpisodeDetail
    protocol = "coordinates"
    pictures = True

    @property
    @abstractmethod
    def world(self) -> str | Foreign:
        """Where its episodes take place: `package.module:Class` of a `harness.live.World`, or a
        program. Raises `UserError`."""

    @property
    def limits(self) -> Limits:
        """Return the time limits of an action and an episode."""
        return Limits()

    @property
    def viewport(self) -> tuple[int, int]:
        """Width and height of screenshots in pixels, for estimates."""
        return 1280, 720

    @property
    def attributes(self) -> Attributes:
        """What AutoWebGLM's form of its pages shows of elements."""
        return MIND2WEB_ATTRIBUTES

    def of_run(self, settings: Settings) -> Self:
        episodes = EpisodeSettings.of(settings).episodes
        return replace(self, seed=settings.seed, first=episodes)

    def options(self) -> Mapping[str, Any]:
        """Return the values that its world is opened with. Raises `UserError`."""
        return {}


WORDS = 10
"""Words of an element that the history of an episode shows."""


def action_words(action: Action, page: Page) -> str:
    """An action in the words of Mind2Web's representations."""
    given = [value for value in action.arguments.values() if not isinstance(value, bool)]
    value = action.arguments.get("value", ", ".join(map(str, given)))
    done = f"{action.name}: {value}" if value != "" else action.name
    if action.element is not None:
        facts, text = _described(page, action.element)
        return f"[{facts}]  {text} -> {done}"
    if action.point is not None:
        return f"({action.point[0]:.0f}, {action.point[1]:.0f}) -> {done}"
    return done


def _described(page: Page, node_id: str) -> tuple[str, str]:
    """Role or tag of an element, and its label or text."""
    try:
        facts = page.role_of(node_id)
        text = page.text_of(node_id, WORDS)
    except ValueError:
        return "element", ""
    return facts.role or facts.tag, " ".join((text or next(iter(facts.labels), "")).split())
