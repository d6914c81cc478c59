"""Words of tasks, choices and history lines, in the form in which they are compared."""

from __future__ import annotations

import re
from dataclasses import dataclass

WORD = re.compile(r"[^\W_]+(?:[.,:'][^\W_]+)*")
MARKUP = re.compile(r"<[\w-]+(?: b?n?id=\d+)?|</[\w-]+>|[<>]|/(?=>)")
ACTION = re.compile(r"[A-Z]+(?: [A-Z]+)?")


def names(text: str) -> frozenset[str]:
    """The words of a text as a set."""
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
"""What websites call the things that tasks ask for."""


@dataclass(frozen=True, slots=True)
class Done:
    """An earlier action: the description of its element, the operation, and the value if any."""

    what: str
    operation: str
    value: str


def stem(word: str) -> str:
    """A word without a plural ending."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def words(text: str) -> list[str]:
    """Lower-case words without plural endings and words that say nothing.

    >>> words("Find the flights to Oslo")
    ['find', 'flight', 'oslo']
    """
    lower = (word.lower() for word in WORD.findall(text))
    return [stem(word) for word in lower if word not in STOP]


def plain(text: str) -> str:
    """A choice text without its markup: attribute words and visible words.

    >>> plain("<button id=7 submit search> Go </button>").split()
    ['submit', 'search', 'Go']
    """
    return MARKUP.sub(" ", text)


def read_line(line: str) -> Done:
    """A history line such as `[textbox]  Zip code -> TYPE: 10203`; others are description only.

    >>> read_line("[textbox]  Zip code -> TYPE: 10203")
    Done(what='Zip code', operation='TYPE', value='10203')
    """
    before, arrow, after = line.rpartition(" -> ")
    operation, _, value = after.partition(": ")
    if not arrow or not ACTION.fullmatch(operation):
        return Done(line, "", "")
    role, bracket, what = before.partition("]")
    described = what if bracket and role.startswith("[") else before
    return Done(described.strip(), operation, value.strip())
