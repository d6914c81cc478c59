"""Benchmarks of episodes on live pages.

@dataclass(frozen=True)
class Counting(EpisodeBenchmark):
    world = "package.module:CountingWorld"      # a harness.live.World
    def open(self, *, splits=None, data=None):
        return Items.of([self.unit("count-3", EpisodeDetail(EpisodeTask({"to": 3})))])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from harness.benchmarks.contract import Benchmark
from harness.live.pool import Limits
from harness.page import MIND2WEB_ATTRIBUTES, Attributes


@dataclass(frozen=True)
class EpisodeBenchmark(Benchmark):
    """A benchmark whose units are episodes: a live page and an agent taking turns.

    Attributes:
        world: where its episodes take place, as `package.module:Class` (`harness.live.World`).
        limits: how long an action and an episode may take.
        viewport: width and height of screenshots in pixels, for estimates.
        attributes: what AutoWebGLM's form of its pages shows of elements.
        seed: that of a run, by which it draws what its episodes begin with.
    """

    seed: int = 42

    world: ClassVar[str]
    limits: ClassVar[Limits] = Limits()
    viewport: ClassVar[tuple[int, int]] = (1280, 720)
    attributes: ClassVar[Attributes] = MIND2WEB_ATTRIBUTES
    protocol = "coordinates"
    pictures = True

    def drawn(self, seed: int) -> Self:
        """See `Benchmark.drawn`."""
        return replace(self, seed=seed)

    def options(self) -> Mapping[str, Any]:
        """What its world is opened with, as plain values. Raises `UserError`."""
        return {}
