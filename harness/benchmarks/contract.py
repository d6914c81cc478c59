"""The interface between a benchmark and the rest of the harness."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

from harness.benchmarks.dataset import Dataset
from harness.benchmarks.options import Options, refuse_given, with_values
from harness.benchmarks.shows import Ready, Shows
from harness.dialogue import Dialogue
from harness.errors import DataError, ExtensionError, UserError, raised
from harness.pictures import PictureError, plan, read_size
from harness.policies import Secret
from harness.printing import test_data_note
from harness.protocols import AskingProtocol, ask
from harness.runs.records import Unit
from harness.views import ItemView
from parsers import Counts, Measure
from parsers.declaration import Declaration
from parsers.estimates import unanswered
from parsers.records import Prediction, Scores

if TYPE_CHECKING:
    from harness.benchmarks.prediction_file import Predictions
    from harness.settings import Settings

D = TypeVar("D")

Scorer = Callable[[Prediction, Any], Scores]
"""From a prediction and the detail of a unit to its scores."""


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
        pictures: True if its units have pictures to show.
        whole_pictures: True if answers are places on them: all of each has to be shown.
        View: what protocols and policies are shown of a unit (`harness.views`); they name the class
            that they answer, too. By default an `ItemView` of the detail's `asked`.
        Detail: the type of the details of units on their lines, a dataclass that JSON can hold; by
            default that of the kind, if the kind ships, else JSON values.
        protocol: its default protocol.
        Options: the dataclass of its options (`--benchmark-option`).
        name: its name in the registry, and in every row and run.
        splits: all its splits; () if the files determine them.
        default_splits: the splits to read by default.
        sizes: the full sizes of its splits. A run on a part of one is not compared with published
            results.
        guarded: True to add the note that its texts and results should stay out of training
            corpora.
        note: that note, in the words of its authors.
        published: since when anybody can read its data (a year, or a date as 2025-03-09); "" for
            data that are not public, or were made for no model to see.
        declared: the declaration of its results: measures, parents, groups and words.
        options: its options in this run.
        given: the names of the options that the user gave.
        first: how many units of each innermost parent a run asks about; None: all.
        rounds: how often a unit may be asked about at most: an episode at each step.
        explained: what some measures say, in a sentence for people, by name.
        home: where its runs lie, unless the user says; None: where all do.
        scorers: a function for every score, unless `score` computes them all at once.
    """

    name: str
    splits: tuple[str, ...] = ()
    default_splits: tuple[str, ...] = ()
    sizes: tuple[SplitSize, ...] = ()
    declared: Declaration = field(kw_only=True)
    published: str = field(default="", kw_only=True)
    options: Any = field(default=None, kw_only=True)
    first: int | None = field(default=None, kw_only=True)
    rounds: int = field(default=1, kw_only=True)
    given: frozenset[str] = field(default=frozenset(), kw_only=True, compare=False, repr=False)

    protocol: ClassVar[str] = ""
    View: ClassVar[Any] = ItemView
    Detail: ClassVar[Any] = None
    pictures: ClassVar[bool] = False
    whole_pictures: ClassVar[bool] = False
    Options: ClassVar[type[Options]] = Options
    explained: ClassVar[Mapping[str, str]] = {}
    home: ClassVar[Path | None] = None
    guarded: ClassVar[bool] = True
    note: ClassVar[str] = test_data_note()
    scorers: ClassVar[Mapping[str, Callable[[Prediction, Any], float | None]]] = {}

    def __post_init__(self) -> None:
        if self.options is None:
            object.__setattr__(self, "options", self.Options())

    def unit(self, unit_id: str, detail: D, split: str = "test", **facts: Any) -> Unit[D]:
        """Build a unit of this benchmark without an outcome; `facts` are fields of `Unit`."""
        return Unit(
            kind=self.declared.kind,
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

    def with_options(self, given: Iterable[tuple[str, Any]], *, is_given: bool = False) -> Self:
        """Return the benchmark with options of a run, as text or as values.

        `is_given` says that the user gave them just now. Raises `UserError` for an unknown
        option, `DataError` for a value of another type.
        """
        pairs = dict(given)
        options = with_values(self.options, pairs.items(), self.name)
        return replace(self, options=options, given=frozenset(pairs if is_given else ()))

    def of_run(self, settings: Settings) -> Self:
        """Return the benchmark with the settings of a run that it needs, such as a seed.

        Raises `UserError` if the user gave one that its data fixes, `DataError` if these cannot be
        read.
        """
        return self

    def fitted(self, protocol: AskingProtocol, settings: Settings, *, is_policy: bool) -> Self:
        """Return the benchmark with the options that were left open, as the protocol has them.

        `settings` are those that were given. Raises `UserError` for options that do not go
        together, `UserError` for one without an effect.
        """
        policy = self.options.image_policy
        if not self.pictures:
            refuse_given(
                self.given,
                ("image_policy",),
                f"on {self.name}, whose {self.declared.units} have no pictures; leave it out",
            )
            if protocol.needs.sees:
                raise UserError(
                    f"'{protocol.name}' cannot be asked without pictures, and {self.name} has "
                    "none; choose another --protocol"
                )
            policy = "none"
        else:
            policy = policy or protocol.needs.picture_policy
            known, how = {"full", "none"}, "unchanged (full) or not at all (none)"
            if self.whole_pictures:
                known, how = {"full"}, "whole (full)"
            if policy.partition(":")[0] not in known:
                raise UserError(f"--image-policy {policy}: a picture of {self.name} is shown {how}")
        return replace(self, options=replace(self.options, image_policy=policy))

    def holds(self, data: Path) -> bool:
        """Return True if the benchmark recognises a folder as its data."""
        return False

    def check_installed(self) -> None:
        """Raise `UserError` if scoring needs a missing package; called before any call."""
        return

    def score(self, prediction: Prediction, detail: Any) -> Scores:
        """Return the scores of a unit by their names in `declared`; None for unmeasured ones.

        By default every score is computed by the function of its name in `scorers`.

        Args:
            prediction: the answer, or the reason for its absence.
            detail: the fields of this kind of units (`Unit.detail`), right answer included.
        """
        return {name: scorer(prediction, detail) for name, scorer in self.scorers.items()}

    # Units to show, ask about and record. By default, units come ready (`Items`).

    def ready(self, part: Dataset[Any], whole: Dataset[Any], shows: Shows) -> Iterator[Ready[Any]]:
        """Prepare the units of a data set, in order, one at a time.

        Args:
            part: the units.
            whole: all units of the groups that they belong to, selected or not.
            shows: what is shown of them.

        Raises:
            DataError: a unit cannot be read.
        """
        for unit in part.entries:
            try:
                data = () if shows.pictures.name == "none" else part.pictures(unit)
                yield illustrated(self, unit, data, shows)
            except PictureError as error:
                raise DataError(f"{unit.source or unit.unit_id}: {error}") from error
            except (UserError, MemoryError):
                raise
            except Exception as error:
                raise ExtensionError(
                    f"{unit.kind} {unit.unit_id} cannot be read: {raised(error)}"
                ) from error

    def recall(self, unit: Unit[Any], *, scene: bool = True) -> Ready[Any]:
        """Return a unit on record as when it was asked about, without its data.

        `scene` says whether the dialogue may look up what is on record of the unit's surroundings.
        Raises `UserError` if the type of its detail is not at hand.
        """
        detail = unit.detail
        if isinstance(detail, dict):
            raise UserError(
                f"{unit.benchmark} cannot be asked about here: the package that has it is not "
                "installed"
            )
        return Ready(
            unit, self.View(unit.unit_id, detail.asked, unit.pictures), Secret(detail.gold)
        )

    def dialogue(self, view: Any, shows: Shows) -> Dialogue:
        """Ask about a unit, with `--samples` several times, in the actions of the benchmark."""
        return ask(shows.protocol, view, self.declared.actions, shows.vote())

    def check(self, units: Dataset[Any], shows: Shows) -> None:
        """Raise `UserError` if these units cannot be asked about with the run's settings."""
        return

    def identity(self, shows: Shows, roles: Mapping[str, str]) -> dict[str, Any]:
        """Return what a run records about how it asks, in addition to its settings.

        `roles` has the names of the other models that the protocol asks, by role.
        """
        return {}

    async def close(self) -> None:
        """Close what dialogues have acted in."""
        return

    @property
    def usual_count(self) -> int:
        """The typical number of candidates per unit, used to estimate calls."""
        return 1

    def predictions(self, settings: Settings) -> Predictions:
        """Return the reader for external prediction files. Raises `UserError`.

        By default a line has an action of the space that the benchmark declares.
        """
        from harness.benchmarks.prediction_file import Predictions

        if self.declared.actions is None:
            raise UserError(f"--predictions: {self.name} declares no actions to predict")
        return Predictions(settings)

    # Results other than the scores.

    def chance(self, units: Sequence[Unit[Any]]) -> Iterable[Scores]:
        """The expected scores of an agent that knows nothing, of each of these units; () where
        that is unknown."""
        return ()

    def counts(self, units: Sequence[Unit[Any]]) -> dict[str, int]:
        """Further counts of rows, for `summary.json`: by default of those that have what is 0 or 1
        and not averaged."""
        return {measure.name: number for measure, number in self._unaveraged(units)}

    def notes(self, units: Sequence[Unit[Any]], counts: Counts) -> Iterator[str]:
        """Lines below the table, on how the finished units ended and on what was asked."""
        yield f"replies without an answer: {unanswered(counts)}"
        for measure, number in self._unaveraged(units):
            yield f"{measure.meaning or measure.title}: {number}"

    def footnotes(self, *, known: bool) -> Iterator[str]:
        """Footnotes of the table that define its measures and bounds; `known` says whether there
        is a ceiling."""
        return iter(())

    def mistake(self, units: Sequence[Unit[Any]], settings: Settings) -> str:
        """A mistake in the settings that the answers suggest, said while a run goes on and at its
        end; "" for none."""
        return ""

    def _unaveraged(self, units: Sequence[Unit[Any]]) -> list[tuple[Measure, int]]:
        return [
            (one, sum(unit.settled and (unit.scores or {}).get(one.name) == 1 for unit in units))
            for one in self.declared.counted
        ]

    # Words for people.

    def words(self, unit: Unit[Any]) -> str:
        """The right answer of a unit in a few words, with the reason if it is invalid."""
        text = str(getattr(unit.detail, "gold", ""))
        return f"{text} ({unit.invalid})" if unit.invalid else text

    def offered(self, shows: Shows) -> str:
        """Where the candidates come from, for the user; "" where there are none."""
        return ""


def illustrated(
    source: Benchmark, unit: Unit[Any], data: Sequence[bytes], shows: Shows
) -> Ready[Any]:
    """Return a unit that comes ready with its encoded pictures, as they are shown.

    Raises `DataError` for a picture of another size than the unit's detail says.
    """
    sizes = [read_size(encoded) for encoded in data]
    told = getattr(unit.detail, "size", None)
    for size in sizes:
        if told is not None and (size.width, size.height) != told:
            raise DataError(
                f"{unit.source or unit.unit_id}: its picture has {size.width} x {size.height} "
                f"pixels, and its row says {told[0]} x {told[1]}: is the picture another one, "
                "or made smaller?"
            )
    pictures = tuple(
        picture for size in sizes for picture in plan(shows.pictures, size, (), shows.rule)
    )
    sources = {size.digest: encoded for size, encoded in zip(sizes, data, strict=True)}
    return replace(source.recall(replace(unit, pictures=pictures)), sources=sources)


def calls_about(source: Benchmark, count: int, shows: Shows) -> tuple[int, int]:
    """The least and largest numbers of calls to the model about a unit of `count` candidates, as
    its protocol declares them."""
    times, (least, most) = shows.settings.samples or 1, shows.protocol.calls(count)
    return least * times, most * times * source.rounds
