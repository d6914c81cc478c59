"""Parse the operation that a model names on its ACTION line.

Operations that are denied or taken back ("not CLICK but TYPE", "CLICK? No, TYPE") do not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from parsers.records import Operation
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
