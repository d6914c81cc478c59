"""Questions as a run asks about them: whole pictures, chance, what is right in words."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adapters.contract import AdapterInfo
from harness.benchmarks import Dataset, actions_of, declared
from harness.kinds.contract import Question, UnitKind
from harness.kinds.protocols import as_oracle, open_with
from harness.kinds.scoring import Bound, Bounds, Extras, UnitBounds, key_of, scorer_of
from harness.policies import Secret
from harness.records import Item
from harness.runs import Unit
from harness.settings import Settings
from parsers.question import KIND, LETTERS, Asked, QuestionDetail, answered
from parsers.records import Prediction, Scores, Status

QuestionRecord = Unit[QuestionDetail]


class QuestionExtras(Extras):
    """Of questions about pictures."""

    def bounds(self, records: Sequence[QuestionRecord], settings: Settings) -> Bounds | None:
        source = declared(settings.benchmark)
        if source is None:
            return None
        score = scorer_of(settings, source.declared)
        protocol, space = open_with(settings), actions_of(settings.benchmark)
        chance, oracle = {}, {}
        for record in records:
            guesses = [answered(one) for one in guessed(record.detail.asked)]
            found = [score(one, record.detail) for one in guesses or [Prediction(Status.EMPTY)]]
            chance[key_of(record)] = _mean(found)
            right = as_oracle(protocol, UnitKind.of_record(record), space)
            oracle[key_of(record)] = score(right, record.detail)
        return UnitBounds(chance, oracle)

    def definitions(self, settings: Settings, ceilings: Iterable[Bound]) -> Iterator[str]:
        yield "chance: a random option, and nothing where there are none; ceiling: a right answer"


def _mean(scores: Sequence[Scores]) -> Scores:
    means: dict[str, float | None] = {}
    for name in scores[0]:
        known = [value for one in scores if (value := one[name]) is not None]
        means[name] = sum(known) / len(known) if known else None
    return means


def guessed(asked: Asked) -> tuple[str, ...]:
    """Return what can be answered without looking: the options, as letters where they have any."""
    if asked.metric == "choice":
        return tuple(LETTERS[: len(asked.options)])
    return asked.options


class Questions(UnitKind):
    """Questions about pictures that are shown whole, or about none."""

    extras = QuestionExtras()

    def questions(
        self, dataset: Dataset[Any], whole: Dataset[Any], info: AdapterInfo, *, is_blind: bool
    ) -> Iterator[Question]:
        """A policy is asked about a turn alone: it answers one question, not those before."""
        asked = super().questions(dataset, whole, info, is_blind=is_blind)
        return map(_alone, asked) if info.provider == "policy" else asked

    @classmethod
    def right(cls, record: QuestionRecord) -> str:
        return str(record.detail.gold)


def _alone(question: Question) -> Question:
    record: QuestionRecord = question.record
    if not (record.detail.asked.before or record.detail.asked.dialogue):
        return question
    asked = replace(record.detail.asked, before=(), dialogue="")
    alone = replace(record, detail=replace(record.detail, asked=asked))
    return replace(Questions.of_record(alone), sources=question.sources)


@dataclass(frozen=True, slots=True)
class RandomOption:
    """A uniformly random option; nothing where there are none."""

    name: str = "random"
    needs_gold: bool = False
    kind: str = KIND

    def predict(
        self, item: Item[Asked], chance: random.Random, secret: Secret | None
    ) -> Prediction:
        options = guessed(item.content)
        return answered(chance.choice(options)) if options else Prediction(Status.EMPTY)
