"""The protocol of questions about pictures.

A question is asked with its pictures in one call, in the words of its set. Of a dialogue, each turn
is a separate question, and the calls for the turns before it are shared: every turn is asked once
in a run, whichever question needs its reply first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from adapters.conversation import Conversation, Message, Order, Reply, illustrated, system
from harness.dialogue import Ask, Dialogue
from harness.protocols.contract import AskingProtocol, Needs, limit_of
from harness.views import QuestionView
from parsers.question import SPACE, Asked, text_of
from parsers.question.reading import read_answer, write_answer
from parsers.records import Prediction

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
