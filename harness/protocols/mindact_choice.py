"""MindAct's multiple choice for prompted models (Deng et al. 2023, section 3.2 and Table 9).

Text only: three solved examples, then the page pruned to five candidates, the last five actions and
the options; `A.` is none of them. The answer is a letter, an action and a value.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from adapters.conversation import Conversation, Message, Reply, Text, system, user
from harness.dialogue import Dialogue
from harness.protocols.contract import Lettering, Needs, StepProtocol, offered, to_prediction
from harness.protocols.groups import CandidateGroup
from harness.protocols.mindact import MindAct
from harness.protocols.texts import Schema, Texts, history_lines
from harness.records import Step
from harness.views import StepView
from parsers import ELEMENT_ONLY, Prediction, Status, letter, read_answer
from parsers.mindact import (
    operation_as_written,
    option_letters,
    read_first_character,
    read_reference,
    spell,
)
from parsers.records import Operation
from parsers.scoring import AS_WRITTEN

Reader = Literal["strict", "reference"]

EXAMPLES = ("1", "2", "3")
_ASKED = frozenset({"task", "history", "choices"})
SCHEMA = Schema(
    "mindact_choice.toml",
    allowed={
        "system": frozenset(),
        "question": _ASKED | {"page"},
        "none_option": frozenset(),
        "history_line": frozenset({"number", "action"}),
        "no_history": frozenset(),
        **{f"{part}_{n}": frozenset() for n in EXAMPLES for part in ("example", "solution")},
    },
    needed={
        "question": frozenset({"page", "task", "choices"}),
        "history_line": frozenset({"action"}),
    },
)
SEQ2SEQ_SCHEMA = Schema(
    "seq2seq.toml",
    allowed={
        "page": frozenset({"page"}),
        "question": _ASKED,
        "none_option": frozenset(),
        "history_line": frozenset({"number", "action"}),
        "no_history": frozenset(),
    },
    needed={
        "page": frozenset({"page"}),
        "question": frozenset({"task", "choices"}),
        "history_line": frozenset({"action"}),
    },
)


class Lettered(MindAct):
    """Lettered options, `A.` for none of them.

    If the texts have a separate `page` (as those of `seq2seq` do), page and question are two parts
    of one message, because fine-tuned models truncate each of them separately.
    """

    tuned = False
    """True for fine-tuned models, whose replies begin with the letter."""

    @property
    @abstractmethod
    def reader(self) -> Reader:
        """The parser of replies."""

    def conversation(self, step: Step, group: CandidateGroup) -> Conversation:
        """Return the solved examples and the question about a group."""
        texts = self.texts
        values = {
            "task": step.info.task,
            "history": history_lines(texts, step.history, self.history),
            "choices": lettered(texts, group.shown),
        }
        if "page" in texts.texts:
            page = texts.fill("page", page=group.snippet)
            return Conversation((user(page, texts.fill("question", **values)),))
        asked = user(texts.fill("question", page=group.snippet, **values))
        return Conversation((*opening(texts), asked))

    def read(self, reply: Reply, group: CandidateGroup) -> Prediction:
        """Return the chosen candidate with operation and value, or the reason why there is none."""
        return read_choice(reply, group, self.reader, tuned=self.tuned)

    def write_choice(
        self, group: CandidateGroup, position: int | None, prediction: Prediction
    ) -> str:
        """Letter, action and value, in the form that the reader expects."""
        said = position, prediction.operation, prediction.value
        return write_choice(*said, self.reader, tuned=self.tuned)


@dataclass(frozen=True)
class MindActChoice(Lettered):
    """The tournament for prompted models."""

    reader: Literal["strict", "reference"] = "strict"
    """Parser of replies: `strict`, as for other protocols, or `reference`, MindAct's."""

    name = "mindact-choice"
    paper = "Deng et al. 2023 (Mind2Web), MindAct with a prompted model"
    schema = SCHEMA


@dataclass(frozen=True)
class Seq2Seq(Lettered):
    """The tournament for fine-tuned models, with the published token limit."""

    max_tokens: tuple[int, ...] = (50,)
    """Token limit of the replies."""
    reader: Reader = "strict"
    """Parser of actions and values; the letter is the first character. `reference` is MindAct's."""

    name = "seq2seq"
    paper = "Deng et al. 2023 (Mind2Web), MindAct with a fine-tuned Flan-T5"
    schema = SEQ2SEQ_SCHEMA
    tuned = True
    brackets = "round"


def opening(texts: Texts, way: str = "") -> tuple[Message, ...]:
    """Return the system message and the solved examples; a prompt file may leave examples empty.

    `way` begins the keys of the texts, where a file has several such openings.
    """
    instructions = texts[f"{way}system"]
    turns: list[Message] = [system(instructions)] if instructions else []
    for number in EXAMPLES:
        if texts.texts.get(f"{way}example_{number}"):
            turns.append(user(texts[f"{way}example_{number}"]))
            turns.append(Message("assistant", (Text(texts[f"{way}solution_{number}"]),)))
    return tuple(turns)


def lettered(texts: Texts, shown: Iterable[str], name: Callable[[int], str] = letter) -> str:
    """Return the options, a line each; the first is none of them. `name` names each by number."""
    lines = [texts["none_option"], *shown]
    return "\n".join(f"{name(number)}. {line}" for number, line in enumerate(lines))


def read_choice(reply: Reply, group: CandidateGroup, reader: Reader, *, tuned: bool) -> Prediction:
    """Return the chosen candidate with operation and value, or the reason why there is none."""
    count, finish = len(group.choices), reply.finish.value
    letters = option_letters(count)
    if tuned:
        raw = reader == "reference"
        answer = read_first_character(reply.text, count, finish=finish, as_written=raw)
    elif reader == "reference":
        answer = read_reference(reply.text, count, finish=finish)
    else:
        texts = [choice.text for choice in group.choices]
        answer = read_answer(reply.text, texts, letters=letters, none_letter="A", finish=finish)
    prediction = to_prediction(answer, group.choices, Lettering(letters, "A"))
    return as_written(prediction, reply) if reader == "reference" else prediction


def as_written(prediction: Prediction, reply: Reply) -> Prediction:
    """Add what MindAct's code compares: a value without an action, and the value of a CLICK."""
    return replace(prediction, parsed={AS_WRITTEN: operation_as_written(reply.text)})


def write_choice(
    position: int | None,
    operation: Operation | None,
    value: str,
    reader: Reader,
    *,
    tuned: bool,
    name: Callable[[int], str] = letter,
) -> str:
    """Letter, action and value, after `Answer: ` unless the reply's first character counts."""
    named = None if position is None else f"{name(position + 1)}."
    text = spell(named, operation, value, as_written=reader == "reference")
    return text if tuned else f"Answer: {text}"


class Classify(StepProtocol):
    """The candidate with rank 0."""

    name = "classify"
    paper = "Deng et al. 2023 (Mind2Web), classification"
    way = "classified"
    needs = Needs(
        sources=("ranker",),
        pictures="none",
        picture_policy="none",
        texts=False,
        scene=False,
    )

    def dialogue(self, view: StepView) -> Dialogue:
        """Answer without a call. Raises ValueError without choices."""
        _, choices = offered(view)
        last = len(choices)
        first = min(choices, key=lambda choice: last if choice.rank is None else choice.rank)
        return Prediction.of(Status.ANSWERED, element=first.id, flags=(ELEMENT_ONLY,))
        yield ()  # a generator, though it asks nothing
