"""Baselines of conversations (Deng et al. 2024, Table 2): all turns, some turns, or none.

mt-mindact        all actions of all finished turns, oldest first
mt-mindact-fixed  those of the first three turns
mt-synapse        those of the turns whose instructions are most like the current one
mt-mindact-car    none of them; the instruction is rewritten to be self-contained
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace

from adapters.conversation import Conversation, Reply, user
from harness.dialogue import Ask, Asks, Dialogue, Embed, Replies, as_tuple
from harness.kinds.conversation.memory import Order, Snippet, bank, nearest
from harness.kinds.conversation.multi_turn import REWRITE, MultiTurn
from harness.protocols.contract import Role
from harness.protocols.groups import flagged
from harness.protocols.mindact_choice import opening
from harness.records import Choice, Step
from parsers.records import Prediction
from parsers.reply_text import ENDED, without_thinking, without_tokens

EMBEDDING = Role("embedding", "finds what is most like the current step", kind="embed")
_AS_IT_IS = "not-rewritten"


@dataclass(frozen=True)
class MtMindAct(MultiTurn):
    """The whole conversation."""

    name = "mt-mindact"
    memory = "whole conversation"

    def recalled(self, step: Step) -> Generator[Asks, Replies, list[Snippet]]:
        yield from ()
        return bank(step.turns)


@dataclass(frozen=True)
class MtMindActFixed(MultiTurn):
    """The first turns of the conversation."""

    turns: int = 3
    """Number of turns that are remembered."""

    name = "mt-mindact-fixed"

    def __post_init__(self) -> None:
        """Raise as `MultiTurn` does."""
        at_least_one("turns", self.turns)
        super().__post_init__()

    @property
    def memory(self) -> str:
        """Return what is remembered, in the words of published rows."""
        return f"first {self.turns} turns"

    def recalled(self, step: Step) -> Generator[Asks, Replies, list[Snippet]]:
        yield from ()
        return bank(step.turns[: self.turns])


@dataclass(frozen=True)
class MtSynapse(MultiTurn):
    """The turns whose instructions are most like the current one."""

    k: int = 3
    """Number of turns that are remembered; more, where several have the same instruction."""
    sort_by: Order = "relevance"
    """Order of turns: by similarity, the most similar one first, or by time."""

    name = "mt-synapse"
    roles = (EMBEDDING,)

    def __post_init__(self) -> None:
        """Raise as `MultiTurn` does."""
        at_least_one("k", self.k)
        super().__post_init__()

    @property
    def memory(self) -> str:
        """Return what is remembered, in the words of published rows."""
        return f"{self.k} nearest turns" + ("" if self.sort_by == "relevance" else " by time")

    def recalled(self, step: Step) -> Generator[Asks, Replies, list[Snippet]]:
        """Each instruction of a conversation is embedded once."""

        def embed(turn_id: str, task: str) -> Embed:
            return Embed((task,), f"instruction-{turn_id}", shared=step.info.conversation)

        own = embed(step.info.task_id, step.info.task)
        earlier = [embed(turn.turn_id, turn.task) for turn in step.turns]
        found = yield from nearest(own, earlier, self.k, self.sort_by)
        return bank([step.turns[position] for position in found])


@dataclass(frozen=True)
class MtMindActCar(MultiTurn):
    """The rewritten instruction alone."""

    name = "mt-mindact-car"
    memory = "rewritten instruction"
    shows_whole_pages = False
    roles = (Role("rewrite", "rewrites the instruction to be self-contained"),)

    @property
    def further(self) -> frozenset[str]:
        """The texts that this way of asking uses."""
        return super().further | REWRITE.keys()

    def recalled(self, step: Step) -> Generator[Asks, Replies, list[Snippet]]:
        yield from ()
        return []

    def dialogue(self, step: Step, choices: Sequence[Choice]) -> Dialogue:
        """Have the instruction rewritten, unless it is the first, and hold the tournament.

        All steps of a turn share one rewriting. Raises ValueError if there are no choices.
        """
        flags: tuple[str, ...] = ()
        if step.turns and choices:
            reply = yield self._rewriting(step)
            task = said(reply)
            flags = () if task else (_AS_IT_IS,)
            step = replace(step, info=replace(step.info, task=task or step.info.task))
        prediction: Prediction = yield from super().dialogue(step, choices)
        return flagged(prediction, flags) if flags else prediction

    def spell(
        self, step: Step, choices: Sequence[Choice], prediction: Prediction
    ) -> Mapping[str, str]:
        """Spell the replies of the tournament; the instruction stays unchanged."""
        place = self._rewriting(step).place
        return {place: step.info.task, **super().spell(step, choices, prediction)}

    def notes(self, flags: Mapping[str, int]) -> list[str]:
        count = flags.get(_AS_IT_IS, 0)
        told = f"steps whose instruction was not rewritten, for lack of a reply: {count}"
        return [*([told] if count else []), *super().notes(flags)]

    def _rewriting(self, step: Step) -> Ask:
        earlier = "\n".join(_line(turn.task) for turn in step.turns)
        question = self.texts.fill("rewrite_question", task=_line(step.info.task), earlier=earlier)
        conversation = Conversation((*opening(self.texts, "rewrite_"), user(question)))
        place = f"rewrite-{step.info.task_id}"
        return Ask(conversation, place, role="rewrite", shared=step.info.conversation)


def said(result: object) -> str:
    """Return a reply's text on one line; "" if it was withheld or holds thoughts only."""
    (reply,) = (one for one in as_tuple(result) if isinstance(one, Reply))
    return (
        "" if reply.finish.value in ENDED else _line(without_tokens(without_thinking(reply.text)))
    )


def at_least_one(name: str, value: int) -> None:
    """Raise ValueError for an option that is less than 1."""
    if value < 1:
        raise ValueError(f"{name}={value}: expected at least 1")


def _line(text: str) -> str:
    return " ".join(text.split())
