"""Ask a question about its pictures in one call, in the words of its set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adapters.conversation import Conversation, Order, Reply, illustrated, system
from harness.dialogue import Ask, Dialogue
from harness.protocols.contract import AskingProtocol, Needs, limit_of
from harness.records import Item
from parsers.question import KIND, SPACE, Asked, text_of
from parsers.question.reading import read_answer, spell_answer
from parsers.records import Prediction

PLACE = "answer"


@dataclass(frozen=True)
class Question(AskingProtocol):
    """One question with all its pictures."""

    order: Order = "picture-first"
    """Where the pictures stand."""
    max_tokens: tuple[int, ...] = ()
    """Token limit of the reply."""

    name = "question"
    kind = KIND
    actions = SPACE
    places = (PLACE,)
    needs = Needs(picture_policy="full:pixels=33177600", scene=False)
    paper = "the words of each set (docs/questions.md)"

    def dialogue(self, item: Item[Asked]) -> Dialogue:
        """Ask, and read the answer by the metric of the question."""
        asked = item.content
        message = illustrated(item.pictures, asked.prompt, order=self.order)
        start = (system(asked.system), message) if asked.system else (message,)
        reply = yield Ask(Conversation(start), PLACE, max_tokens=limit_of(self.max_tokens, 0))
        assert isinstance(reply, Reply)
        return read_answer(reply.text, asked, finish=reply.finish.value)

    def spell(self, item: Item[Asked], prediction: Prediction) -> Mapping[str, str]:
        """Return the reply with the answer of `prediction`; empty without one."""
        text = text_of(prediction)
        return {PLACE: "" if text is None else spell_answer(text, item.content)}
