"""Ask by a protocol in the actions of a benchmark, once or several times, and write its answers.

A protocol reads and writes actions of one action space. Its declared counterparts convert what it
reads to a prediction in the benchmark's space (`ask`), and a policy's prediction there to its
actions (`written_as`). Predictions of several samples vote (self-consistency, Wang et al. 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from harness.dialogue import Act, Ask, Asks, Call, Dialogue, Replies, changed, together
from harness.errors import UserError
from harness.protocols.contract import AskingProtocol
from parsers.actions import ActionSpace, Counterparts
from parsers.records import Prediction
from parsers.settling import settled, spoken_as

Rule = Literal["majority", "first"]
Same = Callable[[Prediction, Prediction], bool]

NEAR = 14.0
"""Largest distance of two points that are the same answer, in pixels, where no candidate is known
under either."""


@dataclass(frozen=True, slots=True)
class Vote:
    """The vote over samples of a dialogue.

    Attributes:
        samples: number of samples.
        rule: `majority` takes the answer that most samples give, and of several the one that came
            first; `first` takes the first sample, and the others only measure the agreement.
        same: whether two predictions are the same answer.
    """

    samples: int
    rule: Rule
    same: Same

    def held(self, dialogue: Callable[[], Dialogue]) -> Dialogue:
        """Hold a dialogue `samples` times, side by side, and return one of the predictions."""
        samples = (_sampled(dialogue(), number, self.samples) for number in range(self.samples))
        return elected((yield from together(*samples)), self)


def elected(predictions: Sequence[Prediction], vote: Vote) -> Prediction:
    """Return the prediction that is elected, with the votes for each answer, its own first.

    An answer is the same as the first one that it equals; declined and unreadable ones are answers
    of their own.
    """
    answers: list[list[int]] = []
    for number, prediction in enumerate(predictions):
        if not isinstance(prediction, Prediction):
            return prediction  # The engine reports the mistake.
        known = next((of for of in answers if vote.same(predictions[of[0]], prediction)), None)
        if known is None:
            answers.append([number])
        else:
            known.append(number)
    chosen = max(answers, key=len) if vote.rule == "majority" else answers[0]
    others = sorted((len(of) for of in answers if of is not chosen), reverse=True)
    return replace(predictions[chosen[0]], votes=(len(chosen), *others), sample=chosen[0])


def same_answer(one: Prediction, other: Prediction, near: float = NEAR) -> bool:
    """Return whether two predictions are the same answer: places at most `near` pixels apart."""
    if one.status != other.status or one.action is None or other.action is None:
        return (one.status, one.action) == (other.status, other.action)
    if one.point is None or other.point is None:
        return one.action == other.action
    if one.under is None and other.under is None:
        at_one_place = math.dist(one.point, other.point) <= near
    else:
        at_one_place = one.under == other.under
    return at_one_place and replace(one.action, point=other.point) == other.action


def _sampled(dialogue: Dialogue, number: int, samples: int) -> Generator[Asks, Replies, Prediction]:
    """Hold a dialogue as the sample of a number.

    Samples that it draws itself keep their own numbers.
    """

    def named(call: Call) -> Call:
        if isinstance(call, Ask):
            return replace(call, sample=number + samples * call.sample)
        if isinstance(call, Act):
            raise ValueError("actions in an environment cannot be sampled; leave --samples out")
        return replace(call, place=f"{call.place}#{number}") if number else call

    return changed(dialogue, named)


def ask(
    protocol: AskingProtocol, view: Any, space: ActionSpace | None, vote: Vote | None = None
) -> Dialogue:
    """Return the dialogue about a view, with a prediction in terms of the benchmark's `space`.

    With a `vote`, everything is asked several times, and the predictions are counted.
    `parsers.settling` handles answers outside of the space.
    """
    if vote is None:
        prediction = yield from protocol.dialogue(view)
    else:
        prediction = yield from vote.held(lambda: protocol.dialogue(view))
    if not isinstance(prediction, Prediction):
        return prediction  # The engine reports the mistake.
    counterparts = _counterparts(protocol, space)
    if counterparts is None:
        return settled(prediction, space or protocol.actions)
    return settled(prediction, space, protocol.actions, counterparts)


def written_as(
    protocol: AskingProtocol,
    view: Any,
    said: Prediction,
    space: ActionSpace | None,
) -> Mapping[str, str]:
    """Return the replies, by place, of a model that has settled on a prediction in `space`."""
    counterparts = _counterparts(protocol, space)
    if counterparts is not None:
        said = spoken_as(said, counterparts)
    return protocol.write(view, said)


def check_actions(protocol: AskingProtocol, space: ActionSpace | None) -> None:
    """Raise `UserError` if the protocol's actions have no counterparts in `space`."""
    counterparts = _counterparts(protocol, space)
    if counterparts is None or protocol.actions is None or space is None:
        return
    if not counterparts:
        raise UserError(
            f"protocol '{protocol.name}' answers with actions of '{protocol.actions.name}', which "
            f"have no counterparts in '{space.name}', the actions of this benchmark"
        )
    for name, counterpart in counterparts.items():
        for wanted, where in ((name, protocol.actions), (counterpart.name, space)):
            if wanted not in where:
                raise UserError(
                    f"protocol '{protocol.name}' declares {counterpart.name} of '{space.name}' as "
                    f"the counterpart of its {name}, and '{where.name}' has no {wanted}"
                )


def _counterparts(protocol: AskingProtocol, space: ActionSpace | None) -> Counterparts | None:
    """Return the counterparts of the protocol's actions in another space; None for the same."""
    own = protocol.actions
    if own is None or space is None or own.name == space.name:
        return None
    return protocol.counterparts.get(space.name, {})
