"""Steps on screens as a run asks about them: whole pictures, chance, what a form cannot say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from adapters.contract import AdapterInfo
from harness.benchmarks import Dataset, declared
from harness.errors import UserError
from harness.kinds.contract import Question
from harness.kinds.scoring import (
    Bound,
    Bounds,
    Extras,
    Scorer,
    UnitBounds,
    key_of,
    scorer_of,
)
from harness.kinds.screen.published import as_published
from harness.kinds.whole_pictures import WholePictures, oracle_scores
from harness.protocols import AskingProtocol
from harness.runs import Unit
from harness.settings import EARLIER, RULES, Settings
from harness.tables import counted
from parsers import Counts
from parsers.actions import Action
from parsers.records import Prediction, Scores, Status
from parsers.screen import KIND, ScreenDetail, gist, parts, told

if TYPE_CHECKING:
    from harness.kinds.screen.predictions import ScreenPredictions

ScreenRecord = Unit[ScreenDetail]

DRAWN, FEWEST, IN_ALL = 64, 8, 40_000
"""Points of a picture that stand for all of it where chance is computed; fewer in large runs."""
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
        drawn = min(DRAWN, max(FEWEST, IN_ALL // max(len(records), 1)))
        chance = {key_of(record): expected(record.detail, score, drawn) for record in records}
        return UnitBounds(chance, oracle_scores(records, settings, score))

    def definitions(self, settings: Settings, ceilings: Iterable[Bound]) -> Iterator[str]:
        yield (
            "chance: a tap at a random point, expected; ceiling: the recorded action, as the form "
            "of the answers can say it"
        )

    def answers(
        self, records: Sequence[ScreenRecord], counts: Counts, top_k: int | None
    ) -> Iterator[str]:
        yield from super().answers(records, counts, top_k)
        yield from as_published(records)

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


class ScreenSteps(WholePictures):
    """Steps on screens, each shown whole."""

    extras = ScreenExtras()
    # Half of the smallest target that Android recommends, 48 dp, at 2.5 pixels per dp.
    same_within = 60.0

    @classmethod
    def same(cls, one: Prediction, other: Prediction) -> bool:
        """Return whether two answers do the same: places near one another, scrolls one way."""
        ours, theirs = (parts(said.action) if said.action else () for said in (one, other))
        if not ours or len(ours) != len(theirs):
            return (one.status, one.action) == (other.status, other.action)
        pairs = zip(ours, theirs, strict=True)
        return all(
            super(ScreenSteps, cls).same(
                replace(one, action=gist(a)), replace(other, action=gist(b))
            )
            for a, b in pairs
        )

    @classmethod
    def asks_with(
        cls, protocol: AskingProtocol, settings: Settings, info: AdapterInfo | None
    ) -> AskingProtocol:
        """Protocols of the web may ask about screens, too."""
        if protocol.kind == KIND:
            return protocol
        from harness.kinds.screen.web import on_screens

        return on_screens(protocol, info)

    @classmethod
    def lacks(
        cls, settings: Settings, protocol: AskingProtocol, *, is_policy: bool
    ) -> dict[str, str]:
        lacks = super().lacks(settings, protocol, is_policy=is_policy)
        for feature in (EARLIER, RULES):
            del lacks[feature]
        return lacks

    @classmethod
    def predictions(cls, settings: Settings) -> ScreenPredictions:
        from harness.kinds.screen.predictions import ScreenPredictions

        return ScreenPredictions(settings)

    @classmethod
    def right(cls, record: ScreenRecord) -> str:
        return " or ".join(map(told, record.detail.gold.actions))

    def questions(
        self, dataset: Dataset[Any], whole: Dataset[Any], info: AdapterInfo, *, is_blind: bool
    ) -> Iterator[Question]:
        """With the earlier steps, where more of them is shown than what was recorded in words."""
        asked = super().questions(dataset, whole, info, is_blind=is_blind)
        questions = asked if self._shows_sentences else map(_without_sentence, asked)
        history = self.protocol.history_shown
        if self.replies is not None:
            self.replies.check(unit.unit_id for unit in whole.entries)
        elif not history.turns and history.pictures[1] == 1:
            return questions
        from harness.kinds.screen.before import with_before

        return with_before(questions, whole, history, self.pictures, info.image_rule, self.replies)

    @property
    def _shows_sentences(self) -> bool:
        return getattr(self.protocol, "level", "") == "low"

    def check(self, selected: Dataset[Any]) -> None:
        """Raise `UserError` if steps without a sentence are asked about with theirs."""
        if not self._shows_sentences:
            return
        blank = [unit.unit_id for unit in selected.entries if not unit.detail.asked.instruction]
        if blank:
            raise UserError(
                f"level=low shows the sentence about each step, and {counted(len(blank), 'step')} "
                f"(the first is {blank[0]}) have none: ask with level=high"
            )


def _without_sentence(question: Question) -> Question:
    """Return a question without the sentence about its step, which policies could read, too."""
    (item,) = question.asked
    task = replace(item.content, instruction="")
    return replace(question, asked=(replace(item, content=task),))


def expected(detail: ScreenDetail, score: Scorer, drawn: int) -> Scores:
    """Return the mean scores of a tap drawn uniformly from the picture, from a few even points."""
    width, height = detail.size
    gold = detail.gold
    if not gold.all_boxes and all(action.point is None for action in gold.actions):
        drawn = 1  # No rule looks at where the tap is.
    taps = [
        Action(
            "click",
            point=((0.5 + _ACROSS * place) % 1 * width, (0.5 + _DOWN * place) % 1 * height),
        )
        for place in range(drawn)
    ]
    found = [score(Prediction(Status.ANSWERED, tap), detail) for tap in taps]
    means: dict[str, float | None] = {}
    for name in found[0]:
        values = [value for scores in found if (value := scores[name]) is not None]
        means[name] = sum(values) / len(values) if values else None
    return means
