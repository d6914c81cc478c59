"""Write a whole element on one line, as in the 20-distractor snapshot of Mind2Web.

`<a bnid=7 type=button><span bnid=8><text bnid=9>Fox Terrier</text></span></a>`: no blanks between
tags, unquoted attributes, the page's own ids, closing tags even for empty elements. `&`, `<` and
`>` are escaped in text and values, which then cannot pass for tags or for the mark below.
Text after a child and outside any `text` element, which cleaned pages do not have, is dropped.

An element can be tens of thousands of tokens long and is cut to a limit: the elements in document
order, including text nodes, are kept as long as they fit with their closing tags, and `<...>` in
place of the next one says that the rest is missing. If not even the first element fits, its
attributes are dropped: `<a bnid=7><...></a>`, which is returned even if it exceeds the limit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from harness.page._tree import NODE_ID, Element, is_text, name_of

CUT_MARK = "<...>"
"""Marks where an element was cut."""

_CHARACTERS_PER_TOKEN = 3.0
"""First estimate for markup, replaced by the measured ratio after each count."""

_PROPORTIONAL_STEPS = 3


@dataclass(frozen=True, slots=True)
class _Line:
    """An element or text node: its depth, its opening tag with its text, its closing tag."""

    level: int
    opening: str
    closing: str


def compact(top: Element, max_tokens: int | None, count: Callable[[str], int]) -> str:
    """Write an element compactly, at most `max_tokens` long (None: uncut).

    `count` gives the tokens of a text and must grow with it. It is called a few times, and never on
    texts much longer than the limit.
    """
    lines = _lines(top)
    if max_tokens is None:
        return _assemble(lines, len(lines))
    sizes = list(accumulate(len(line.opening) + len(line.closing) for line in lines))
    fits, exceeds = 0, len(lines) + 1
    best = ""
    ratio = _CHARACTERS_PER_TOKEN
    steps = 0
    while exceeds - fits > 1:
        kept = (fits + exceeds) // 2
        if steps < _PROPORTIONAL_STEPS:
            kept = bisect_right(sizes, max_tokens * ratio)
        kept = min(max(kept, fits + 1), exceeds - 1)
        text = _assemble(lines, kept)
        tokens = count(text)
        if tokens <= max_tokens:
            fits, best = kept, text
        else:
            exceeds = kept
        ratio = len(text) / max(tokens, 1)
        steps += 1
    return best if fits else _least(top)


def _lines(top: Element) -> list[_Line]:
    lines = []
    waiting = [(top, 0)]
    while waiting:
        node, level = waiting.pop()
        attributes = " ".join(
            f"{name}={_escaped(' '.join(value.split()))}"
            for name, value in node.items()
            if name != NODE_ID
        )
        opening = _opening(node) + (f" {attributes}>" if attributes else ">")
        opening += _escaped(" ".join((node.text or "").split()))
        lines.append(_Line(level, opening, f"</{name_of(node)}>"))
        if not is_text(node):
            waiting.extend((child, level + 1) for child in reversed(node))
    return lines


def _assemble(lines: list[_Line], kept: int) -> str:
    """Join the first `kept` lines with their closing tags, and the mark if any are left out."""
    pieces: list[str] = []
    closings: list[str] = []
    for line in lines[:kept]:
        _close(pieces, closings, line.level)
        pieces.append(line.opening)
        closings.append(line.closing)
    if kept < len(lines):
        _close(pieces, closings, lines[kept].level)
        pieces.append(CUT_MARK)
    _close(pieces, closings, 0)
    return "".join(pieces)


def _close(pieces: list[str], closings: list[str], level: int) -> None:
    while len(closings) > level:
        pieces.append(closings.pop())


def _least(top: Element) -> str:
    inside = CUT_MARK if len(top) or (top.text or "").strip() else ""
    return f"{_opening(top)}>{inside}</{name_of(top)}>"


def _opening(node: Element) -> str:
    node_id = node.get(NODE_ID)
    return f"<{name_of(node)}" if node_id is None else f"<{name_of(node)} bnid={_escaped(node_id)}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
