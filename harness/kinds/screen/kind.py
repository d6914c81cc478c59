"""Steps on screens as a run asks about them: whole pictures, chance, what a form cannot say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from adapters.contract import ImageRule
from harness.benchmarks import Dataset, actions_of, declared
from harness.errors import DataError, UserError
from harness.kinds.contract import Question, UnitKind
from harness.kinds.protocols import as_oracle, open_with
from harness.kinds.scoring import (
    Bound,
    Bounds,
    Extras,
    Scorer,
    UnitBounds,
    UnitKey,
    key_of,
    scorer_of,
)
from harness.pictures import read_size
from harness.protocols import AskingProtocol
from harness.runs import Unit
from harness.settings import Settings
from harness.tables import counted
from parsers.actions import Action
from parsers.records import Prediction, Scores, Status
from parsers.screen import ScreenDetail

if TYPE_CHECKING:
    from harness.kinds.screen.predictions import ScreenPredictions

ScreenRecord = Unit[ScreenDetail]

DRAWN = 8
"""Points of a picture that stand for all of it where chance is computed."""
_ACROSS, _DOWN = 0.7548776662466927, 0.5698402909980532
"""The steps of the R2 sequence (Roberts 2018), which covers a square evenly."""
_OPPOSITE_SHARE = 0.8


class ScreenExtras(Extras):
    """Of steps on screens."""

    def bounds(self, records: Sequence[ScreenRecord], settings: Settings) -> Bounds | None:
        source = declared(settings.benchmark)
        if source is None:
            return None
        score = scorer_of(settings, source.declared)
        chance = {key_of(record): expected(record.detail, score) for record in records}
        return UnitBounds(source.declared, chance, _oracle(records, settings, score))

    def definitions(self, settings: Settings, ceilings: Iterable[Bound]) -> Iterator[str]:
        yield (
            "floor: a tap at a random point, expected; ceiling: the recorded action, as the form "
            "of the answers can say it"
        )

    def warning(self, records: Sequence[ScreenRecord], settings: Settings) -> str:
        """Say where most scrolls go the opposite way: then the words are declared wrongly."""
        pairs = [
            (said.arguments.get("direction"), record.detail.gold.action.arguments["direction"])
            for record in records
            if record.prediction and (said := record.prediction.action) and said.name == "scroll"
            if record.detail.gold.action.name == "scroll"
        ]
        opposite = {("up", "down"), ("down", "up"), ("left", "right"), ("right", "left")}
        wrong = sum(pair in opposite for pair in pairs)
        if len(pairs) < 10 or wrong < _OPPOSITE_SHARE * len(pairs):
            return ""
        return (
            f"{wrong} of {len(pairs)} scrolls go the opposite way: the model may name the "
            "finger where the view is expected, or the other way about; see --protocol-option "
            "scroll=content|finger"
        )


class ScreenSteps(UnitKind):
    """Steps on screens, each shown whole."""

    extras = ScreenExtras()

    @classmethod
    def completed(cls, settings: Settings, protocol: AskingProtocol) -> dict[str, Any]:
        """Reject settings that cut the picture: a place needs all of it."""
        completed = super().completed(settings, protocol)
        policy = str(completed["image_policy"])
        if not policy.startswith("full"):
            raise UserError(
                f"--image-policy {policy}: a screen of {settings.benchmark} is shown whole (full)"
            )
        return completed

    @classmethod
    def predictions(cls, settings: Settings) -> ScreenPredictions:
        from harness.kinds.screen.predictions import ScreenPredictions

        return ScreenPredictions(settings)

    @classmethod
    def right(cls, record: ScreenRecord) -> str:
        return " or ".join(map(str, record.detail.gold.actions))

    def check(self, selected: Dataset[Any]) -> None:
        """Raise `UserError` if steps without a sentence are asked about with theirs."""
        if getattr(self.protocol, "level", "") != "low":
            return
        blank = [unit.unit_id for unit in selected.entries if not unit.detail.asked.instruction]
        if blank:
            raise UserError(
                f"level=low shows the sentence about each step, and {counted(len(blank), 'step')} "
                f"(the first is {blank[0]}) have none: ask with level=high"
            )

    def _question(
        self, unit: ScreenRecord, data: Sequence[bytes], rule: ImageRule | None
    ) -> Question:
        for size in map(read_size, data):
            if (size.width, size.height) != unit.detail.size:
                width, height = unit.detail.size
                raise DataError(
                    f"{unit.source or unit.unit_id}: its picture has {size.width} x {size.height} "
                    f"pixels, and its row says {width} x {height}: is the picture another one, or "
                    "made smaller?"
                )
        return super()._question(unit, data, rule)


def expected(detail: ScreenDetail, score: Scorer) -> Scores:
    """Return the mean scores of a tap drawn uniformly from the picture, from a few even points."""
    width, height = detail.size
    taps = [
        Action(
            "click",
            point=((0.5 + _ACROSS * place) % 1 * width, (0.5 + _DOWN * place) % 1 * height),
        )
        for place in range(DRAWN)
    ]
    found = [score(Prediction(Status.ANSWERED, tap), detail) for tap in taps]
    means: dict[str, float | None] = {}
    for name in found[0]:
        values = [value for scores in found if (value := scores[name]) is not None]
        means[name] = sum(values) / len(values) if values else None
    return means


def _oracle(
    records: Sequence[ScreenRecord], settings: Settings, score: Scorer
) -> dict[UnitKey, Scores] | None:
    """Return the scores of the oracle as the protocol reads it; None where it cannot be asked."""
    if any(record.invalid is None and not record.pictures for record in records):
        return None
    try:
        protocol = open_with(replace(settings, prompts=None))
    except UserError:
        return None
    space = actions_of(settings.benchmark)
    found: dict[UnitKey, Scores] = {}
    for record in records:
        if key_of(record) not in found and record.invalid is None:
            prediction = as_oracle(protocol, ScreenSteps.of_record(record), space)
            found[key_of(record)] = score(prediction, record.detail)
    return found
