"""A panel of judges: one question, several replies, and the answer that most of them give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adapters import Conversation, user
from harness.dialogue import Ask, Dialogue, replies_of
from harness.protocols import Needs, StepProtocol, lettering, to_prediction
from harness.protocols.asking import Vote, elected
from harness.views import StepView
from parsers import Prediction, read_answer, write_answer


@dataclass(frozen=True)
class Panel(StepProtocol):
    """Judges see the task and the choices, and each names a letter."""

    judges: int = 5
    """Number of replies."""
    temperature: float = 0.7
    """Sampling temperature of each."""

    name = "panel"
    needs = Needs(pictures="none", picture_policy="none", scene=False)
    none_rule = "last"
    lettered = True

    def calls(self, count: int) -> tuple[int, int]:
        return self.judges, self.judges

    def dialogue(self, view: StepView) -> Dialogue:
        step, choices = view.step, view.choices
        letters = lettering(self, len(choices))
        listed = [f"{choice.letter}. {choice.text}" for choice in choices]
        text = "\n".join([step.info.task, *listed, f"{letters.none}. none of these"])
        question = Conversation((user(text + "\nAnswer with ELEMENT, ACTION and VALUE."),))
        replies = yield tuple(
            Ask(question, "judge", sample=number, temperature=self.temperature)
            for number in range(self.judges)
        )
        texts = [choice.text for choice in choices]
        answers = [
            read_answer(
                reply.text,
                texts,
                letters=letters.choices,
                none_letter=letters.none,
                finish=reply.finish.value,
            )
            for reply in replies_of(replies)
        ]
        predictions = [to_prediction(answer, choices, letters) for answer in answers]
        return elected(predictions, Vote(self.judges, "majority", lambda one, other: one == other))

    def write(self, view: StepView, said: Prediction) -> Mapping[str, str]:
        choices = view.choices
        letters = lettering(self, len(choices))
        ids = [choice.id for choice in choices]
        position = ids.index(said.element) if said.element in ids else None
        reply = write_answer(
            position,
            said.operation,
            said.value,
            letters=letters.choices,
            none_letter=letters.none,
        )
        return {"judge": reply}
