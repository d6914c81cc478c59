"""Parse the operation that a model names on its ACTION line.

Operations that are denied or taken back ("not CLICK but TYPE", "CLICK? No, TYPE") do not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from parsers.records import Operation
from parsers.wording import Mention, standing, tokens_of

_WORD = re.compile(
    r"\b(?:(?P<click>CLICK(?:S|ED|ING)?)|(?P<type>TYP(?:E|ES|ED|ING))"
    r"|(?P<select>SELECT(?:S|ED|ING)?)"
    r"|(?P<mapped>PRESS(?:ING)?\s{1,3}(?:THE\s{1,3})?ENTER|HOVER(?:S|ING)?|ENTER))\b"
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
    """

    operation: Operation | None = None
    mapped: bool = False
    other: bool = False
    several: bool = False

    @property
    def readable(self) -> bool:
        return self.operation is not None or self.other

    def flags(self, *, named: bool) -> set[str]:
        """Return the flags of the prediction; `named` says whether there was an action to parse."""
        if self.mapped:
            return {"mapped_operation"}
        if self.other:
            return {"other_action"}
        if self.several:
            return {"several_actions"}
        return {"unknown_action"} if named and self.operation is None else set()


def read_operation(content: str) -> OperationReading:
    """Parse the content of an ACTION line, in upper or lower case and any form of the verb.

    HOVER, ENTER and PRESS ENTER count as CLICK, because Mind2Web maps recorded actions that way.

    >>> read_operation("click").operation, read_operation("PRESS ENTER").mapped
    ('CLICK', True)
    """
    return _said(content[:_ENOUGH])


@lru_cache(maxsize=256)
def _said(content: str) -> OperationReading:
    """Most lines are alike, and an answer's own is read several times."""
    words = content.upper().replace("_", " ").lstrip(" \t\"'*`([{<#:-.\u201c\u2018")
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
    return OperationReading(several=True) if several else _reading(first)


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
    matches = [
        match
        for match in matches
        if not (types and match.start() < types[-1] and _PREPARING.match(text, match.start()))
    ]
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


def _operation(match: re.Match[str]) -> Operation:
    if match["type"]:
        return "TYPE"
    return "SELECT" if match["select"] else "CLICK"


def _reading(match: re.Match[str]) -> OperationReading:
    return OperationReading(_operation(match), mapped=bool(match["mapped"]))
