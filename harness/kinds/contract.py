"""Kinds of units as a run asks about them: questions made of data, and of lines on record.

General code asks a `UnitKind` for all that depends on the kind. The base class serves
units that come ready from their benchmark (`harness.benchmarks.items`). A kind whose units have to
be prepared derives from it and is listed in `UNIT_KINDS`, or in the entry-point group
`vlm_eval.units`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from adapters.contract import AdapterInfo, ImageRule
from adapters.registry import Registry, UnknownName
from harness.benchmarks import Benchmark, Dataset, actions_of, benchmark
from harness.dialogue import Dialogue
from harness.errors import DataError, ExtensionError, UserError, raised
from harness.kinds.ready import Question as Question
from harness.kinds.scoring import Extras, Scorer, scored, scorer_of
from harness.pictures import PictureError, PicturePolicy, plan, read_size
from harness.policies import Secret
from harness.protocols import AskingProtocol, ask
from harness.runs import Unit
from harness.settings import EARLIER, ELEMENTS, EPISODES, PICTURES, RULES, SETTINGS, STEPS, Settings
from parsers.actions import ActionSpace
from parsers.records import Prediction

if TYPE_CHECKING:
    from harness.kinds.prediction_file import Predictions
    from harness.kinds.replies import PastReplies
    from harness.protocols.vote import Vote


class UnitKind:
    """Base class of kinds of units; an instance belongs to one run.

    Attributes:
        pictures: the picture policy of the run.
        extras: bounds and extra counts of such units.
        replies: what another run replied, None unless `--history-from` names one.
        space: the actions of the benchmark.
        vote: how the samples of a dialogue are counted; None for one sample.
        same_within: largest distance of two points that are the same answer, in pixels, where no
            candidate is known under either.
    """

    extras: ClassVar[Extras] = Extras()
    after: ClassVar[tuple[str, ...]] = ()
    """Judging protocols that suit such units, unless their benchmark names others."""
    same_within: ClassVar[float] = 14.0
    replies: PastReplies | None = None

    def __init__(self, settings: Settings, protocol: AskingProtocol) -> None:
        self.settings = settings
        self.protocol = protocol
        self.pictures = picture_policy(settings)

    @classmethod
    def same(cls, one: Prediction, other: Prediction) -> bool:
        """Return whether two predictions are the same answer, for a vote of samples."""
        if one.status != other.status or one.action is None or other.action is None:
            return (one.status, one.action) == (other.status, other.action)
        if one.point is None or other.point is None:
            return one.action == other.action
        if one.under is None and other.under is None:
            near = math.dist(one.point, other.point) <= cls.same_within
        else:
            near = one.under == other.under
        return near and replace(one.action, point=other.point) == other.action

    def dialogue(self, view: Any) -> Dialogue:
        """Ask about a unit, with `--samples` several times, in the actions of the benchmark."""
        return ask(self.protocol, view, self.space, self.vote)

    def calls(self, count: int) -> dict[str, tuple[int, int]]:
        """The least and largest numbers of calls that are declared, by role ("": the model)."""
        times = self.settings.samples or 1
        calls = {"": self.protocol.calls(count), **self.protocol.role_calls(count)}
        return {role: (least * times, most * times) for role, (least, most) in calls.items()}

    @cached_property
    def space(self) -> ActionSpace | None:
        return actions_of(self.settings.benchmark)

    @cached_property
    def vote(self) -> Vote | None:
        if self.settings.samples is None:
            return None
        from harness.protocols.vote import Vote

        return Vote(self.settings.samples, self.settings.vote or "majority", self.same)

    @classmethod
    def given(cls, settings: Settings) -> Settings:
        """The settings of a run, with those that its data fixes.

        Raises `UserError` if the user gave one of these, `DataError` if they cannot be read.
        """
        return settings

    @classmethod
    def never_has(cls, source: Benchmark) -> frozenset[str]:
        """Return the features that a benchmark's units lack (`STEPS`, `PICTURES`, ...)."""
        return frozenset({STEPS, EARLIER, ELEMENTS, *(() if source.pictures else (PICTURES,))})

    @classmethod
    def lacks(
        cls, settings: Settings, protocol: AskingProtocol, *, is_policy: bool
    ) -> dict[str, str]:
        """The features that settings may need and this kind lacks, each with where and what to do.

        Raises `UserError` for settings that do not go together.
        """
        source = benchmark(settings.benchmark)
        where = f"on {source.name}, {{}}; leave it out"
        are = where.format(f"a benchmark of kind '{source.kind}'")
        lacks = dict.fromkeys((STEPS, EARLIER, ELEMENTS, EPISODES, RULES), are)
        if not source.pictures:
            lacks[PICTURES] = where.format(f"whose {source.declared.units} have no pictures")
        known = _groups(source)
        for setting in SETTINGS.values():
            if setting.selects and setting.selects not in known:
                lacks[setting.selects] = where.format(
                    f"whose {source.declared.units} have no {setting.selects}"
                )
        return lacks

    @classmethod
    def completed(cls, settings: Settings, protocol: AskingProtocol) -> dict[str, Any]:
        """The settings that were left open. Raises `UserError`."""
        if not benchmark(settings.benchmark).pictures:
            if protocol.needs.sees:
                raise UserError(
                    f"'{protocol.name}' cannot be asked without pictures, and {settings.benchmark} "
                    "has none; choose another --protocol"
                )
            return {"image_policy": "none"}
        policy = settings.image_policy or protocol.needs.picture_policy
        if policy.partition(":")[0] not in ("full", "none"):
            raise UserError(
                f"--image-policy {policy}: a picture of {settings.benchmark} is shown unchanged "
                "(full) or not at all (none)"
            )
        return {"image_policy": policy}

    @classmethod
    def usual_count(cls, settings: Settings) -> int:
        """Return the typical number of candidates per unit, used to estimate calls."""
        return 1

    @classmethod
    def predictions(cls, settings: Settings) -> Predictions:
        """Return the reader for external prediction files. Raises `UserError`.

        By default a line has an action of the space that the benchmark declares.
        """
        from harness.kinds.prediction_file import DeclaredPredictions

        source = benchmark(settings.benchmark)
        if source.declared.actions is None:
            raise UserError(f"--predictions: {source.name} declares no actions to predict")
        return DeclaredPredictions(settings)

    def open(self) -> None:
        """Open what the units need in addition to their data. Raises `UserError`."""
        if self.settings.history_from is not None:
            from harness.kinds.replies import PastReplies

            self.replies = PastReplies(Path(self.settings.history_from), self.settings.benchmark)

    async def close(self) -> None:
        """Close what questions have opened."""

    def check(self, selected: Dataset[Any]) -> None:
        """Raise `UserError` if these units cannot be asked about with the run's settings."""

    def described(self, roles: Mapping[str, str]) -> dict[str, Any]:
        """Return what the run records about its questions, in addition to the settings.

        `roles` has the names of the other models that the protocol asks, by role.
        """
        return {} if self.replies is None else {"history_from_sha256": self.replies.digest}

    def offered(self) -> str:
        """Where the candidates come from, for the user; "" where there are none."""
        return ""

    def shown(self) -> str:
        """Say what a model is shown of a unit."""
        history = self.settings.history
        told = "" if history is None else f", history: {history}"
        return f"picture: {self.pictures.text}{told}"

    @classmethod
    def listed(cls, dataset: Dataset[Any]) -> Iterator[Unit[Any]]:
        """The units of a selection, for a list. Raises `DataError` for a damaged file."""
        return iter(dataset.entries)

    @classmethod
    def right(cls, record: Unit[Any]) -> str:
        """The right answer of a unit in a few words, with the reason if it is invalid."""
        gold = getattr(record.detail, "gold", "")
        text = str(gold)
        return f"{text} ({record.invalid})" if record.invalid else text

    def about(self, record: Unit[Any]) -> str:
        """A line about a unit that is going to be asked about."""
        where = ", ".join((record.split, *record.parents.values()))
        unit = benchmark(record.benchmark).declared.unit
        return f"{unit} {record.unit_id} ({where})"

    def why_unasked(self, question: Question) -> str:
        """Give the reason that a valid unit needs no model call."""
        status = question.outcome.status if question.outcome else "unknown"
        return f"its outcome is known: {status}; no model is asked about it"

    @classmethod
    def ended(cls, record: Unit[Any]) -> str:
        """Say how a unit ended, with the action that was answered."""
        said = record.prediction
        if said is None:
            return "not answered"
        return f"{said.status}: {said.action}" if said.action else str(said.status)

    @classmethod
    def answer(cls, record: Unit[Any]) -> str:
        """A line with the right answer of a unit."""
        return f"right: {cls.right(record)}"

    def questions(
        self, dataset: Dataset[Any], whole: Dataset[Any], info: AdapterInfo, *, is_blind: bool
    ) -> Iterator[Question]:
        """Prepare the units of a data set, in order, one at a time.

        `whole` holds all units of the groups that they belong to, selected or not; `is_blind` says
        whether a policy answers that sees no pictures. Raises `DataError` for a unit that cannot be
        read.
        """
        from harness.benchmarks.items import Items

        if not isinstance(dataset, Items):
            raise TypeError(f"benchmarks of kind '{dataset.kind}' need their own kind")
        for unit in dataset.entries:
            try:
                data = () if self.pictures.name == "none" else dataset.pictures(unit)
                yield self._question(unit, data, info.image_rule)
            except PictureError as error:
                raise DataError(f"{unit.source or unit.unit_id}: {error}") from error
            except (UserError, MemoryError):
                raise
            except Exception as error:
                raise ExtensionError(
                    f"{unit.kind} {unit.unit_id} cannot be read: {raised(error)}"
                ) from error

    def _question(self, unit: Unit[Any], data: Sequence[bytes], rule: ImageRule | None) -> Question:
        sizes = [read_size(encoded) for encoded in data]
        pictures = tuple(
            picture for size in sizes for picture in plan(self.pictures, size, (), rule)
        )
        sources = {size.digest: encoded for size, encoded in zip(sizes, data, strict=True)}
        record = replace(unit, pictures=pictures)
        return replace(self.of_record(record), sources=sources)

    def scored(self, record: Unit[Any]) -> Unit[Any]:
        """Return the record with the scores of its prediction; see `harness.kinds.scoring.scored`.

        Raises `UserError` for scores that the benchmark does not declare.
        """
        return scored(record, self._score)

    @cached_property
    def _score(self) -> Scorer:
        return scorer_of(self.settings, benchmark(self.settings.benchmark).declared)

    @classmethod
    def of_record(cls, record: Unit[Any], *, scene: bool = True) -> Question:
        """The question of a unit on record, without its data.

        `scene` says whether the dialogue may look up what is on record of the unit's surroundings.
        Raises `UserError` if the type of its detail is not at hand.
        """
        detail = record.detail
        if isinstance(detail, dict):
            raise UserError(
                f"a benchmark of kind '{record.kind}' cannot be asked about here: the package "
                "that has this kind is not installed"
            )
        view = benchmark(record.benchmark).View(record.unit_id, detail.asked, record.pictures)
        return Question(record, view, Secret(detail.gold))


