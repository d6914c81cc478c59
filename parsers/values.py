"""Clean and write the value that a model wants to type or select."""

from __future__ import annotations

from typing import Literal

ValueStyle = Literal["plain", "seeact"]

_PAIRS: tuple[tuple[str, str], ...] = (
    ('"', '"'),
    ("'", "'"),
    ("`", "`"),
    ("**", "**"),
    ("\u201c", "\u201d"),
    ("\u2018", "\u2019"),
    ("\u00ab", "\u00bb"),
    ("\u300c", "\u300d"),
)
_MISSING = frozenset({"none", "n/a", "null"})


def clean_value(text: str, style: ValueStyle = "plain") -> str:
    """The value that `text` stands for.

    `plain` trims and collapses blanks, then removes one pair of matching quotes, backticks or bold
    marks, unless the mark also occurs inside; a final period is part of the value. `seeact` follows
    the SeeAct parser: it removes a pair of double quotes and a final period, twice.

    >>> clean_value("  'New   York' "), clean_value("Washington D.C.")
    ('New York', 'Washington D.C.')
    >>> clean_value("Washington D.C.", "seeact")
    'Washington D.C'
    """
    if style == "seeact":
        return _seeact(text.strip())
    value = " ".join(text.split())
    for opening, closing in _PAIRS:
        if len(value) < len(opening) + len(closing):
            continue
        if value.startswith(opening) and value.endswith(closing):
            inner = value[len(opening) : len(value) - len(closing)]
            if not _holds(inner, opening) and not _holds(inner, closing):
                return inner.strip()
    return value


def _seeact(value: str) -> str:
    for _ in range(2):
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        value = value.removesuffix(".")
    return value


def _holds(inner: str, mark: str) -> bool:
    """Whether the mark occurs inside; an apostrophe between two letters is not a quote."""
    if mark not in ("'", "\u2019"):
        return mark in inner
    at = inner.find(mark)
    while at >= 0:
        between = inner[at - 1 : at].isalnum() and inner[at + 1 : at + 2].isalnum()
        if not between:
            return True
        at = inner.find(mark, at + 1)
    return False


def is_missing(value: str) -> bool:
    """Whether a cleaned value is empty or a word for "no value" (None, N/A, null)."""
    return not value or (len(value) < 8 and value.rstrip(".").strip().lower() in _MISSING)


def written_value(value: str) -> str:
    """Write a value for a VALUE line, in quotes if parsing would strip its own."""
    plain = " ".join(value.split())
    for opening, closing in (("", ""), *_PAIRS):
        if clean_value(opening + plain + closing) == plain:
            return opening + plain + closing
    return plain
