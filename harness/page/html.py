"""HTML to and from pages in the form of Mind2Web: well-formed XML, text in `<text>` elements.

`as_page` makes a page of ordinary HTML, and `compact` writes an element of a page on one line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from xml.sax.saxutils import escape

from lxml import etree

from harness.page._tree import NODE_ID, Element, is_text, name_of

_CLEANED = f'<text {NODE_ID}="'
_DROPPED = frozenset(
    {"base", "head", "link", "meta", "noscript", "script", "style", "template", "title"}
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow, not even as references."""


def as_page(text: str, id_attribute: str = NODE_ID) -> str:
    """Convert HTML to the input of `harness.page.Page`; return a page in that form unchanged.

    Scripts, styles and comments go, and so do style and event attributes. `id_attribute` holds the
    ids of elements in the HTML.

    Raises:
        ValueError: it has no element, or more levels than the parser reads (some 2,000).
    """
    if _CLEANED in text and id_attribute == NODE_ID:
        return text
    from lxml import html  # Not needed for the pages of most benchmarks.

    data = text.encode("utf-8", "replace")
    try:
        parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
        found = html.document_fromstring(data, parser=parser)
    except etree.LxmlError as error:
        raise ValueError(f"not HTML: {error}") from error
    if any("depth" in one.message for one in parser.error_log):
        raise ValueError("the page is too deep: elements are nested in more than 2,000 levels")
    return etree.tostring(_converted(found, id_attribute), encoding="unicode")


def _converted(top: etree._Element, id_attribute: str) -> etree._Element:
    """Return an element of a page, without recursion, which deep pages would exceed."""
    made = _element(top, id_attribute)
    waiting = [(top, made)]
    while waiting:
        element, new = waiting.pop()
        _add_text(new, element.text)
        for child in element:
            if isinstance(child.tag, str) and child.tag not in _DROPPED:
                waiting.append((child, _element(child, id_attribute)))
                new.append(waiting[-1][1])
            _add_text(new, child.tail)
    return made


def _element(element: etree._Element, id_attribute: str) -> etree._Element:
    name = str(element.tag)
    new = etree.Element(name if _NAME.fullmatch(name) else "div")
    for key, value in element.attrib.items():
        if str(key) == id_attribute:
            new.set(NODE_ID, _words(str(value)))
        elif _NAME.fullmatch(str(key)) and key != "style" and not str(key).startswith("on"):
            # Mind2Web writes aria_label for aria-label.
            new.set(str(key).replace("-", "_"), _words(str(value)))
    return new


def _add_text(parent: etree._Element, text: str | None) -> None:
    if text and (words := _words(text)):
        etree.SubElement(parent, "text").text = words


def _words(text: str) -> str:
    return " ".join(FORBIDDEN.sub(" ", text).split())


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
    """Write a whole element on one line, as in the 20-distractor snapshot of Mind2Web.

    `<a bnid=7 type=button><span bnid=8><text bnid=9>Fox Terrier</text></span></a>`: no blanks
    between tags, unquoted attributes, the page's own ids, closing tags even for empty elements.
    `&`, `<` and `>` are escaped in text and values, which then cannot pass for tags or for the mark
    of a cut. Text after a child and outside any `text` element is dropped.

    An element longer than `max_tokens` (None: uncut) is cut: the elements in document order,
    including text nodes, are kept as long as they fit with their closing tags, and `<...>` stands
    for the missing rest. If not even the first element fits, its attributes are dropped:
    `<a bnid=7><...></a>`, which is returned even if it exceeds the limit.

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
            f"{name}={escape(' '.join(value.split()))}"
            for name, value in node.items()
            if name != NODE_ID
        )
        opening = _opening(node) + (f" {attributes}>" if attributes else ">")
        opening += escape(" ".join((node.text or "").split()))
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
    return f"<{name_of(node)}" if node_id is None else f"<{name_of(node)} bnid={escape(node_id)}"
