"""Clean and write the value that a model wants to type or select."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from html import unescape
from typing import Literal

from parsers.records import Operation
from parsers.reply_text import without_control, without_tokens
from parsers.wording import Mention, standing, tokens_of

_AN = r"(?:(?:THE|A|AN|YOUR|SOME|THIS)\s{1,3})"
# `ENTER` is a key unless something is entered: `ENTER text`, `Enter "New York"`, `ENTER the city`.
_ENTERED = (
    rf"(?=\s{{1,3}}(?:[\"'`\u201c\u2018\u00ab]|{_AN}?(?:\w{{1,15}}\s{{1,3}})?(?:TEXT|VALUE|STRING|QUERY)\b"
    rf"|(?:IN|INTO)\b|{_AN}(?!KEY|BUTTON|SYMBOL)\w))"
)
# Keys that are pressed, which is not a click.
_KEY_NAMES = (
    r"(?:ESC|TAB|SPACE|BACK|DEL|HOME|END\b|PAGE|ARROW|CTRL|CONTROL|ALT|SHIFT|F\d|UP\b|DOWN\b)"
)
_WORD = re.compile(
    r"\b(?:(?P<other>(?:DOUBLE|TRIPLE|RIGHT|MIDDLE)[\s-]?CLICK(?:S|ED|ING)?)"
    r"|(?P<click>CLICK(?:S|ED|ING)?|TAP(?:S|PED|PING)?)"
    rf"|(?P<type>TYP(?:E|ES|ED|ING)|ENTER(?:S|ED|ING)?{_ENTERED}|KEY(?:S|ED|ING)?\s{{1,3}}IN"
    rf"|FILL(?:S|ED|ING)?\s{{1,3}}(?:IN|OUT)|INPUT(?:S|TED|TING)?\s{{1,3}}{_AN}?TEXT)"
    r"|(?P<select>SELECT(?:S|ED|ING)?)"
    r"|(?P<mapped>PRESS(?:ING)?\s{1,3}(?:THE\s{1,3})?ENTER|HOVER(?:S|ING)?|ENTER"
    rf"|PRESS(?:ES|ED|ING)?(?!\s{{1,3}}(?:THE\s{{1,3}})?{_KEY_NAMES})))\b"
)
# Verbs that are nouns elsewhere: "CLICK the input".
_TYPING_FIRST = re.compile(
    r"(?:(?:I|WE|YOU|PLEASE|TO|WOULD|SHOULD|WILL|MUST|NEED|FIRST|NOW)\W{1,3})*+"
    r"(?:INPUT(?:S|TED|TING)?|WRIT(?:E|ES|ING)|FILL(?:S|ED|ING)?)\b"
    r"(?!\s{1,3}(?:FIELD|BOX|AREA|ELEMENT|BUTTON))"
)
_OR = re.compile(r"\bOR\W{0,3}\Z", re.IGNORECASE)
_THEN = re.compile(
    r"(?:\b(?:THEN|AND|BEFORE|NEXT|AFTERWARDS|FINALLY|FOLLOWED BY)|[+;>\u2192])\W{0,3}\Z",
    re.IGNORECASE,
)
_TYPED = re.compile(
    r"(?<![\"'])(?:TYP(?:E|ING)|ENTER(?:ING)?|INPUT|WRITE|SELECT|KEY IN|FILL IN)"
    r"(?: THE)?(?: TEXT| VALUE| OPTION)?"
    r"\s?:?\s{0,3}(?:\"(?P<a>[^\"]{1,300})\"|\u201c(?P<b>[^\u201d]{1,300})\u201d"
    r"|'(?P<c>(?:[^']|(?<=\w)'(?=\w)){1,300}+)'|`(?P<d>[^`]{1,300})`)",
    re.IGNORECASE,
)
_HEAD = re.compile(r"N/A|[A-Z]+")
# "Select all text and type": what is selected is about to be replaced.
_PREPARING = re.compile(
    r"SELECT(?:S|ED|ING)?\s{1,3}(?:ALL\b|(?:THE\s{1,3})?(?:\w{1,12}\s{1,3}){0,2}(?:TEXT|CONTENTS?)\b)"
)
_LISTED = re.compile(r"[\s\"'*`]*(?:[,/|&]|OR\b|AND\b)[\s\"'*`]*")
_OTHER = {"SCROLL", "TERMINATE", "NONE", "N/A", "NA", "NULL", "NO", "GOTO", "GO", "BACK", "WAIT"}
_OTHER |= {"PRESS", "DRAG", "CLOSE", "SWITCH", "NEW", "STOP"}
# An action line is a word or two; the limit keeps unusual replies cheap.
_ENOUGH = 400
_ENOUGH_PROSE = 40_000


@dataclass(frozen=True, slots=True)
class OperationReading:
    """The parsed operation.

    operation: None if the line names none of the three.
    mapped: whether it was written as HOVER, ENTER or PRESS ENTER.
    other: whether the line names another known action.
    several: whether the line lists more than one operation, as an echoed template does.
    later: whether another operation follows that is done afterwards.
    """

    operation: Operation | None = None
    mapped: bool = False
    other: bool = False
    several: bool = False
    later: bool = False

    @property
    def readable(self) -> bool:
        return self.operation is not None or self.other

    def flags(self, *, named: bool) -> set[str]:
        """Return the flags of the prediction; `named` says whether there was an action to parse."""
        if self.mapped or self.later:
            flags = {"mapped_operation": self.mapped, "multiple": self.later}
            return {flag for flag, holds in flags.items() if holds}
        if self.other:
            return {"other_action"}
        if self.several:
            return {"several_actions"}
        return {"unknown_action"} if named and self.operation is None else set()


def read_operation(content: str) -> OperationReading:
    """Parse the content of an ACTION line, in upper or lower case and any form of the verb.

    HOVER, ENTER and PRESS ENTER count as CLICK, because Mind2Web maps recorded actions that way;
    other clicks do, too. Pressing Enter behind what is typed is part of typing.

    >>> read_operation("click").operation, read_operation("PRESS ENTER").mapped
    ('CLICK', True)
    >>> read_operation("Enter text").operation, read_operation("TYPE & press ENTER").operation
    ('TYPE', 'TYPE')
    """
    return _said(content[:_ENOUGH])


@lru_cache(maxsize=256)
def _said(content: str) -> OperationReading:
    """Most lines are alike, and an answer's own is read several times."""
    words = content.upper().replace("_", " ").lstrip(" \t\"'*`([{<#:-.\u201c\u2018")
    if typing := _TYPING_FIRST.match(words):
        words = "TYPE" + words[typing.end() :]
    head = _HEAD.match(words)
    other = head if head and head[0] in _OTHER and not _WORD.match(words) else None
    stand = _standing(words, list(_WORD.finditer(words)), other)
    if not stand:
        return OperationReading()
    first = stand[0]
    if first is other:
        return OperationReading(other=True)
    several = len({_operation(match) for match in stand}) > 1
    if first.start() == 0:
        listed = _LISTED.match(words, first.end())
        several = several and listed is not None and _WORD.match(words, listed.end()) is not None
        others = [match for match in stand if _operation(match) != _operation(first)]
        if not several and others and _THEN.search(words[: others[0].start()]):
            return replace(_reading(first), later=True)
    return OperationReading(several=True) if several else _reading(first)


