"""Clean and write the value that a model wants to type or select."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Literal

from parsers.operations import value_in_action
from parsers.records import Operation
from parsers.reply_text import without_control, without_tokens

ValueStyle = Literal["plain", "seeact"]
"""Ways to clean values; see `clean_value`."""

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
# May follow a closing quote, not part of the value: `"Ohio".`, `"Ohio" (the state)`.
_AFTER_QUOTE = re.compile(r"\s*(?:[.,;)\]}]{1,3}|\([^()]*\)\.?)")
_LATEX = re.compile(r"\$?\\boxed\{(?:\\text\{)?([^{}]*)\}{1,2}\$?")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,31});")
_TAGS = ("b", "i", "u", "em", "strong", "code", "span")
_MARKED = re.compile(rf"<({'|'.join(_TAGS)})>([^<>]*)</\1>")
_STRUCK = re.compile(r"~~[^~]{1,200}~~")
_NO_VALUE = (
    r"none|n/a|n\.a\.?|null|nil"
    r"|(?:none |not |no (?:value|input|text|additional input) ?(?:is )?)"
    r"(?:applicable|available|needed|required|necessary|provided|given)"
    r"|no (?:value|input|additional input)"
)
_MISSING = re.compile(
    rf"(?:{_NO_VALUE})\.?(?:\s*\([^()]*\)\.?|\s*[,;:]\s.*|\s+[-\u2013\u2014]\s.*)?"
    rf"|[(\[<{{](?:{_NO_VALUE}|empty|blank)[)\]>}}]\.?"
    r"|[-\u2013\u2014]+",
    re.IGNORECASE,
)


def undressed(text: str) -> str:
    """Return a text without CDATA marks and control tokens at its end, entities as characters.

    >>> undressed("<![CDATA[AT&T]]>"), undressed("AT&amp;T<|im_end|>"), undressed("?a=1&copy=2")
    ('AT&T', 'AT&T', '?a=1&copy=2')
    """
    if (framed := _LATEX.fullmatch(text.strip())) is not None:
        text = framed[1]
    if "<![CDATA[" in text:
        text = _CDATA.sub(lambda found: found[1], text)
    elif "&" in text:
        text = _ENTITY.sub(lambda found: unescape(found[0]), text)
    return without_control(text)


def clean_value(text: str, style: ValueStyle = "plain") -> str:
    """Return the value that `text` means.

    `plain` trims and collapses blanks, then removes one pair of matching quotes, backticks or bold
    marks, and a final period or a remark in brackets behind the closing one. Marks stay if the same
    mark also occurs inside, as in `"New York" or "Boston"`, unless each stands behind a digit or
    between letters (inches, apostrophes). Without quotes a final period is part of the value.
    Struck-out text goes.
    `seeact` follows the SeeAct parser: it removes a pair of double quotes and a final period,
    twice.

    Examples:
        >>> clean_value("  'New   York' "), clean_value("Washington D.C.")
        ('New York', 'Washington D.C.')
        >>> clean_value('"Ohio" (as required)'), clean_value('"27"-32" Samsung"')
        ('Ohio', '27"-32" Samsung')
        >>> clean_value("Washington D.C.", "seeact")
        'Washington D.C'
    """
    if style == "seeact":
        return _seeact(text.strip())
    value = " ".join(text.split())
    for opening, closing in _PAIRS:
        if not value.startswith(opening):
            continue
        for end in _ends(value, closing):
            inner = value[len(opening) : end - len(closing)]
            if end >= len(opening) + len(closing) and not _quotes(inner, {opening, closing}):
                return inner.strip()
    if marked := _MARKED.fullmatch(value):
        return marked[2].strip()
    return " ".join(_STRUCK.sub("", value).split()) if "~~" in value else value


def _ends(value: str, closing: str) -> Iterator[int]:
    """Where the quotation may end: with the value, or before what may follow a quotation."""
    if value.endswith(closing):
        yield len(value)
    last = value.rfind(closing) + len(closing)
    if last >= len(closing) and _AFTER_QUOTE.fullmatch(value, last):
        yield last


def _seeact(value: str) -> str:
    for _ in range(2):
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        value = value.removesuffix(".")
    return value


def _quotes(inner: str, marks: set[str]) -> bool:
    """Return True if one of the marks occurs inside other than behind a digit or between
    letters."""
    for mark in marks:
        at = inner.find(mark)
        while at >= 0:
            before, after = inner[at - 1 : at], inner[at + len(mark) : at + len(mark) + 1]
            if not before.isdigit() and not (before.isalnum() and after.isalnum()):
                return True
            at = inner.find(mark, at + len(mark))
    return False


def is_missing(value: str) -> bool:
    """Return True if a cleaned value is empty, a dash, or words for "no value" (None, N/A, null,
    ...).

    A remark behind such a word does not make a value of it.

    Examples:
        >>> is_missing("None (not needed)"), is_missing("None of the above")
        (True, False)
    """
    return not value or (len(value) < 300 and _MISSING.fullmatch(value) is not None)


def taken_value(operation: Operation | None, value: str) -> tuple[str, set[str]]:
    """Return the part of a cleaned value that an operation takes, and flags.

    CLICK takes none. A missing value of TYPE or SELECT is "", flagged `missing_value`.

    Examples:
        >>> taken_value("CLICK", "Ohio"), taken_value("TYPE", "Ohio"), taken_value("TYPE", "N/A")
        (('', set()), ('Ohio', set()), ('', {'missing_value'}))
    """
    if operation not in ("TYPE", "SELECT"):
        return "", set()
    return ("", {"missing_value"}) if is_missing(value) else (value, set())


def said_value(
    operation: Operation | None, written: str, style: ValueStyle = "plain", action: str = ""
) -> tuple[str, set[str]]:
    """Return the value that an answer says for its operation, and flags.

    As `taken_value` of the cleaned value. A quotation right behind the verb of the ACTION line is
    the value where there is no other (`value_in_action`). A value that is more than trimmed and
    taken out of its quotes is flagged `altered_value`, one without an operation `dropped_value`.

    Examples:
        >>> said_value("TYPE", '"Ohio" (as required)')
        ('Ohio', {'altered_value'})
        >>> said_value("TYPE", "", action='Enter "Ohio"')
        ('Ohio', {'value_in_action'})
    """
    cleaned = clean_value(undressed(written), style)
    if operation is None and not is_missing(cleaned):
        return "", {"dropped_value"}
    value, flags = taken_value(operation, cleaned)
    if "missing_value" in flags and (quoted := value_in_action(action)):
        return quoted, {"value_in_action"}
    if value and ("\ufffd" in value or (style == "plain" and not _is_unquoted(written, value))):
        flags.add("altered_value")
    return value, flags


def _is_unquoted(written: str, value: str) -> bool:
    """Return True if nothing but blanks and one pair of quotes went."""
    plain = " ".join(written.split())
    rest = plain.replace(value, "", 1).split() if value in plain else ["?"]
    pairs = ("".join(pair) for pair in (*_PAIRS, *((f"<{tag}>", f"</{tag}>") for tag in _TAGS)))
    return not rest or "".join(rest) in pairs


def written_value(value: str) -> str:
    """Write a value for a VALUE line, in quotes if parsing would strip its own."""
    plain = " ".join(value.split())
    for opening, closing in (("", ""), *_PAIRS):
        written = opening + plain + closing
        if clean_value(written) == plain and without_tokens(f"VALUE: {written}")[7:] == written:
            return written
    return plain
