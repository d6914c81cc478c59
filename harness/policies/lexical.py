"""The policy `lexical`: word overlap of task and history with the choices of a recorded step.

Words are compared in the form that `words` gives them. A value to type or to select is a phrase of
the task: something quoted, a name, a date, a number.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.policies import Secret
from harness.records import Choice, Step
from harness.views import StepView
from parsers.records import Operation, Prediction, Status

WORD = re.compile(r"[^\W_]+(?:[.,:'][^\W_]+)*")
MARKUP = re.compile(r"<[\w-]+(?: b?n?id=\d+)?|</[\w-]+>|[<>]|/(?=>)")
ACTION = re.compile(r"[A-Z]+(?: [A-Z]+)?")


def names(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


STOP = names(
    "a an and are as at be but by for from has have i in is it its me my of on one or out that the"
    " their them then there this to up want was which with you your"
)

KIN = {
    "add": ("basket", "cart", "bag"),
    "book": ("reserve", "reservation", "booking"),
    "buy": ("basket", "cart", "bag", "checkout", "order"),
    "cheapest": ("low", "lowest", "price"),
    "expensive": ("high", "highest", "price"),
    "find": ("search",),
    "order": ("basket", "cart", "checkout"),
    "purchase": ("basket", "cart", "bag", "checkout", "buy"),
    "reserve": ("book", "reservation", "booking"),
    "show": ("view",),
}
"""Words that websites use for what tasks ask for."""


@dataclass(frozen=True, slots=True)
class PastWords:
    """A previous action: description of its element, operation, and value if any."""

    what: str
    operation: str
    value: str


def stem(word: str) -> str:
    """Return a word without a plural ending."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def words(text: str) -> list[str]:
    """Lower-case words without plural endings and stop words.

    >>> words("Find the flights to Oslo")
    ['find', 'flight', 'oslo']
    """
    lower = (word.lower() for word in WORD.findall(text))
    return [stem(word) for word in lower if word not in STOP]


def plain(text: str) -> str:
    """Return a choice text without markup: the words of attributes and the visible words.

    >>> plain("<button id=7 submit search> Go </button>").split()
    ['submit', 'search', 'Go']
    """
    return MARKUP.sub(" ", text)


def read_line(line: str) -> PastWords:
    """Parse a history line such as `[textbox]  Zip code -> TYPE: 10203`; others are descriptions.

    >>> read_line("[textbox]  Zip code -> TYPE: 10203")
    PastWords(what='Zip code', operation='TYPE', value='10203')
    """
    before, arrow, after = line.rpartition(" -> ")
    operation, _, value = after.partition(": ")
    if not arrow or not ACTION.fullmatch(operation):
        return PastWords(line, "", "")
    role, bracket, what = before.partition("]")
    described = what if bracket and role.startswith("[") else before
    return PastWords(described.strip(), operation, value.strip())


_NAME = r"[A-Z][\w'’-]*(?: (?:of |de |la )?[A-Z][\w'’-]*){0,5}"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("quoted", re.compile(r"(?<!\w)[\"“'‘]([^\"”'’“]{1,80})[\"”'’](?!\w)")),
    ("mail", re.compile(r"\b([\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{1,20}){1,4})")),
    ("message", re.compile(r"\b(?:message|note|saying|titled)[:,]? ([A-Z][^,.;:]{2,80})")),
    ("street", re.compile(rf"\b(\d{{1,5}} {_NAME})")),
    ("date", re.compile(rf"\b((?:{_DAY},? )?\d{{1,2}} {_MONTH})\b", re.I)),
    ("date", re.compile(rf"\b({_MONTH} \d{{1,2}}(?:st|nd|rd|th)?)\b", re.I)),
    ("code", re.compile(r"\b(\d{3,}(?:[ -]\d{3,}){1,4}|[A-Z][A-Z\d]{4,}|[A-Z]+\d[A-Z\d]+)\b")),
    ("name", re.compile(rf"\b({_NAME})")),
    ("number", re.compile(r"(?<![\w.])([£$€]?\d[\d.,:/]{0,15}(?: ?[ap]m)?)\b", re.I)),
    (
        "object",
        re.compile(
            r"\b(?:for|about|find|buy|order|search|show|browse|of)"
            r" (?:for |an? |the |some |all |me ){0,3}(\w[\w '’-]{1,60}?)"
            r"(?= (?:and|in|on|at|to|from|with|for|by|under|between|that|which)\b|[.,;:!?()]|$)",
            re.I,
        ),
    ),
)
"""Kinds of phrases, the most specific first; a phrase inside an earlier one is left out."""

