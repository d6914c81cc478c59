"""What a benchmark is to the rest of the harness."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness.benchmarks.dataset import Dataset

Fixed = Literal["distractors", "seed", "choices", "prompts", "images"]
"""What data may fix: how many negatives are drawn, the seed that draws them, the candidates as
listed, the texts around them, and the pictures as sent."""


@dataclass(frozen=True)
class Benchmark(ABC):
    """A collection of recorded steps. Instances are values: frozen dataclasses.

    Attributes:
        name: its name in the registry, and in every row and run.
        description: a line about it.
        splits: all its splits; () where the files say which there are.
        default_splits: the splits that are read if the user names none.
        screenshots: whether its rows have screenshots; without, no row is invalid for lack of one.
        fixes: what the data itself fixes, so that options for it are refused.
    """

    name: str
    description: str = ""
    splits: tuple[str, ...] = ()
    default_splits: tuple[str, ...] = ()
    screenshots: bool = True
    fixes: frozenset[Fixed] = frozenset()

    @abstractmethod
    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Dataset:
        """The steps of some splits (None: the default ones), from `data` or from the usual place.

        Raises:
            DataError: the data cannot be had or is not of the form expected.
        """

    def stored_settings(self, data: Path | None) -> Mapping[str, Any]:
        """The settings that the data was made with, read without opening or downloading it.

        They are those of `Dataset.settings`; {} where there are none.

        Raises:
            DataError: `data` cannot be read.
        """
        return {}
