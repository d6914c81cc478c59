"""Several samples of a dialogue, whose predictions vote (self-consistency, Wang et al. 2023).

    voting = with_votes(protocol, Vote(5, "majority", same))

It is the protocol itself in all but its dialogues: each asks everything `samples` times, side by
side, and returns one of the predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from harness.dialogue import Act, Ask, Asks, Call, Dialogue, Replies, changed, together
from harness.protocols.contract import AskingProtocol
from parsers.records import Prediction

Rule = Literal["majority", "first"]
Same = Callable[[Prediction, Prediction], bool]


@dataclass(frozen=True, slots=True)
class Vote:
    """How samples of a dialogue are counted.

    Attributes:
        samples: number of samples.
        rule: `majority` takes the answer that most samples give, and of several the one that came
            first; `first` takes the first sample, and the others only measure the agreement.
        same: whether two predictions are the same answer.
    """

    samples: int
    rule: Rule
    same: Same


def with_votes(protocol: AskingProtocol, vote: Vote) -> AskingProtocol:
    """Return a protocol that asks several times and counts the predictions."""
    voting = copy(protocol)
    object.__setattr__(voting, "__class__", _voting(type(protocol)))
    object.__setattr__(voting, "_vote", vote)
    return voting


@cache
def _voting(base: Any) -> Any:
    """Return the class of a protocol with a vote: code that looks for the protocol's own class, or
    for its methods, finds them."""

    class Voting(base):  # type: ignore[misc]
        _vote: Vote

        def dialogue(self, *asked: Any, **more: Any) -> Dialogue:
            ask, count = super().dialogue, self._vote.samples
            samples = (_sampled(ask(*asked, **more), number, count) for number in range(count))
            return elected((yield from together(*samples)), self._vote)

        def calls(self, count: int) -> tuple[int, int]:
            least, most = super().calls(count)
            return least * self._vote.samples, most * self._vote.samples

        def role_calls(self, count: int) -> Mapping[str, tuple[int, int]]:
            times = self._vote.samples
            declared = super().role_calls(count).items()
            return {role: (least * times, most * times) for role, (least, most) in declared}

    Voting.__name__ = Voting.__qualname__ = base.__name__
    Voting.__module__ = base.__module__
    return Voting


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


def _sampled(dialogue: Dialogue, number: int, samples: int) -> Generator[Asks, Replies, Prediction]:
    """Hold a dialogue as the sample of a number.

    Samples that it draws itself keep numbers of their own.
    """

    def named(call: Call) -> Call:
        if isinstance(call, Ask):
            return replace(call, sample=number + samples * call.sample)
        if isinstance(call, Act):
            raise ValueError("actions in an environment cannot be sampled; leave --samples out")
        return replace(call, place=f"{call.place}#{number}") if number else call

    return changed(dialogue, named)
