"""MindAct: a tournament of five candidates at a time on a pruned page (Deng et al. 2023).

Text only. The multiple-choice, generation and fine-tuned variants share the tournament; each has
another question about a group.

Groups are taken from the front of a queue and their winners appended to it (section 3.2) until at
most one candidate is left; a rejected group appends nothing. A queue of one is never asked about:
the last of six candidates cannot win if the first five are rejected.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from adapters.conversation import Conversation, Reply
from harness.candidates import SeededOrder
from harness.dialogue import Ask, Dialogue, hold, replies_of
from harness.options import Source
from harness.page import Brackets
from harness.protocols.contract import Needs, flagged, limit_of
from harness.protocols.groups import (
    CandidateGroup,
    group_of,
    passed_over,
    passed_over_notes,
    unanswered,
)
from harness.protocols.texts import PromptedProtocol
from harness.records import Choice, Step
from harness.views import StepView
from parsers.records import Prediction, Status


@dataclass(frozen=True)
class MindAct(PromptedProtocol):
    """The tournament; `seed` and the step's shuffle decide which candidates meet."""

    history: int | None = 5
    """Number of previous actions shown; None shows all."""
    max_tokens: tuple[int, ...] = ()
    """Token limit of the replies."""
    seed: int = 42
    """Seed of the queue."""

    needs = Needs(
        sources=("ranker", "snapshot", "all"),
        pictures="none",
        picture_policy="none",
        shuffles=True,
    )
    group_size = 5

    @property
    def none_rule(self) -> str:
        """The first option means none of them."""
        return "first"

    @property
    def way(self) -> str:
        """The way to ask, in the words of published rows."""
        return "tournament of five"

    @property
    def brackets(self) -> Brackets:
        """The brackets around elements in the page's text."""
        return "angle"

    @abstractmethod
    def conversation(self, step: Step, group: CandidateGroup) -> Conversation:
        """Return the question about one group."""

    @abstractmethod
    def read(self, reply: Reply, group: CandidateGroup) -> Prediction:
        """Return the answer about one group; a winner has an element."""

    @abstractmethod
    def write_choice(
        self, group: CandidateGroup, position: int | None, prediction: Prediction
    ) -> str:
        """Return the reply that picks the group's choice at `position`, or none of them."""

    def calls(self, count: int) -> tuple[int, int]:
        """Return the calls if every group is rejected, and if none is."""
        return calls_of(count, self.group_size)

    def candidate_description(self, source: Source, top_k: int | None) -> str:
        """Return the candidates in the words of the published rows."""
        pool = f"ranker top-{top_k}" if source == "ranker" else source
        return f"{pool}, {self.way}"

    def queue(self, step: Step, choices: Sequence[Choice]) -> list[str]:
        """Return the queue: ids in an order by seed, step and number of the shuffle."""
        action_uid = step.step_id.removeprefix(f"{step.info.task_id}_")
        ranking = SeededOrder(self.seed, step.info.task_id, action_uid)
        return ranking.sorted(f"tournament {step.shuffle}", (choice.id for choice in choices))

    def dialogue(self, view: StepView) -> Dialogue:
        """Run the tournament. Raises ValueError without choices."""
        step, choices = view.step, view.choices
        return self._tournament(step, choices, {}, partial(self.conversation, step))

    def _tournament(
        self,
        step: Step,
        choices: Sequence[Choice],
        groups: dict[str, CandidateGroup],
        question: Callable[[CandidateGroup], Conversation],
    ) -> Dialogue:
        """Run the dialogue; `question` asks about a group and adds it to `groups` by place."""
        if not choices:
            raise ValueError(f"step {step.step_id} has no choices to offer")

        def ask(place: str, ids: tuple[str, ...]) -> Ask:
            group = group_of(step, choices, ids, brackets=self.brackets, snippet=True)
            groups[place] = group
            return Ask(question(group), place, max_tokens=limit_of(self.max_tokens, 0))

        def read(place: str, reply: Reply) -> Prediction:
            return self.read(reply, groups[place])

        prediction = yield from tournament(self.queue(step, choices), self.group_size, ask, read)
        return prediction

    def write(self, view: StepView, said: Prediction) -> Mapping[str, str]:
        """Return replies that pick the element of `said` and reject other groups.

        If rejecting all other groups would leave the element alone in the queue and unasked, the
        replies also accept a candidate of the first group, for the element to meet.
        """
        step, choices = view.step, view.choices
        groups: dict[str, CandidateGroup] = {}
        queue = self.queue(step, choices)
        alone = len(queue) % self.group_size == 1 and said.element == queue[-1]
        decoy = queue[0] if alone and len(queue) > 1 else None

        replies: dict[str, str] = {}

        def answer(ask: Ask) -> Reply:
            group = groups[ask.place]
            positions = {choice.id: number for number, choice in enumerate(group.choices)}
            position = positions.get(said.element or "")
            if position is None and decoy is not None:
                position = positions.get(decoy)
            replies[ask.place] = self.write_choice(group, position, said)
            return Reply(replies[ask.place])

        hold(self._tournament(step, choices, groups, lambda _: Conversation(())), answer)
        return replies

    def settings(self) -> dict[str, object]:
        """Return the fields, and the group size even where it is fixed."""
        return {**super().settings(), "group_size": self.group_size}

    def notes(self, flags: Mapping[str, int]) -> list[str]:
        return passed_over_notes(flags)


Asking = Callable[[str, tuple[str, ...]], Ask]
Reading = Callable[[str, Reply], Prediction]


def tournament(queue: Sequence[str], size: int, ask: Asking, read: Reading) -> Dialogue:
    """Run a tournament among node ids.

    `ask(place, ids)` makes the question about a group, `read(place, reply)` reads its answer; an
    answer with an element has a winner. Places are `group-1`, `group-2`, ... in queue order.

    Full groups at the front of the queue do not depend on each other, since winners go to its end.
    They are asked in parallel, floor(n / size) of n at once and at least one, with the same result
    as one after the other.

    Returns the last winner, with the operation and value it was chosen with, unless it was rejected
    later. Otherwise there is neither element nor operation (Mind2Web scores such a step as zero),
    and the status is `none` if any group was answered with none.
    """
    waiting = list(queue)
    results: list[Prediction] = []
    while len(waiting) > 1:
        count = max(1, len(waiting) // size)
        groups = [tuple(waiting[i * size : (i + 1) * size]) for i in range(count)]
        waiting = waiting[count * size :]
        places = [f"group-{len(results) + number + 1}" for number in range(count)]
        asks = tuple(ask(place, group) for place, group in zip(places, groups, strict=True))
        answers = yield asks if count > 1 else asks[0]
        for place, reply in zip(places, replies_of(answers), strict=True):
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
        # The last group consisted of earlier winners only, and its reply rejected them all.
        end = flagged(results[-1], {"winners-rejected", *passed_over(results[:-1])})
    else:
        end = unanswered(results)
    return Prediction(end.status, flags=end.flags)


def calls_of(count: int, size: int) -> tuple[int, int]:
    """Return the calls of a tournament among `count`, if every group is rejected and if none is.

    >>> calls_of(50, 5), calls_of(6, 5), calls_of(1, 5)
    ((10, 13), (1, 2), (0, 0))
    """
    least = count // size + (count % size > 1)
    most = 0
    while count > 1:
        count += 1 - min(size, count)
        most += 1
    return least, most
