"""MindAct's way to ask: five candidates at a time, a pruned page, no picture (Deng et al. 2023).

What is the same in its multiple-choice, generation and fine-tuned variants is here: who meets whom,
and how a prediction is spelled through a whole tournament. The variants are forms of one question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from adapters.conversation import Conversation, Reply
from harness.candidates.rank import Ranking
from harness.dialogue import Ask, Dialogue, hold
from harness.page import Brackets
from harness.protocols.contract import Lettering, Needs, Source
from harness.protocols.groups import Group, group_of, limit_of
from harness.protocols.texts import Texts
from harness.protocols.tournament import calls_of, tournament
from harness.records import Choice, Step
from parsers.records import Prediction

NEEDS = Needs(
    sources=("ranker", "snapshot", "all"),
    pictures="none",
    picture_policy="none",
    forms=False,
    shuffles=True,
)


class Form(Protocol):
    """How one group is asked about and answered."""

    @property
    def brackets(self) -> Brackets: ...

    @property
    def texts(self) -> Texts: ...

    def conversation(self, step: Step, group: Group) -> Conversation:
        """The question."""
        ...

    def read(self, reply: Reply, group: Group) -> Prediction:
        """The answer; a winner has an element."""
        ...

    def spell(self, group: Group, position: int | None, prediction: Prediction) -> str:
        """The reply that picks the group's choice at `position`, or none of them."""
        ...

    def settings(self) -> dict[str, object]:
        """What the form adds to the run's record."""
        ...


@dataclass(frozen=True)
class MindAct:
    """A tournament in one form. `seed` and the step's shuffle decide who meets whom."""

    form: Form
    name: str
    way: str
    paper: str
    group_size: int = 5
    seed: int = 42
    max_tokens: tuple[int, ...] = ()
    places: tuple[str, ...] = ()
    needs: Needs = NEEDS
    none_rule: str = "first"

    def calls(self, count: int) -> tuple[int, int]:
        """When every group is rejected, and when none is."""
        return calls_of(count, self.group_size)

    def told(self, source: Source, top_k: int | None) -> str:
        """The candidates in the words of the published rows."""
        pool = f"ranker top-{top_k}" if source == "ranker" else source
        return f"{pool}, {self.way}"

    def letters(self, count: int) -> Lettering:
        """None ahead of time: every group is lettered for itself."""
        return Lettering(("",) * count, None)

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
            group = group_of(step, choices, ids, brackets=self.form.brackets, snippet=True)
            met[place] = group
            conversation = self.form.conversation(step, group)
            return Ask(conversation, place, max_tokens=limit_of(self.max_tokens, 0))

        def read(place: str, reply: Reply) -> Prediction:
            return self.form.read(reply, met[place])

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
            replies[ask.place] = self.form.spell(group, wanted, prediction)
            return Reply(replies[ask.place])

        hold(self._held(step, choices, met), answer)
        return replies

    def settings(self) -> dict[str, object]:
        return {
            "protocol": self.name,
            "prompts": self.form.texts.name,
            "prompts_sha256": self.form.texts.digest(),
            "group_size": self.group_size,
            "seed": self.seed,
            "max_tokens": list(self.max_tokens),
            **self.form.settings(),
        }
