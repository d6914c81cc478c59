"""The interface between a benchmark and the rest of the harness."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from harness.benchmarks.dataset import Dataset
from harness.runs.records import Unit
from harness.settings import Settings
from harness.tables import TEST_DATA_NOTE
from parsers.declaration import Declaration
from parsers.records import Prediction, Scores

D = TypeVar("D")


class SplitSize(NamedTuple):
    """The published size of a split; None if unknown.

    Attributes:
        tasks: the innermost parents (tasks of recorded steps, pictures of grounding).
        rows: the units.
    """

    split: str
    tasks: int | None
    rows: int | None = None


@dataclass(frozen=True)
class Benchmark(ABC):
    """A collection of units to ask about. Instances are values: frozen dataclasses.

    Attributes:
        protocol: the default protocol.
        pictures: True if its units have pictures to show.
        own_python: True if its environments need another Python (`--env-python`).
        name: its name in the registry, and in every row and run.
        description: one line about it.
        splits: all its splits; () if the files determine them.
        default_splits: the splits to read by default.
        sizes: the full sizes of its splits. A run on a part of one is not compared with published
            results.
        guarded: True to add the note that its texts and results should stay out of training
            corpora.
        note: that note, in the words of its authors.
        declared: the declaration of its results: measures, parents, groups and words.
        scorers: a function for every score, unless `score` computes them all at once.
    """

    name: str
    description: str = ""
    splits: tuple[str, ...] = ()
    default_splits: tuple[str, ...] = ()
    sizes: tuple[SplitSize, ...] = ()
    guarded: bool = True
    note: str = TEST_DATA_NOTE
    declared: Declaration = field(kw_only=True)

    protocol: ClassVar[str]
    pictures: ClassVar[bool] = False
    own_python: ClassVar[bool] = False
    scorers: ClassVar[Mapping[str, Callable[[Prediction, Any], float | None]]] = {}

    @property
    def kind(self) -> str:
        """The declared kind of its units (`step`): protocols ask about units of one kind."""
        return self.declared.kind

    def unit(self, unit_id: str, detail: D, split: str = "test", **facts: Any) -> Unit[D]:
        """Build a unit of this benchmark without an outcome; `facts` are fields of `Unit`."""
        return Unit(
            kind=self.kind,
            unit_id=unit_id,
            benchmark=self.name,
            split=split,
            detail=detail,
            **facts,
        )

    @abstractmethod
    def open(
        self, *, splits: Sequence[str] | None = None, data: Path | None = None
    ) -> Dataset[Any]:
        """Open some splits (None: the default ones), from `data` or from the default location.

        Raises:
            DataError: the data is unavailable or not in the expected format.
        """

    def of_run(self, settings: Settings) -> Self:
        """Return the benchmark with the settings of a run that it needs, such as a seed."""
        return self

    def holds(self, data: Path) -> bool:
        """Return True if the benchmark recognises a folder as its data."""
        return False

    def check_installed(self) -> None:
        """Raise `UserError` if scoring needs a missing package; called before any call."""
        return

    def score(self, prediction: Prediction, detail: Any, settings: Settings) -> Scores:
        """Return the scores of a unit by their names in `declared`; None for unmeasured ones.

        By default every score is computed by the function of its name in `scorers`.

        Args:
            prediction: the answer, or the reason for its absence.
            detail: the fields of this kind of units (`Unit.detail`), right answer included.
            settings: the settings of the run; the benchmark decides which rules apply.
        """
        return {name: scorer(prediction, detail) for name, scorer in self.scorers.items()}
