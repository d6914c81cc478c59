"""A baseline that reads: text overlap of the task with the choices, no model, no picture.

Element: every word of the task has a weight, higher when few choices have it and lower when an
earlier action has already dealt with it; a choice earns the weights of the words it shares with the
task, divided by a slowly growing function of its own length, and a bonus when it is something that a
user can act on. Operation: from the kind of element (fields are typed into, lists selected from,
everything else clicked). Value: the phrase of the task that fits the element and that no earlier
action has used.

The weights below were chosen on the sample's `dev` sites.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.policies.contract import Secret
from harness.policies.phrases import option_in_task, unused_phrase
from harness.records import Choice, Step
from parsers.records import Operation, Prediction, Status

WORD = re.compile(r"[^\W_]+(?:[.,:'][^\W_]+)*")
ID = re.compile(r"^<[\w-]+ id=\d+")
ACTED_ON = re.compile(
    r"^\[[^\]]*\]\s+(?P<what>.*?)\s+->\s+(?P<operation>\w+)(?::\s*(?P<value>.*))?$"
)

STOP = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "for",
        "from",
        "has",
        "have",
        "i",
        "in",
        "is",
        "it",
        "its",
        "me",
        "my",
        "of",
        "on",
        "or",
        "out",
        "that",
        "the",
        "their",
        "then",
        "there",
        "this",
        "to",
        "up",
        "want",
        "was",
        "which",
        "with",
        "you",
        "your",
    ]
)
ACTS = {"button": 1.0, "a": 0.8, "input": 1.0, "select": 1.0, "textarea": 1.0, "option": 0.8}
LENGTH_POWER = 0.5
USED = 0.25
ACT_BONUS = 0.6
SUBMIT = frozenset(
    [
        "search",
        "find",
        "submit",
        "go",
        "continue",
        "next",
        "apply",
        "book",
        "reserve",
        "confirm",
        "show",
        "save",
    ]
)
SUBMIT_BONUS = 1.2


@dataclass(frozen=True, slots=True)
class Lexical:
    """The policy. Ties go to the choice listed first; nothing is drawn."""

    name: str = "lexical"
    needs_gold: bool = False

    def predict(
        self, step: Step, choices: Sequence[Choice], chance: random.Random, secret: Secret | None
    ) -> Prediction:
        weights = task_weights(step, choices)
        fields_filled = any(action_of(line)[0] in ("TYPE", "SELECT") for line in step.history[-1:])
        best = max(
            range(len(choices)),
            key=lambda i: (score(choices[i], weights, fields_filled, step), -i),
        )
        choice = choices[best]
        operation = operation_for(choice)
        value = ""
        if operation == "TYPE":
            value = unused_phrase(step.task, used_values(step), plain(choice.text))
        elif operation == "SELECT":
            value = option_in_task(step.task, used_values(step), plain(choice.text))
        return Prediction(
            Status.ANSWERED,
            letter=choice.letter,
            element=choice.id,
            operation=operation,
            value=value,
        )


def plain(text: str) -> str:
    """A choice text without its markup: attribute words and visible words."""
    return re.sub(r"<[\w-]+(?: id=\d+)?|[<>/]", " ", text)


def words(text: str) -> list[str]:
    """Lower-case words without plural endings and words that say nothing.

    >>> words("Find the flights to Oslo")
    ['find', 'flight', 'oslo']
    """
    found = (stem(word.lower()) for word in WORD.findall(text))
    return [word for word in found if word not in STOP]


def stem(word: str) -> str:
    """A word without a plural ending."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def action_of(line: str) -> tuple[str, str, str]:
    """(operation, description, value) of a history line; empty where it is of another form."""
    match = ACTED_ON.match(line)
    if match is None:
        return "", line, ""
    return match["operation"], match["what"], match["value"] or ""


def used_values(step: Step) -> list[str]:
    """What has been typed or selected so far."""
    return [value for _, _, value in map(action_of, step.history) if value]


def task_weights(step: Step, choices: Sequence[Choice]) -> dict[str, float]:
    """A weight for each word of the task: rare among the choices counts, done with counts less."""
    texts = [set(words(plain(choice.text))) for choice in choices]
    seen = Counter(word for text in texts for word in text)
    done = set(_flat(words(f"{what} {value}") for _, what, value in map(action_of, step.history)))
    return {
        word: math.log((len(choices) + 1) / (seen[word] + 0.5)) * (USED if word in done else 1.0)
        for word in words(step.task)
        if seen[word]
    }


def score(choice: Choice, weights: dict[str, float], filled: bool, step: Step) -> float:
    """How well a choice fits: shared words, and whether one can act on it at all."""
    own = words(plain(choice.text))
    shared = sum(weights.get(word, 0.0) for word in set(own))
    points = shared / (1 + len(own)) ** LENGTH_POWER
    points += ACT_BONUS * ACTS.get(choice.tag.lower(), 0.0)
    if filled and choice.tag.lower() in ("button", "input") and SUBMIT & set(own):
        points += SUBMIT_BONUS
    return points


def operation_for(choice: Choice) -> Operation:
    """What one does to an element of this kind."""
    tag = choice.tag.lower()
    if tag == "select":
        return "SELECT"
    pressed = {"submit", "button", "checkbox", "radio", "reset", "image"}
    if tag == "textarea" or (tag == "input" and not pressed & set(plain(choice.text).split())):
        return "TYPE"
    return "CLICK"


def _flat(groups: Iterable[Iterable[str]]) -> Iterable[str]:
    return (word for group in groups for word in group)