FIELDS: tuple[tuple[str, str, str], ...] = (
    ("email mail e-mail", "mail", ""),
    ("phone tel telephone mobile", "code number", ""),
    ("zip postcode postal", "code number", ""),
    ("voucher coupon promo discount code card account reference number", "code number", ""),
    ("message note comment subject", "message quoted", ""),
    ("street address", "street", ""),
    ("date day when", "date", ""),
    ("from origin depart departure pick pickup", "name", "from"),
    ("destination arrival arrive drop dropoff", "name", "to"),
    ("name first last who recipient passenger guest to", "name", "for name named called register"),
    ("city location place where airport near", "name", "in at near to from"),
    ("quantity amount price age min max people adult year", "number", ""),
    ("search q query keyword find looking term", "quoted name object", ""),
)
"""Label words of a field, the kinds of phrases it takes, and words that precede such phrases."""

PLACEHOLDER = re.compile(r"(?:choose|select|please|pick|any|all|-)\b|-", re.I)
MANY_OPTIONS = 30

GOOD, FAIR, WEAK = 1.0, 0.7, 0.3
"""Scores of a phrase for a field: fit in kind and position, in kind only, or a last resort."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A sequence of words in the task; `lead` and `tail` are the words before and after it."""

    kind: str
    text: str
    lead: str
    tail: str


def phrases(task: str, used: Iterable[str]) -> list[Phrase]:
    """Return the phrases of a task that may be values, except those already typed or selected."""
    done = [tuple(words(value)) for value in used]
    taken = bytearray(len(task))
    matches: list[Phrase] = []
    for kind, pattern in PATTERNS:
        for match in pattern.finditer(task):
            start, end = match.span(1)
            # The first word is capitalised for another reason than being a name.
            if (kind == "name" and start == 0) or any(taken[start:end]):
                continue
            taken[start:end] = b"\1" * (end - start)
            inside = tuple(words(match[1]))
            if inside and not any(contains(value, inside) for value in done):
                before, after = task[max(0, start - 30) : start], task[end : end + 30]
                lead, tail = edge(before, -1), edge(after, 0)
                text = " ".join(match[1].split()).rstrip(" .,:/-")
                matches.append(Phrase(kind, text, lead, tail))
    return matches


def edge(text: str, position: int) -> str:
    """Return the first (0) or last (-1) word of a text, in lower case."""
    found = text.lower().split()
    return found[position].strip(".,:;") if found else ""


def contains(outer: Sequence[str], inner: Sequence[str]) -> bool:
    """Return True if the inner words occur in the outer ones, next to each other."""
    size = len(inner)
    return any(list(outer[i : i + size]) == list(inner) for i in range(len(outer) - size + 1))


def for_field(found: Sequence[Phrase], label: Sequence[str]) -> tuple[str, float]:
    """Return the phrase to type into a field with these label words, and how well it fits."""
    about = set(label)
    for names, kinds, leads in FIELDS:
        if not about & set(names.split()):
            continue
        fitting = [p for kind in kinds.split() for p in found if p.kind == kind]
        led = next((p for p in fitting if p.lead in leads.split()), None)
        if led:
            return led.text, GOOD
        if fitting:
            return fitting[0].text, FAIR if leads else GOOD
    return (found[0].text, WEAK) if found else ("", 0.0)


def for_list(
    task: str,
    used: Sequence[str],
    found: Sequence[Phrase],
    label: Sequence[str],
    options: Sequence[str],
) -> tuple[str, float]:
    """Return the option to select and its score; only the first options of a list are known."""
    wanted = set(words(task)) - {word for value in used for word in words(value)}
    task_words = wanted | {kin for word in wanted for kin in KIN.get(word, ())}
    known = [option for option in options[:MANY_OPTIONS] if not PLACEHOLDER.match(option)]
    for option in known:
        # An option of the same form: `2 people`, with `5 people` in the task.
        match = form_of(option).search(task) if re.search(r"\d", option) else None
        if match and any(match.group() in p.text or p.text in match.group() for p in found):
            return match.group(), GOOD
    best = max(known, key=lambda option: share(words(option), task_words), default="")
    if share(words(best), task_words) >= 0.5:
        longer = next((p.text for p in found if p.text.lower().startswith(best.lower())), None)
        return longer or best, GOOD
    names = [p for p in found if p.kind == "name"]
    about = set(label)
    named = next((p.text for p in names if p.lead in about or p.tail in about), "")
    if named:
        return named, GOOD
    return (names[0].text, WEAK) if names else ("", 0.0)


def share(option: Sequence[str], task_words: set[str]) -> float:
    """Return the share of an option's words that the task has."""
    return sum(word in task_words for word in option) / len(option) if option else 0.0


def form_of(option: str) -> re.Pattern[str]:
    """Return a pattern for texts in the form of an option, with other numbers, days and months."""
    parts = []
    for word in option.split()[:6]:
        if re.fullmatch(_DAY, word, re.I):
            parts.append(_DAY)
        elif re.fullmatch(_MONTH, word, re.I):
            parts.append(_MONTH)
        elif word.isalpha():
            parts.append(re.escape(word.rstrip("s")) + "s?")
        else:
            parts.append(re.sub(r"\d+", r"\\d+", re.escape(word)))
    return re.compile(r"(?<![\w£$€])" + " ".join(parts) + r"(?![\w])", re.I)


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
