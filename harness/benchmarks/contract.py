"""The interface between a benchmark and the rest of the harness."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from harness.benchmarks.dataset import Dataset
from parsers.declaration import Declaration
from parsers.mind2web import MIND2WEB

Fixed = Literal["distractors", "seed", "choices", "prompts", "images"]
"""What stored data can fix: the number of sampled negatives, the seed that samples them, the
choices as listed, the prompts around them, and the images as sent."""


class SplitSize(NamedTuple):
    """What a split holds as published: tasks, and rows (None where that is not known)."""

    split: str
    tasks: int
    rows: int | None = None


@dataclass(frozen=True)
class Benchmark(ABC):
    """A collection of recorded steps. Instances are values: frozen dataclasses.

    Attributes:
        name: its name in the registry, and in every row and run.
        description: one line about it.
        splits: all its splits; () if the files determine them.
        default_splits: the splits that are read if the user names none.
        screenshots: whether its rows have screenshots; if False, a row without one is valid.
        fixes: what the data itself fixes; options that would change it are refused.
        sizes: the whole of its splits. A run that holds less of one is a run on a part, and stands
            beside no published result.
        candidates: its stored choices in the words of published results; "" if none are stored.
        guarded: whether its texts and results come with the note that they should stay out of
            training corpora.
        declared: what it declares of its results: measures, parents, groups and words.
    """

    name: str
    description: str = ""
    splits: tuple[str, ...] = ()
    default_splits: tuple[str, ...] = ()
    screenshots: bool = True
    fixes: frozenset[Fixed] = frozenset()
    sizes: tuple[SplitSize, ...] = ()
    candidates: str = ""
    guarded: bool = True
    declared: Declaration = MIND2WEB

    @abstractmethod
    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Dataset:
        """Open some splits (None: the default ones), from `data` or from the default location.

        Raises:
            DataError: the data is unavailable or not in the expected format.
        """

    def stored_settings(self, data: Path | None) -> Mapping[str, Any]:
        """The settings that the data was made with, read without opening or downloading it.

        They equal `Dataset.settings`; {} if there are none.

        Raises:
            DataError: `data` cannot be read.
        """
        return {}
