"""MindAct's way to ask: five candidates at a time, a pruned page, no picture (Deng et al. 2023).

What its multiple-choice, generation and fine-tuned variants share is here: the tournament, and how
a prediction is spelled through a whole one. A variant says how one group is asked about.

In a tournament groups are taken from the front of a queue and their winners put to its back
(section 3.2), until at most one candidate is left; a group of which none is right puts nothing
back. A queue of one is never asked about, so that the last of six whose first group was rejected is
no answer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from adapters.conversation import Conversation, Reply
from harness.candidates import Ranking
from harness.dialogue import Ask, Dialogue, hold
from harness.page import Brackets
from harness.protocols.contract import Needs
from harness.protocols.groups import (
    Group,
    flagged,
    group_of,
    limit_of,
    passed_over,
    passed_over_notes,
    unanswered,
)
from harness.protocols.texts import PromptedProtocol
from harness.records import Choice, Step
from harness.settings import Source
from parsers.records import Prediction, Status


@dataclass(frozen=True)
class MindAct(PromptedProtocol):
    """A tournament. `seed` and the step's shuffle decide which candidates meet."""

    history: int | None = 5
    """Number of previous actions shown; None shows all."""
    max_tokens: tuple[int, ...] = ()
    """Token limit of the replies."""
    seed: int = 42
    """Seed of the order in which candidates meet."""

    needs = Needs(("ranker", "snapshot", "all"), 50, "none", "none", forms=False, shuffles=True)
    none_rule = "first"
    way = "tournament of five"
    group_size = 5

    @property
    def brackets(self) -> Brackets:
        """The brackets around elements in the page's text."""
        return "angle"

    @abstractmethod
    def conversation(self, step: Step, group: Group) -> Conversation:
        """The question about one group."""

    @abstractmethod
    def read(self, reply: Reply, group: Group) -> Prediction:
        """The answer about one group; a winner has an element."""

    @abstractmethod
    def spell_choice(self, group: Group, position: int | None, prediction: Prediction) -> str:
        """The reply that picks the group's choice at `position`, or none of them."""

    def calls(self, count: int) -> tuple[int, int]:
        """When every group is rejected, and when none is."""
        return calls_of(count, self.group_size)

    def candidate_description(self, source: Source, top_k: int | None) -> str:
        """The candidates in the words of the published rows."""
        pool = f"ranker top-{top_k}" if source == "ranker" else source
        return f"{pool}, {self.way}"

    def order(self, step: Step, choices: Sequence[Choice]) -> list[str]:
        """The queue: ids in an order given by the seed, the step and the number of the shuffle."""
        action_uid = step.step_id.removeprefix(f"{step.task_id}_")
        ranking = Ranking(self.seed, step.task_id, action_uid)
        return ranking.sorted(f"tournament {step.shuffle}", (choice.id for choice in choices))

    def dialogue(self, step: Step, choices: Sequence[Choice]) -> Dialogue:
        """Hold the tournament. Raises ValueError when there are no choices."""
        return self._held(step, choices, {})

    def _held(self, step: Step, choices: Sequence[Choice], met: dict[str, Group]) -> Dialogue:
        """The dialogue; the groups are put into `met` by place as they are asked about."""
        if not choices:
            raise ValueError(f"step {step.step_id} has no choices to offer")

        def ask(place: str, ids: tuple[str, ...]) -> Ask:
            group = group_of(step, choices, ids, brackets=self.brackets, snippet=True)
            met[place] = group
            conversation = self.conversation(step, group)
            return Ask(conversation, place, max_tokens=limit_of(self.max_tokens, 0))

        def read(place: str, reply: Reply) -> Prediction:
            return self.read(reply, met[place])

        prediction = yield from tournament(self.order(step, choices), self.group_size, ask, read)
        return prediction

    def spell(
        self, step: Step, choices: Sequence[Choice], prediction: Prediction
    ) -> Mapping[str, str]:
        """The replies of a model that wants `prediction`: none in every group without its element.

        A queue may leave its last candidate without a question where every group before it is
        rejected. Then one of the first group is accepted, so that the wanted one meets it.
        """
        met: dict[str, Group] = {}
        queue = self.order(step, choices)
        alone = len(queue) % self.group_size == 1 and prediction.element == queue[-1]
        decoy = queue[0] if alone and len(queue) > 1 else None

        replies: dict[str, str] = {}

        def answer(ask: Ask) -> Reply:
            group = met[ask.place]
            at = {choice.id: position for position, choice in enumerate(group.choices)}
            wanted = at.get(prediction.element or "")
            if wanted is None and decoy is not None:
                wanted = at.get(decoy)
            replies[ask.place] = self.spell_choice(group, wanted, prediction)
            return Reply(replies[ask.place])

        hold(self._held(step, choices, met), answer)
        return replies

    def settings(self) -> dict[str, object]:
        """The fields, and the size of groups also where it cannot be set."""
        return {**super().settings(), "group_size": self.group_size}

    def notes(self, flags: Mapping[str, int]) -> list[str]:
        return passed_over_notes(flags)


Asking = Callable[[str, tuple[str, ...]], Ask]
Reading = Callable[[str, Reply], Prediction]


def tournament(queue: Sequence[str], size: int, ask: Asking, read: Reading) -> Dialogue:
    """Hold a tournament among node ids.

    `ask(place, ids)` makes the question about a group, `read(place, reply)` what its answer is;
    one with an element counts as a winner. Places are `group-1`, `group-2`, ... in queue order.

    Full groups at the front of the queue do not depend on each other: winners go behind all that
    is waiting. So they are asked side by side, floor(n / size) of n at once and at least one, and
    the result is that of the queue taken group by group.

    Returns the last winner, with the operation and value it was chosen with, provided that it was
    not rejected later. Else there is no element and no operation (Mind2Web scores such a step zero
    throughout), and the status is `none` where any group was answered with none.
    """
    waiting = list(queue)
    results: list[Prediction] = []
    while len(waiting) > 1:
        count = max(1, len(waiting) // size)
        groups = [tuple(waiting[i * size : (i + 1) * size]) for i in range(count)]
        waiting = waiting[count * size :]
        places = [f"group-{len(results) + number + 1}" for number in range(count)]
        asks = tuple(ask(place, group) for place, group in zip(places, groups, strict=True))
        told = yield asks if count > 1 else asks[0]
        replies = told if isinstance(told, tuple) else (told,)
        for place, reply in zip(places, replies, strict=True):
            results.append(read(place, reply))
            winner = results[-1].element
            if winner is not None:
                waiting.append(winner)
    accepted = [result for result in results if result.element is not None]
    if accepted and waiting:
        return flagged(accepted[-1], passed_over(results))
    if not results:
        return Prediction(Status.NONE, flags=("nothing-asked",))
    if accepted:
        # The last group held nothing but earlier winners, and its reply rejected them all.
        end = flagged(results[-1], {"winners-rejected", *passed_over(results[:-1])})
    else:
        end = unanswered(results)
    return Prediction(end.status, flags=end.flags)


def calls_of(count: int, size: int) -> tuple[int, int]:
    """The calls of a tournament among `count`: when every group is rejected, and when none is.

    >>> calls_of(50, 5), calls_of(6, 5), calls_of(1, 5)
    ((10, 13), (1, 2), (0, 0))
    """
    least = count // size + (count % size > 1)
    most = 0
    while count > 1:
        count += 1 - min(size, count)
        most += 1
    return least, most
