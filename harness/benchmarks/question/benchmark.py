"""Questions about pictures as a run asks about them: the protocol, chance and a baseline.

A question is asked with its pictures in one call, in the words of its set. Of a dialogue, each turn
is a separate question, and the calls for the turns before it are shared: every turn is asked once
in a run, whichever question needs its reply first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from adapters.conversation import Conversation, Message, Order, Reply, illustrated, system
from harness.benchmarks.contract import Benchmark
from harness.benchmarks.dataset import Dataset
from harness.benchmarks.picture_sets import mean_scores
from harness.benchmarks.shows import Ready, Shows
from harness.dialogue import Ask, Dialogue
from harness.policies import ItemPolicy, Secret
from harness.protocols.contract import AskingProtocol, Needs, limit_of
from harness.runs.records import Unit
from harness.views import QuestionView
from parsers.question import SPACE, Asked, QuestionDetail, answered, offered, text_of
from parsers.question.metrics import read_answer, write_answer
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


PLACE = "answer"


@dataclass(frozen=True)
class QuestionProtocol(AskingProtocol):
    """One question with all its pictures."""

    order: Order = "picture-first"
    """Where the pictures stand."""
    max_tokens: tuple[int, ...] = ()
    """Token limit of the reply."""

    name = "question"
    View = QuestionView
    actions = SPACE
    places = (PLACE,)
    needs = Needs(picture_policy="full:pixels=33177600", scene=False)
    paper = "the words of each set (docs/questions.md)"

    def dialogue(self, view: QuestionView) -> Dialogue:
        """Ask, and read the answer by the metric of the question."""
        asked, pictures = view.content, iter(view.pictures)
        talk = Conversation((system(asked.system),) if asked.system else ())
        for number, turn in enumerate(asked.before, 1):
            shown = islice(pictures, turn.pictures)
            talk = _with(talk, illustrated(shown, turn.prompt, order=self.order))
            reply: object = Reply(turn.reply or "")
            if turn.reply is None:
                reply = yield self._ask(talk, asked, number)
            assert isinstance(reply, Reply)
            talk = talk.then(reply)
        talk = _with(talk, illustrated(pictures, asked.prompt, order=self.order))
        reply = yield self._ask(talk, asked, len(asked.before) + 1)
        assert isinstance(reply, Reply)
        return read_answer(reply.text, asked, finish=reply.finish.value)

    def _ask(self, talk: Conversation, asked: Asked, number: int) -> Ask:
        goes_on = bool(asked.dialogue)
        limit = limit_of(self.max_tokens, 0)
        return Ask(talk, _place(asked, number), goes_on, limit, shared=asked.dialogue)

    def write(self, view: QuestionView, said: Prediction) -> Mapping[str, str]:
        """Return the reply with the answer of `said`, empty without one, for its turn and
        those before it."""
        text = text_of(said)
        spelled = "" if text is None else write_answer(text, view.content)
        numbers = range(1, len(view.content.before) + 2)
        return {_place(view.content, number): spelled for number in numbers}


def _place(asked: Asked, number: int) -> str:
    """Return the place of the call for a turn, counted from 1."""
    return f"turn-{number}" if asked.dialogue else PLACE


def _with(talk: Conversation, message: Message) -> Conversation:
    return Conversation((*talk.messages, message), talk.earlier)
