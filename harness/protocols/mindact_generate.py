"""MindAct's generation variant (Deng et al. 2023, section 4.2): the model writes the element.

The page is pruned to a few candidates as in the multiple choice, but no options are listed. The
element that the model writes is matched with a candidate, and a flag names the rule, to distinguish
errors of the matcher from errors of the model. The first rule that applies counts:

1. the number that the page shows for a candidate, `id=3`;
2. the candidate's text, ignoring case, blanks and the number;
3. the candidate with the most words in common (Dice's coefficient over words, tags and attributes
   included), if the coefficient is at least `LEAST`.

Ties go to the candidate with the better rank, then to the first on the page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from adapters.conversation import Conversation, Reply, user
from harness.protocols.contract import flagged
from harness.protocols.groups import CandidateGroup
from harness.protocols.mindact import MindAct
from harness.protocols.mindact_choice import EXAMPLES, Reader, as_written, opening
from harness.protocols.texts import Schema, history_lines
from harness.records import Choice, Step
from parsers.mindact import read_element, read_element_reference, spell
from parsers.records import Operation, Prediction, Status

SCHEMA = Schema(
    "mindact_generate.toml",
    allowed={
        "system": frozenset(),
        "question": frozenset({"task", "history", "page"}),
        "history_line": frozenset({"number", "action"}),
        "no_history": frozenset(),
        **{f"{part}_{n}": frozenset() for n in EXAMPLES for part in ("example", "solution")},
    },
    needed={
        "question": frozenset({"page", "task"}),
        "history_line": frozenset({"action"}),
    },
)


FOUND_BY = {"match-number": "number", "match-text": "text", "match-words": "words in common"}
"""Rules of matching written elements, by flag."""
LEAST = 0.3
_NUMBER = re.compile(r"(?<![\w-])id\s{0,2}=\s{0,2}[\"']?(\d{1,6})(?!\w)", re.I)
_WORDS = re.compile(r"[^\W_]+")
_ENOUGH = 2_000

Match = tuple[int, tuple[str, ...]]


@dataclass(frozen=True)
class MindActGenerate(MindAct):
    """The tournament with written elements instead of option letters."""

    group_size: int = 5
    """Number of candidates in a group; one that holds all candidates means a single question."""
    reader: Reader = "strict"
    """Parser of replies: `strict`, as for other protocols, or `reference`, MindAct's."""

    name = "mindact-generate"
    paper = "Deng et al. 2023 (Mind2Web), generation"
    way = "generated"
    none_rule = "in words"
    written = True
    schema = SCHEMA

    def __post_init__(self) -> None:
        """Raise `UserError` for a wrong prompt file, ValueError for an impossible group size."""
        if not 2 <= self.group_size <= 100:
            raise ValueError(f"group_size={self.group_size}: expected 2 to 100")
        super().__post_init__()

    def conversation(self, step: Step, group: CandidateGroup) -> Conversation:
        """Return the examples, and the question about a group."""
        texts = self.texts
        history = history_lines(texts, step.history, self.history)
        question = texts.fill("question", page=group.snippet, task=step.info.task, history=history)
        return Conversation((*opening(texts), user(question)))

    def read(self, reply: Reply, group: CandidateGroup) -> Prediction:
        """Return the candidate that the written element is matched with."""
        return read_written(reply, group, self.reader)

    def write_choice(
        self, group: CandidateGroup, position: int | None, prediction: Prediction
    ) -> str:
        """Return the candidate's text with its number, followed by action and value."""
        choice = None if position is None else group.choices[position]
        said = prediction.operation, prediction.value
        return write_element(choice, position, *said, self.reader)

    def notes(self, flags: Mapping[str, int]) -> list[str]:
        return [*matched_notes(flags), *super().notes(flags)]


def read_written(reply: Reply, group: CandidateGroup, reader: Reader) -> Prediction:
    """Return the candidate that the written element is matched with."""
    finish = reply.finish.value
    if reader == "reference":
        options = [(choice.id, choice.text) for choice in group.choices]
        answer = read_element_reference(reply.text, options, finish=finish)
    else:
        answer = read_element(
            reply.text,
            lambda text: match_element(text, group.choices),
            len(group.choices),
            finish=finish,
        )
    picked = None if answer.option is None else group.choices[answer.option].id
    prediction = Prediction.of(
        answer.status, None, picked, None, answer.operation, answer.value, answer.flags
    )
    if reader == "reference":
        return as_written(prediction, reply)
    return flagged(prediction, ["match-none"] if answer.status is Status.NO_ELEMENT else [])


def write_element(
    choice: Choice | None,
    position: int | None,
    operation: Operation | None,
    value: str,
    reader: Reader,
) -> str:
    """Return the text of a candidate with its number on the page, followed by action and value."""
    reference = reader == "reference"
    if choice is None:
        return "None" if reference else "Element: None"
    text = choice.text
    if f" id={position}" not in text.split(">")[0]:
        text = f"<{choice.tag} id={position}> {text}"
    return spell(f"Element: {text}", operation, value, as_written=reference)


def matched_notes(flags: Mapping[str, int]) -> list[str]:
    """Return a line with the number of elements found by each rule, if any were."""
    counts = {how: n for flag, how in FOUND_BY.items() if (n := flags.get(flag, 0))}
    listed = ", ".join(f"{count} by {how}" for how, count in counts.items())
    return [f"written elements matched: {listed}"] if counts else []


def match_element(text: str, choices: Sequence[Choice]) -> Match | None:
    """Return the position of the choice that `text` means, and the flag of the rule; else None.

    `choices` are a group in document order: their positions are their numbers.

    >>> links = [Choice("", "n1", "a", "<a id=0> Home </a>"), Choice("", "n2", "a", "<a id=1> Go")]
    >>> [match_element(text, links) for text in ("<a id=1>", "<a> home </a>", "link Go")]
    [(1, ('match-number',)), (0, ('match-text',)), (1, ('match-words',))]
    """
    text = text[:_ENOUGH]
    number = _NUMBER.search(text)
    if number and int(number[1]) < len(choices):
        return int(number[1]), ("match-number",)
    plain = _plain(text)
    same = [n for n, choice in enumerate(choices) if _plain(choice.text) == plain]
    if plain and same:
        return _best(same, choices, lambda _: 0.0), ("match-text",)
    words = set(_WORDS.findall(plain))
    shares = [_overlap(words, set(_WORDS.findall(_plain(choice.text)))) for choice in choices]
    close = [n for n, share in enumerate(shares) if share >= LEAST]
    if close:
        return _best(close, choices, lambda n: shares[n]), ("match-words",)
    return None


def _best(places: Sequence[int], choices: Sequence[Choice], value: Callable[[int], float]) -> int:
    def key(place: int) -> tuple[float, float, int]:
        rank = choices[place].rank
        return -value(place), math.inf if rank is None else rank, place

    return min(places, key=key)


def _plain(text: str) -> str:
    return " ".join(_NUMBER.sub("", text).replace(" >", ">").lower().split()).strip("`'\"* ")


def _overlap(one: set[str], other: set[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0
