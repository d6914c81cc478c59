"""Words of tasks, choices and history lines, in a form to compare, and the values in tasks.

A value to type or to select is a phrase of the task: something quoted, a name, a date, a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
