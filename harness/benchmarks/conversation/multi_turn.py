"""MindAct's tournament with a memory of a conversation (Deng et al. 2024, MT-Mind2Web).

The current page and the options of a group are asked about as in a single turn. Before them stand
pages of finished turns, each with its question and the recorded action as the answer, as far as a
limit of tokens allows. Every piece of a prompt (page, question, answer; instructions of fine-tuned
models) is cut at its end to its own limit, the memory as a whole at its beginning.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal

from adapters.contract import AdapterInfo
from adapters.conversation import Conversation, Order, Reply, illustrated
from harness.benchmarks.conversation.memory import (
    Count,
    Piece,
    Snippet,
    Speaker,
    as_messages,
    cut_left,
    piece,
)
from harness.dialogue import Asks, Dialogue, Replies
from harness.errors import UserError
from harness.page import Brackets
from harness.protocols.contract import Needs
from harness.protocols.groups import CandidateGroup
from harness.protocols.mindact import MindAct
from harness.protocols.mindact_choice import Reader, lettered, opening, read_choice, write_choice
from harness.protocols.mindact_generate import matched_notes, read_written, write_element
from harness.protocols.texts import Schema, history_lines
from harness.records import Choice, Step
from harness.views import StepView
from parsers import count_tokens, letter
from parsers.records import Prediction

if TYPE_CHECKING:
    from harness.pictures import PicturePolicy

_NONE: frozenset[str] = frozenset()
_ASKED = frozenset({"task", "history"})
COMMON = {
    "page": frozenset({"page"}),
    "history_line": frozenset({"number", "action"}),
    "no_history": _NONE,
}
CHOICE = {
    "none_option": _NONE,
    "choice_question": _ASKED | {"choices"},
    "choice_remembered": frozenset({"task", "choices"}),
}
GENERATE = {"generate_question": _ASKED, "generate_remembered": frozenset({"task"})}
CHOICE_CHAT, GENERATE_CHAT, REWRITE_CHAT, RATIONALE_CHAT = (
    {f"{way}_system": _NONE}
    | {f"{way}_{part}_{n}": _NONE for n in range(1, last + 1) for part in ("example", "solution")}
    for way, last in (("choice", 1), ("generate", 1), ("rewrite", 2), ("rationale", 2))
)
SEQ2SEQ = dict.fromkeys(("seq2seq_system", "seq2seq_human", "seq2seq_assistant"), _NONE)
REWRITE = {**REWRITE_CHAT, "rewrite_question": frozenset({"task", "earlier"})}
RATIONALE = {
    **RATIONALE_CHAT,
    "reflected": frozenset({"answer", "rationale"}),
    "rationale_question": frozenset({"page", "task", "history", "answer"}),
    "rationale_none": _NONE,
}
_FURTHER = CHOICE | CHOICE_CHAT | GENERATE | GENERATE_CHAT | SEQ2SEQ | REWRITE | RATIONALE
SCHEMA = Schema(
    "multi_turn.toml",
    allowed={**COMMON, **_FURTHER},
    needed={
        "page": frozenset({"page"}),
        "history_line": frozenset({"action"}),
        **{key: allowed - {"history"} for key, allowed in _FURTHER.items()},
    },
    further=frozenset(_FURTHER),
)
LIMIT = (50,)
"""Published token limit of the replies of fine-tuned models."""


@dataclass(frozen=True)
class MultiTurn(MindAct):
    """The tournament; a protocol adds what it recalls of the finished turns."""

    generation: bool = False
    """True if the model writes the element instead of an option's letter."""
    form: Literal["auto", "chat", "seq2seq"] = "auto"
    """Messages, or one text for fine-tuned models; `auto` chooses by the model (`chat` for
    policies)."""
    reader: Reader = "strict"
    """Parser of replies: `strict`, as for other protocols, or `reference`, MindAct's."""
    piece_tokens: int = 512
    """Token limit of every piece."""
    total_tokens: int = 2048
    """Token limit of a prompt, which decides how much of the memory it has."""
    remembered: Literal["ranked", "released"] = "ranked"
    """Elements of a remembered page that is not simplified: the ranker's, five of them in its
    question, or, as in the released code, an acceptable one and all others, with all of them in its
    question."""
    order: Order = "picture-first"
    """Where the picture stands."""
    end_tokens: Literal["last", "pieces"] = "last"
    """End tokens of the input of fine-tuned models: at its end only, or after each piece except
    pages, as Self-MAP's were trained. Follows from the model (`--adapter-option end_tokens`)."""

    of_model = ("form", "prompts_sha256", "end_tokens")
    paper = "Deng et al. 2024 (MT-Mind2Web)"
    schema = SCHEMA
    needs = Needs(
        sources=("ranker", "snapshot", "all"), picture_policy="none", shuffles=True, turns=True
    )

    def __post_init__(self) -> None:
        """Raise `UserError` for a wrong prompt file, ValueError for options without a meaning."""
        for name in ("piece_tokens", "total_tokens", "turns", "k"):
            if (value := getattr(self, name, 1)) < 1:
                raise ValueError(f"{name}={value}: expected at least 1")
        if self.remembered == "released" and not self.shows_whole_pages:
            raise ValueError("remembered=released has no effect: no whole page is remembered")
        if self.end_tokens == "pieces" and not self.tuned:
            raise ValueError("end_tokens=pieces is for fine-tuned models (form=seq2seq)")
        super().__post_init__()

    @property
    def shows_whole_pages(self) -> bool:
        """True if remembered pages are not simplified."""
        return True

    @classmethod
    def for_model(cls, values: Mapping[str, object], model: AdapterInfo) -> Mapping[str, object]:
        """Add the form of prompts that the model takes, and the limit of a fine-tuned one."""
        filled = dict(values)
        if filled.get("form", "auto") == "auto":
            filled["form"] = "seq2seq" if model.name.startswith("seq2seq:") else "chat"
        if filled["form"] == "seq2seq":
            filled.setdefault("max_tokens", LIMIT)
        if model.settings.get("end_tokens") == "pieces":
            filled.setdefault("end_tokens", "pieces")
        return filled

    def check(self, pictures: PicturePolicy, model: AdapterInfo) -> None:
        """Raise `UserError` if protocol and adapter do not agree about end tokens."""
        if model.stand_in != "policy":
            theirs = model.settings.get("end_tokens", "last")
            if theirs != self.end_tokens:
                raise UserError(
                    f"end_tokens={self.end_tokens} of the protocol, and {theirs} of {model.name}: "
                    "give --adapter-option end_tokens only"
                )

    @property
    @abstractmethod
    def memory(self) -> str:
        """Return what is remembered, in the words of published rows."""

    @abstractmethod
    def recalled(self, step: Step) -> Generator[Asks, Replies, list[Snippet]]:
        """Return what is remembered, in the order shown."""

    @property
    def way(self) -> str:
        """The way to ask, in the words of published rows."""
        words = ["tournament of five", *(["generated"] if self.generation else []), self.memory]
        if self.remembered == "released":
            words.append("all elements listed")
        if self.total_tokens != MultiTurn.total_tokens:
            words.append(f"{self.total_tokens} tokens")
        if self.piece_tokens != MultiTurn.piece_tokens:
            words.append(f"pieces of {self.piece_tokens} tokens")
        return ", ".join(words)

    @property
    def written(self) -> bool:
        return self.generation

    @property
    def none_rule(self) -> str:
        """The first option means none of them, unless the model says so in words."""
        return "in words" if self.generation else "first"

    @property
    def tuned(self) -> bool:
        """True if prompts are those of fine-tuned models."""
        return self.form == "seq2seq"

    @property
    def brackets(self) -> Brackets:
        """The brackets around elements in the page's text."""
        return "round" if self.tuned else "angle"

    @property
    def further(self) -> frozenset[str]:
        """The texts that this way of asking uses."""
        asked, chat = (GENERATE, GENERATE_CHAT) if self.generation else (CHOICE, CHOICE_CHAT)
        return frozenset({*asked, *(SEQ2SEQ if self.tuned else chat)})

    def dialogue(self, view: StepView) -> Dialogue:
        """Recall what it remembers, and hold the tournament. Raises ValueError without choices."""
        step, choices = view.step, view.choices
        if not choices:
            raise ValueError(f"step {step.step_id} has no choices to offer")
        snippets = yield from self.recalled(step)
        if self.remembered == "released":
            snippets = [replace(one, released=True) for one in snippets]
        count = lru_cache(maxsize=256)(step.tokens or count_tokens)
        question = partial(self._question, step, count, self._memory(snippets, count))
        return (yield from self._tournament(step, choices, {}, question))

    def conversation(self, step: Step, group: CandidateGroup) -> Conversation:
        """The question about one group, without a memory."""
        return self._question(step, step.tokens or count_tokens, (), group)

    def read(self, reply: Reply, group: CandidateGroup) -> Prediction:
        """The answer about one group; a winner has an element."""
        if self.generation:
            return read_written(reply, group, self.reader)
        return read_choice(reply, group, self.reader, tuned=self.tuned)

    def write_choice(
        self, group: CandidateGroup, position: int | None, prediction: Prediction
    ) -> str:
        """The reply that picks the group's choice at `position`, or none of them."""
        said = position, prediction.operation, prediction.value
        if not self.generation:
            return write_choice(*said, self.reader, tuned=self.tuned)
        choice = None if position is None else group.choices[position]
        return write_element(choice, *said, self.reader)

    def settings(self) -> dict[str, object]:
        """The fields, with `auto` resolved."""
        return {**super().settings(), "form": "seq2seq" if self.tuned else "chat"}

    def notes(self, flags: Mapping[str, int]) -> list[str]:
        return [*matched_notes(flags), *super().notes(flags)]

    @property
    def _marks(self) -> bool:
        """True if pieces other than pages end with an end token."""
        return self.end_tokens == "pieces"

    @property
    def _turn(self) -> str:
        """The words before an answer of a fine-tuned model."""
        return self.texts["seq2seq_assistant"]

    @property
    def _way(self) -> str:
        """The beginning of the keys of the texts that ask."""
        return "generate_" if self.generation else "choice_"

    def _question(
        self, step: Step, count: Count, memory: Sequence[Piece], group: CandidateGroup
    ) -> Conversation:
        """The question about a group, behind as much of the memory as there is room for."""
        asked = self.texts.fill(
            f"{self._way}question",
            task=step.info.task,
            history=history_lines(self.texts, step.history, self.history),
            choices="" if self.generation else lettered(self.texts, group.shown),
        )
        current = self._asked(group.snippet, asked, count)
        room = self.total_tokens - sum(one.tokens for one in current)
        if self.tuned:
            first = self._piece("user", self.texts["seq2seq_system"], count)
            last = [] if self._marks else [self._piece("user", self._turn, count)]
            room -= sum(one.tokens for one in (first, *last))
            pieces = (first, *cut_left(memory, room, count), *current, *last)
            texts = (one.sent for one in pieces)
            return Conversation((illustrated(step.pictures, *texts, order=self.order),))
        told = opening(self.texts, self._way)
        kept = cut_left(memory, room - sum(count(message.text) for message in told), count)
        asked = "\n\n".join(one.text for one in current if one.text)
        question = illustrated(step.pictures, asked, order=self.order)
        return Conversation((*told, *as_messages(kept), question))

    def _asked(self, page: str, question: str, count: Count) -> list[Piece]:
        """Return the question about a page."""
        if self._marks:
            before, after = self.texts["page"].split("{page}", 1)
            opened, asked = f"{self.texts['seq2seq_human']} {before}", f"{question}\n{self._turn}"
            parts = ((opened, True), (page, False), (after, True), (asked, True))
            return [self._piece("user", text, count, ends=e) for text, e in parts if text.strip()]
        page = self.texts.fill("page", page=page)
        if self.tuned:
            page = f"{self.texts['seq2seq_human']}\n{page}"
        return [self._piece("user", text, count) for text in (page, question)]

    def _piece(self, role: Speaker, text: str, count: Count, *, ends: bool | None = None) -> Piece:
        """Return a piece within its limit, with an end token where those of its kind have one."""
        ends = self._marks if ends is None else ends
        return piece(role, text, self.piece_tokens, count, ends=ends)

    def _memory(self, snippets: Sequence[Snippet], count: Count) -> list[Piece]:
        """The last pieces of the memory, at least as many as there can be room for."""
        pieces: list[Piece] = []
        for snippet in reversed(snippets):
            if sum(one.tokens for one in pieces) >= self.total_tokens:
                break
            pieces[:0] = self._remembered(snippet, count)
        return pieces

    def _remembered(self, snippet: Snippet, count: Count) -> list[Piece]:
        """A finished action: its page, the question about it, and what was done as the answer."""
        action, wanted = snippet.action, snippet.asked(self.seed)
        listing = action.scene.listing(snippet.shown(self.seed), brackets=self.brackets)
        # Elements are numbered among all that are shown, and lettered among those asked about.
        listed = [(n, text) for n, text in enumerate(listing.texts) if text[0] in wanted]
        name = _next_character if snippet.released else letter
        shown = (text for _, (_, text) in listed)
        question = self.texts.fill(
            f"{self._way}remembered",
            task=snippet.turn.task,
            choices="" if self.generation else lettered(self.texts, shown, name),
        )
        right = snippet.positive(self.seed)
        place = next((n for n, (_, (one, _)) in enumerate(listed) if one == right), None)
        if not self.generation:
            told = place, action.operation, action.value
            answer = write_choice(*told, self.reader, tuned=self.tuned, name=name)
        elif place is None:
            answer = write_element(None, None, None, "", self.reader)
        else:
            number, (node_id, text) = listed[place]
            element = Choice("", node_id, "", text)
            answer = write_element(element, number, action.operation, action.value, self.reader)
        if snippet.rationale:
            answer = self.texts.fill("reflected", answer=answer, rationale=snippet.rationale)
        if self.tuned and not self._marks:
            answer = f"{self._turn} {answer}"
        asked = self._asked(listing.snippet, question, count)
        return [*asked, self._piece("assistant", answer, count)]


def _next_character(number: int) -> str:
    """Return the letter of an option as the released code does, which goes on behind `Z`."""
    return chr(ord("A") + number)
