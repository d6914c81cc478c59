"""Questions about pictures as a run asks about them: what chance would answer, a baseline."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.benchmarks.contract import Benchmark
from harness.benchmarks.dataset import Dataset
from harness.benchmarks.picture_sets import mean_scores
from harness.benchmarks.shows import Ready, Shows
from harness.policies import ItemPolicy, Secret
from harness.runs.records import Unit
from harness.views import QuestionView
from parsers.question import Asked, QuestionDetail, answered, offered
from parsers.records import Prediction, Scores, Status

QuestionRecord = Unit[QuestionDetail]


@dataclass(frozen=True)
class QuestionBenchmark(Benchmark):
    """Questions about pictures that are shown whole, or about none."""

    View = QuestionView
    Detail = QuestionDetail
    protocol = "question"
    pictures = True

    def ready(self, part: Dataset[Any], whole: Dataset[Any], shows: Shows) -> Iterator[Ready[Any]]:
        """A policy is asked about a turn alone: it answers one question, not those before."""
        asked = super().ready(part, whole, shows)
        is_policy = shows.info is not None and shows.info.stand_in == "policy"
        return map(self._alone, asked) if is_policy else asked

    def _alone(self, question: Ready[Any]) -> Ready[Any]:
        record: QuestionRecord = question.unit
        if not (record.detail.asked.before or record.detail.asked.dialogue):
            return question
        asked = replace(record.detail.asked, before=(), dialogue="")
        alone = replace(record, detail=replace(record.detail, asked=asked))
        return replace(self.recall(alone), sources=question.sources)

    def chance(self, units: Sequence[QuestionRecord]) -> Iterator[Scores]:
        for unit in units:
            guesses = [answered(one) for one in guessed(unit.detail.asked)]
            found = [self.score(one, unit.detail) for one in guesses or [Prediction(Status.EMPTY)]]
            yield mean_scores(found)

    def footnotes(self, *, known: bool) -> Iterator[str]:
        yield "chance: a random option, and nothing where there are none; ceiling: a right answer"


def guessed(asked: Asked) -> tuple[str, ...]:
    """Return what can be answered without looking: the options, as letters where they have any."""
    shown = offered(asked.options)
    return tuple(shown) if asked.metric == "choice" else tuple(shown.values())


def random_option(view: QuestionView, chance: random.Random, secret: Secret | None) -> Prediction:
    """Return a uniformly random option; nothing where there are none."""
    options = guessed(view.content)
    return answered(chance.choice(options)) if options else Prediction(Status.EMPTY)


RANDOM = ItemPolicy("random", QuestionView, random_option)
