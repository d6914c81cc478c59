"""Read a protocol's own spelling of a known action, without data and pictures."""

from __future__ import annotations

from typing import Any

from adapters import Reply
from adapters.embedding import stand_in
from harness.dialogue import hold
from harness.kinds.contract import Question
from harness.policies.baselines import Oracle
from harness.policies.contract import chance_for
from harness.protocols import AskingProtocol, dialogue_about, spelled
from parsers.actions import ActionSpace
from parsers.records import Prediction


def as_oracle(
    protocol: AskingProtocol, question: Question, space: ActionSpace | None
) -> Prediction:
    """Return what the protocol reads from the oracle's answers."""
    chance = chance_for(0, 0, question.unit_id, "oracle")
    right = Oracle().predict(*question.asked, chance, question.secret)
    return as_answered(protocol, question.asked, right, space)


def as_answered(
    protocol: AskingProtocol, asked: tuple[Any, ...], answer: Prediction, space: ActionSpace | None
) -> Prediction:
    """Spell a prediction in terms of `space` in the protocol's form and read it back.

    `asked` is what its dialogue is given of the unit.
    """
    replies = spelled(protocol, asked, answer, space)
    return hold(
        dialogue_about(protocol, asked, space),
        lambda ask: Reply(replies[ask.place]),
        embed=lambda call: stand_in(call.texts),
    )
