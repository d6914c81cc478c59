"""What a benchmark is to the rest of the harness, and where benchmarks are found by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from adapters.registry import Registry, UnknownName
from harness.benchmarks.dataset import Dataset
from harness.errors import DataError


class Benchmark(Protocol):
    """A collection of recorded steps.

    `fixes` names the settings that the data itself fixes (`distractors`, `seed`, `choices`,
    `prompts`, `images`), so that a command can refuse options that would have no effect. One
    without pictures of its pages also has an attribute `screenshots`, which is False.
    """

    @property
    def name(self) -> str: ...

    @property
    def splits(self) -> tuple[str, ...]: ...

    @property
    def default_splits(self) -> tuple[str, ...]: ...

    @property
    def description(self) -> str: ...

    @property
    def fixes(self) -> frozenset[str]: ...

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Dataset:
        """The steps of some splits (None: the default ones), from `data` or from the usual place.

        Raises:
            DataError: the data cannot be had or is not of the form expected.
        """
        ...


BENCHMARKS: Registry[Benchmark] = Registry("benchmark", "vlm_eval.benchmarks", has=("open",))
BENCHMARKS.add(
    "multimodal-mind2web",
    "harness.benchmarks.mind2web:BENCHMARK",
    "Multimodal-Mind2Web (Zheng et al. 2024): 1,013 test tasks on 127 sites, with screenshots",
)
BENCHMARKS.add(
    "mind2web",
    "harness.benchmarks.original:BENCHMARK",
    "Mind2Web as first published (Deng et al. 2023): 1,341 test tasks, text only",
)
BENCHMARKS.add(
    "mm-mind2web-tilde",
    "harness.benchmarks.tilde:BENCHMARK",
    "rabbit's snapshot of the test splits with 20 distractors, prompts and choices as stored",
)
BENCHMARKS.add(
    "snapshot",
    "harness.benchmarks.tilde:SNAPSHOT",
    "a snapshot written by `vlm-eval snapshot`, given with --data",
)
BENCHMARKS.add(
    "sample",
    "harness.benchmarks.sample:BENCHMARK",
    "a few tasks on made-up sites, shipped with the package, to try things out",
)


def benchmark(name: str) -> Benchmark:
    """The benchmark of that name. Raises `DataError` when there is none."""
    try:
        return BENCHMARKS.make(name)
    except UnknownName as error:
        raise DataError(str(error)) from error


def open_benchmark(
    name: str, *, splits: Sequence[str] | None = None, data: Path | None = None
) -> Dataset:
    """Open a benchmark by name; see `Benchmark.open`."""
    return benchmark(name).open(splits=splits, data=data)
