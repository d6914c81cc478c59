"""Parse the operation that a model names on its ACTION line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from parsers.records import Operation

_WORD = re.compile(
    r"\b(?:(?P<click>CLICK(?:S|ED|ING)?)|(?P<type>TYP(?:E|ES|ED|ING))"
    r"|(?P<select>SELECT(?:S|ED|ING)?)"
    r"|(?P<mapped>PRESS(?:ING)?\s{1,3}(?:THE\s{1,3})?ENTER|HOVER(?:S|ING)?|ENTER))\b"
)
_HEAD = re.compile(r"N/A|[A-Z]+")
_LISTED = re.compile(r"[\s\"'*`]*(?:[,/|&]|OR\b|AND\b)[\s\"'*`]*")
_OTHER = {"SCROLL", "TERMINATE", "NONE", "N/A", "NA", "NULL", "NO", "GOTO", "GO", "BACK", "WAIT"}
_OTHER |= {"PRESS", "DRAG", "CLOSE", "SWITCH", "NEW", "STOP"}
# An action line is a word or two; the limit keeps unusual replies cheap.
_ENOUGH = 400


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
        """The flags of the prediction; `named` says whether there was an action to parse."""
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
    words = content[:_ENOUGH].upper().replace("_", " ").lstrip(" \t\"'*`([{<#:-.\u201c\u2018")
    matches = list(_WORD.finditer(words))
    distinct = {_operation(match) for match in matches}
    if matches and matches[0].start() == 0:
        listed = _LISTED.match(words, matches[0].end())
        if listed and len(distinct) > 1 and _WORD.match(words, listed.end()):
            return OperationReading(several=True)
        return _reading(matches[0])
    head = _HEAD.match(words)
    if head and head[0] in _OTHER:
        return OperationReading(other=True)
    if len(distinct) > 1:
        return OperationReading(several=True)
    return _reading(matches[0]) if matches else OperationReading()


def operation_in_prose(text: str) -> OperationReading:
    """Parse a reply without an ACTION line: the only operation written in capitals, if any."""
    first: re.Match[str] | None = None
    for match in _WORD.finditer(text):
        if first is None:
            first = match
        elif _operation(match) != _operation(first):
            return OperationReading(several=True)
    return _reading(first) if first else OperationReading()


def _operation(match: re.Match[str]) -> Operation:
    if match["type"]:
        return "TYPE"
    return "SELECT" if match["select"] else "CLICK"


def _reading(match: re.Match[str]) -> OperationReading:
    return OperationReading(_operation(match), mapped=bool(match["mapped"]))
