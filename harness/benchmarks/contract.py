"""The interface between a benchmark and the rest of the harness."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from harness.benchmarks.dataset import Dataset
from harness.runs.records import UnitRecord
from harness.settings import Settings
from harness.tables import TEST_DATA_NOTE
from parsers.declaration import Declaration
from parsers.records import Prediction, Scores

D = TypeVar("D")


class SplitSize(NamedTuple):
    """What a split holds as published; None where that is not known.

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
        protocol: how its units are asked about if the user names no protocol.
        pictures: whether there are pictures to show with its units.
        own_python: whether what it asks about lives under another Python (`--env-python`).
        name: its name in the registry, and in every row and run.
        description: one line about it.
        splits: all its splits; () if the files determine them.
        default_splits: the splits that are read if the user names none.
        sizes: the whole of its splits. A run that holds less of one is a run on a part, and stands
            beside no published result.
        guarded: whether its texts and results come with the note that they should stay out of
            training corpora.
        note: that note, which says what its authors ask for.
        declared: what it declares of its results: measures, parents, groups and words.
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
        """What its units are (`step`), as declared: protocols ask about units of one kind."""
        return self.declared.kind

    def unit(self, unit_id: str, detail: D, split: str = "test", **facts: Any) -> UnitRecord[D]:
        """A unit of this benchmark without an outcome; `facts` are fields of `UnitRecord`."""
        return UnitRecord(
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
        """The benchmark with what it takes of a run's settings, such as the seed that it draws by;
        most take nothing."""
        return self

    def holds(self, data: Path) -> bool:
        """Whether a folder is known as this benchmark's without its being named."""
        return False

    def check_installed(self) -> None:
        """Raise `UserError` if a package is missing that scoring needs; asked before any call."""
        return

    def score(self, prediction: Prediction, detail: Any, settings: Settings) -> Scores:
        """The scores of a unit by the names that `declared` has; None for what is not measured.

        By default every score is computed by the function of its name in `scorers`.

        Args:
            prediction: what was answered, or why there is no answer.
            detail: what only units of this kind have (`UnitRecord.detail`), right answer included.
            settings: those of the run; which rules count is for the benchmark to say.
        """
        return {name: scorer(prediction, detail) for name, scorer in self.scorers.items()}