def value_in_action(content: str) -> str:
    """Return the quotation right behind the verb of an ACTION line, "" without one.

    >>> value_in_action('Enter "New York"'), value_in_action('TYPE in the "Where to?" box')
    ('New York', '')
    """
    found = _TYPED.search(content[:_ENOUGH])
    return " ".join((found[found.lastgroup] if found and found.lastgroup else "").split())


def mentions_operation(text: str) -> bool:
    """Return True if a word for an operation is in a text, in capitals or not."""
    return _WORD.search(text[-_ENOUGH_PROSE:].upper()) is not None


def operation_in_prose(text: str) -> OperationReading:
    """Parse a reply without an ACTION line: the only operation written in capitals, if any."""
    text = text[-_ENOUGH_PROSE:]
    stand = _standing(text, list(_WORD.finditer(text)))
    if len({_operation(match) for match in stand}) > 1:
        return OperationReading(several=True)
    return _reading(stand[0]) if stand else OperationReading()


def _standing(
    text: str, matches: Sequence[re.Match[str]], other: re.Match[str] | None = None
) -> list[re.Match[str]]:
    """Return the words for operations that are not denied, led by another action if there is
    one."""
    types = [match.start() for match in matches if match["type"]]
    if types:
        matches = [match for match in matches if not _belongs_to_typing(text, match, types)]
    if other is not None:
        matches = [other, *matches]
    if not matches:
        return []
    tokens = tokens_of(text)
    by_start = {match.start(): match for match in matches}
    by_place = {
        place: match
        for place, token in enumerate(tokens)
        if (match := by_start.get(token.start)) is not None
    }
    mentions = [
        Mention(place, "" if match is other else _operation(match))
        for place, match in by_place.items()
    ]
    return [by_place[mention.place] for mention in standing(tokens, mentions)]


def _belongs_to_typing(text: str, match: re.Match[str], types: Sequence[int]) -> bool:
    """Return True for a selection of what is about to be replaced, and for Enter pressed behind."""
    if match.start() < types[-1] and _PREPARING.match(text, match.start()):
        return True
    enter = match["mapped"] is not None and match[0].endswith("ENTER")
    return (
        enter
        and match.start() > types[0]
        and not _OR.search(text[max(0, match.start() - 8) : match.start()])
    )


def _operation(match: re.Match[str]) -> Operation:
    if match["type"]:
        return "TYPE"
    return "SELECT" if match["select"] else "CLICK"


def _reading(match: re.Match[str]) -> OperationReading:
    return OperationReading(_operation(match), mapped=bool(match["mapped"] or match["other"]))


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
