"""The policy `lexical`: word overlap of task and history with the choices of a recorded step."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness.policies import Secret
from harness.policies.words import (
    FAIR,
    KIN,
    PLACEHOLDER,
    PastWords,
    for_field,
    for_list,
    names,
    phrases,
    plain,
    read_line,
    words,
)
from harness.records import Choice, Step
from harness.views import StepView
from parsers.records import Operation, Prediction, Status

Kind = Literal["field", "list", "button", "control", "other", "container"]

PRESSED = names("submit button checkbox radio reset image file range color")
SUBMITTING = names("submit search find go continue next apply confirm send register save done")
CONTAINERS = names("ul ol li table tbody tr form section nav main header footer div")
NESTED = re.compile(r"<(?:a|button|input|select|textarea|li|div)\b")
SELECTED = re.compile(r"<option[^<>]*\btrue\b[^<>]*>\s*([^<]*)")
OPTION = re.compile(r"<option[^<>]*>([^<]*)")

KIND_POINTS: dict[Kind, float] = {"button": 0.6, "control": 0.6, "other": 0.2, "container": -1.0}
LENGTH_POWER = 0.7
DEALT_WITH = 0.3
KIN_WEIGHT = 0.5
VALUE_POINTS = 4.0
SUBMIT_POINTS = 1.4
ENTER_POINTS = 1.2
REPEATED_POINTS = -1.5


@dataclass(frozen=True, slots=True)
class Lexical:
    """Word overlap of task and history with the choices; deterministic, without picture.

    Element: a word of the task weighs more if few choices contain it, and less if a previous action
    has dealt with it. A choice scores the weights of the words it shares with the task, divided by
    a slowly growing function of its length, plus points for its kind: an interactive element, a
    field or list with an unused value in the task, the button of a filled form. Ties go to the
    choice higher up on the page. Operation: by the kind of element. Value: the phrase of the task
    that fits the element. Rules and weights were developed on the `dev` sites of the sample only.
    """

    name: str = "lexical"
    needs_gold: bool = False

    View = StepView

    def predict(self, view: StepView, chance: random.Random, secret: Secret | None) -> Prediction:
        step, choices = view.step, view.choices
        reader = Reader(step, choices)
        choice = max(choices, key=lambda c: (reader.points(c), *above(c)))
        operation, value = reader.action(choice)
        return Prediction.of(
            Status.ANSWERED, choice.letter, choice.id, operation=operation, value=value
        )


class Reader:
    """Scores the choices of one step by its task and history."""

    def __init__(self, step: Step, choices: Sequence[Choice]) -> None:
        self._task = step.info.task
        self._history = [read_line(line) for line in step.history]
        self._used = [done.value.lower() for done in self._history if done.value]
        # A brand or place that was clicked is dealt with like one that was typed.
        clicked = [done.what for done in self._history if not done.value]
        self._phrases = phrases(step.info.task, (*self._used, *clicked))
        self._weights = task_weights(step.info.task, self._history, choices)
        self._touched = [words(done.what) for done in self._history]
        self._filling = bool(self._history) and self._history[-1].operation in ("TYPE", "SELECT")

    def points(self, choice: Choice) -> float:
        """Return the score of a choice as the next element."""
        inside = words(plain(choice.text))
        kind = kind_of(choice)
        if kind in ("field", "list"):
            if self._is_filled(choice, kind):
                # Without a submit button, the text just typed is sent with the enter key.
                last = self._history[-1].value.lower()
                sent = self._filling and kind == "field" and last in choice.text.lower()
                return ENTER_POINTS if sent else REPEATED_POINTS
            # Words of options and values add nothing, since the value covers them.
            return VALUE_POINTS * self._value(choice, kind)[1]
        shared = sum(self._weights.get(word, 0.0) for word in set(inside))
        points: float = KIND_POINTS[kind] + shared / (1 + len(inside)) ** LENGTH_POWER
        if self._filling and kind == "button" and SUBMITTING & set(inside):
            # After the last field comes the button; open fields earn more than it does.
            points += SUBMIT_POINTS
        if inside and inside in self._touched:
            points += REPEATED_POINTS
        return points

    def action(self, choice: Choice) -> tuple[Operation, str]:
        """Return the operation on a choice, and its value."""
        kind = kind_of(choice)
        if kind == "list":
            return "SELECT", self._value(choice, kind)[0]
        if kind == "field" and not self._is_filled(choice, kind):
            return "TYPE", self._value(choice, kind)[0]
        return "CLICK", ""

    def _value(self, choice: Choice, kind: Kind) -> tuple[str, float]:
        label = plain(choice.text).lower().split()
        if kind == "list":
            options = options_of(choice)
            value, fit = for_list(self._task, self._used, self._phrases, label, options)
            # A list that still shows its placeholder waits for a choice, whatever its options are.
            waits = any(PLACEHOLDER.match(option) for option in SELECTED.findall(choice.text))
            return value, max(fit, FAIR) if waits else fit
        return for_field(self._phrases, label)

    def _is_filled(self, choice: Choice, kind: Kind) -> bool:
        """Return True if a field or list shows a value that a previous action set."""
        if kind == "list":
            # The last option shown may be cut short, and the one selected may not be shown.
            listed = [option.lower() for option in options_of(choice)]
            return any(value.startswith(option) for option in listed for value in self._used)
        text = plain(choice.text)
        shown = " ".join(text.lower().split())
        inside = set(words(text))
        typed = (set(words(done.what)) for done in self._history if done.operation == "TYPE")
        return any(value in shown for value in self._used) or any(
            what and what <= inside for what in typed
        )


def options_of(choice: Choice) -> list[str]:
    """Return the options of a list, as far as the choice text shows them."""
    options = (" ".join(option.split()) for option in OPTION.findall(choice.text))
    return [option for option in options if option]


def above(choice: Choice) -> tuple[float, float]:
    """Return a sort key that is larger higher up on the page: forms are filled in from the top."""
    return (-choice.box.y, -choice.box.x) if choice.box else (-math.inf, -math.inf)


def kind_of(choice: Choice) -> Kind:
    """Return the kind of element, by its tag and the words of its opening tag."""
    tag = choice.tag.lower()
    first = choice.text.partition(">")[0].lower()
    about = set(words(plain(first)))
    if tag == "select":
        return "list"
    if tag == "textarea" or about & {"textbox", "searchbox"}:
        return "field"
    if tag == "input":
        if about & {"submit", "button", "image"}:
            return "button"
        return "control" if about & PRESSED else "field"
    if tag == "button" or (tag != "a" and "button" in about):
        return "button"
    if tag in ("a", "option", "label", "summary") or about & PRESSED:
        return "control"
    if tag in CONTAINERS and NESTED.search(choice.text, len(first)):
        return "container"
    return "other"


def task_weights(
    task: str, history: Sequence[PastWords], choices: Sequence[Choice]
) -> dict[str, float]:
    """Return the weight of each word: more if rare among the choices, less if dealt with before."""
    seen = Counter(word for choice in choices for word in set(words(plain(choice.text))))
    done = {word for line in history for word in words(f"{line.what} {line.value}")}
    wanted = {kin: KIN_WEIGHT for word in words(task) for kin in KIN.get(word, ())}
    wanted |= dict.fromkeys(words(task), 1.0)
    return {
        word: weight
        * math.log((len(choices) + 1) / (seen[word] + 0.5))
        * (DEALT_WITH if word in done else 1.0)
        for word, weight in wanted.items()
        if seen[word]
    }
