"""The interface between a benchmark and the rest of the harness."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from harness.benchmarks.dataset import Dataset
from parsers.declaration import Declaration
from parsers.mind2web import MIND2WEB


class SplitSize(NamedTuple):
    """What a split holds as published: tasks, and rows (None where that is not known)."""

    split: str
    tasks: int
    rows: int | None = None


@dataclass(frozen=True)
class Benchmark(ABC):
    """A collection of units to ask about. Instances are values: frozen dataclasses.

    Attributes:
        protocol: how its units are asked about if the user names no protocol.
        pictures: whether there are pictures to show with its units.
        name: its name in the registry, and in every row and run.
        description: one line about it.
        splits: all its splits; () if the files determine them.
        default_splits: the splits that are read if the user names none.
        sizes: the whole of its splits. A run that holds less of one is a run on a part, and stands
            beside no published result.
        guarded: whether its texts and results come with the note that they should stay out of
            training corpora.
        declared: what it declares of its results: measures, parents, groups and words.
    """

    name: str
    description: str = ""
    splits: tuple[str, ...] = ()
    default_splits: tuple[str, ...] = ()
    sizes: tuple[SplitSize, ...] = ()
    guarded: bool = True
    declared: Declaration = MIND2WEB

    protocol: ClassVar[str]
    pictures: ClassVar[bool] = False

    @property
    def kind(self) -> str:
        """What its units are (`step`), as declared: protocols ask about units of one kind."""
        return self.declared.kind

    @abstractmethod
    def open(
        self, *, splits: Sequence[str] | None = None, data: Path | None = None
    ) -> Dataset[Any]:
        """Open some splits (None: the default ones), from `data` or from the default location.

        Raises:
            DataError: the data is unavailable or not in the expected format.
        """