def picture_policy(settings: Settings, usual: str = "none") -> PicturePolicy:
    """The picture policy of completed settings. Raises `UserError`."""
    text = settings.image_policy or usual
    if settings.pixels is not None:
        if not text.startswith("full"):
            raise UserError("--pixels is the budget of --image-policy full; leave it out")
        text += ("," if ":" in text else ":") + f"pixels={settings.pixels}"
    return PicturePolicy.parse(text)


UNIT_KINDS: Registry[type[UnitKind]] = Registry("kind of benchmark", "vlm_eval.units")
UNIT_KINDS.add("episode", "harness.kinds.episode.kind:Episodes", "episodes on live pages")
UNIT_KINDS.add(
    "grounding", "harness.kinds.grounding.kind:GroundingItems", "instructions about pictures"
)
UNIT_KINDS.add("prompt", "harness.kinds.prompt.kind:Prompts", "finished prompts")
UNIT_KINDS.add("question", "harness.kinds.question.kind:Questions", "questions about pictures")
UNIT_KINDS.add("screen-step", "harness.kinds.screen.kind:ScreenSteps", "recorded steps on screens")
UNIT_KINDS.add("trajectory", "harness.judging.kind:Trajectories", "what an agent did, judged")
UNIT_KINDS.add("step", "harness.kinds.step.kind:RecordedSteps", "recorded steps")


def unit_kind(kind: str) -> type[UnitKind]:
    """Return the class of a kind: its own, or the base class for units that come ready."""
    try:
        found: type[UnitKind] = UNIT_KINDS.get(kind)
    except UnknownName:
        return UnitKind
    return found


def kind_of(name: str) -> type[UnitKind]:
    """The kind of the units of a benchmark. Raises `DataError` for an unknown one."""
    return unit_kind(benchmark(name).kind)


def _groups(source: Benchmark) -> frozenset[str]:
    """Return the levels and labels that select units of a benchmark."""
    levels = [level.name for level in source.declared.levels]
    return frozenset((*levels, *(group.name for group in source.declared.groups)))
