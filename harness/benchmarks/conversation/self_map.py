"""Self-MAP: reflected memories of single actions (Deng et al. 2024, section 4).

Three parts can be switched off one by one, as in the paper's Table 3; the fourth switch is the
answer itself, an element written out (`generation`) or a letter.

Baselines of conversations (Deng et al. 2024, Table 2): all turns, some turns, or none.

mt-mindact        all actions of all finished turns, oldest first
mt-mindact-fixed  those of the first three turns
mt-synapse        those of the turns whose instructions are most like the current one
mt-mindact-car    none of them; the instruction is rewritten to be self-contained
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace

from adapters.conversation import Conversation, Reply, user
from harness.benchmarks.conversation.memory import Order, Snippet, bank, nearest
from harness.benchmarks.conversation.multi_turn import RATIONALE, REWRITE, MultiTurn
from harness.dialogue import Ask, Asks, Dialogue, Embed, Replies, as_tuple, replies_of
from harness.protocols.contract import Role, flagged
from harness.protocols.mindact_choice import opening
from harness.protocols.texts import history_lines
from harness.records import Step
from harness.views import StepView
from parsers.mindact import spell
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

    def dialogue(self, view: StepView) -> Dialogue:
        """Have the instruction rewritten, unless it is the first, and hold the tournament.

        All steps of a turn share one rewriting. Raises ValueError without choices.
        """
        step = view.step
        flags: tuple[str, ...] = ()
        if step.turns and view.choices:
            reply = yield self._rewriting(step)
            task = said(reply)
            flags = () if task else (_AS_IT_IS,)
            step = replace(step, info=replace(step.info, task=task or step.info.task))
            view = replace(view, step=step)
        prediction: Prediction = yield from super().dialogue(view)
        return flagged(prediction, flags) if flags else prediction

    def write(self, view: StepView, said: Prediction) -> Mapping[str, str]:
        """Spell the replies of the tournament; the instruction stays unchanged."""
        step = view.step
        place = self._rewriting(step).place
        return {place: step.info.task, **super().write(view, said)}

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


def _line(text: str) -> str:
    return " ".join(text.split())


_SPELLED = "It is what the instruction asks for."


@dataclass(frozen=True)
class SelfMap(MultiTurn):
    """The single actions that are most like the current step, shown briefly, with rationales."""

    generation: bool = True
    """True if the model writes the element instead of an option's letter."""
    multifaceted_matching: bool = True
    """True if the nearest actions are remembered, instead of all of them, oldest first."""
    memory_simplification: bool = True
    """True if a remembered page is shown around the element and four others, instead of around all
    candidates."""
    memory_refinement: bool = True
    """True if a remembered answer has a rationale."""
    k: int = 3
    """Number of different actions that are remembered."""
    sort_by: Order = "relevance"
    """Order of these: by similarity, the most similar one first, or by time."""

    name = "self-map"
    paper = "Deng et al. 2024 (Self-MAP)"

    @property
    def shows_whole_pages(self) -> bool:
        return not self.memory_simplification

    @property
    def memory(self) -> str:
        """Return what is remembered, in the words of published rows."""
        words = ["whole conversation"]
        if self.multifaceted_matching:
            by_time = "" if self.sort_by == "relevance" else " by time"
            words = [f"{self.k} nearest actions{by_time}"]
        words += ["simplified"] if self.memory_simplification else []
        words += ["with rationales"] if self.memory_refinement else []
        return ", ".join(words)

    @property
    def roles(self) -> tuple[Role, ...]:
        """Return the roles that write rationales and find actions; see `AskingProtocol.roles`."""
        asked = Role("rationale", "says in a sentence why a remembered action was right")
        return (
            *((EMBEDDING,) if self.multifaceted_matching else ()),
            *((asked,) if self.memory_refinement else ()),
        )

    @property
    def further(self) -> frozenset[str]:
        """The texts that this way of asking uses."""
        return super().further | (RATIONALE.keys() if self.memory_refinement else frozenset())

    def recalled(self, step: Step) -> Generator[Asks, Replies, list[Snippet]]:
        """A snippet of a conversation is embedded and explained once."""
        snippets = bank(step.turns)
        if self.multifaceted_matching:
            found = yield from nearest(*_texts(step), self.k, self.sort_by)
            snippets = [snippets[position] for position in found]
        if self.memory_refinement:
            snippets = yield from self._explained(step, snippets)
        return [replace(one, brief=self.memory_simplification) for one in snippets]

    def write(self, view: StepView, said: Prediction) -> Mapping[str, str]:
        """The replies of the tournament, with a rationale for every action that has an element."""
        step = view.step
        explained = [one for one in bank(step.turns) if one.action.positives]
        rationales = {_place(one): _SPELLED for one in explained}
        return {**rationales, **super().write(view, said)}

    def _explained(
        self, step: Step, snippets: Sequence[Snippet]
    ) -> Generator[Asks, Replies, list[Snippet]]:
        """Return the snippets with their rationales; none is asked for where nothing was right."""
        asked = [one for one in snippets if one.action.positives]
        told: dict[str, str] = {}
        if asked:
            results = yield tuple(self._why(step, one) for one in asked)
            replies = replies_of(results)
            told = {one.name: said(reply) for one, reply in zip(asked, replies, strict=True)}
        none = self.texts["rationale_none"]
        return [replace(one, rationale=told.get(one.name, none)) for one in snippets]

    def _why(self, step: Step, snippet: Snippet) -> Ask:
        """The question why a remembered action was right, with the page around its element."""
        action, right = snippet.action, snippet.positive(self.seed)
        assert right is not None
        question = self.texts.fill(
            "rationale_question",
            page=action.scene.listing((right,)).snippet,
            task=snippet.turn.task,
            history=history_lines(self.texts, snippet.history, None),
            # The action, without the letter or the element.
            answer=spell("", action.operation, action.value).strip(),
        )
        conversation = Conversation((*opening(self.texts, "rationale_"), user(question)))
        shared = step.info.conversation
        return Ask(conversation, _place(snippet), role="rationale", shared=shared)


def _place(snippet: Snippet) -> str:
    return f"rationale-{snippet.name}"


def _texts(step: Step) -> tuple[Embed, list[Embed]]:
    """The text of the current step, and those of the bank, by turn.

    The earlier actions of a remembered turn are left out on purpose (section 5.4).
    """
    query = f"Task: {step.info.task}\nActions: {'; '.join(step.history)}"
    snippets = [
        Embed(
            tuple(f"Task: {turn.task}\nActions: {action.told}" for action in turn.actions),
            f"actions-{turn.turn_id}",
            shared=step.info.conversation,
        )
        for turn in step.turns
        if turn.actions
    ]
    return Embed((query,), "current-step"), snippets
