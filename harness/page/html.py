"""Ordinary HTML in the form of Mind2Web's pages: well-formed XML, text in `<text>` elements."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml import etree

from harness.page._tree import NODE_ID

if TYPE_CHECKING:
    from lxml import html

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
        ValueError: it has no element.
    """
    if _CLEANED in text and id_attribute == NODE_ID:
        return text
    from lxml import html  # Not needed for the pages of most benchmarks.

    try:
        parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
        found = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except etree.LxmlError as error:
        raise ValueError(f"not HTML: {error}") from error
    return etree.tostring(_converted(found, id_attribute), encoding="unicode")


def _converted(element: html.HtmlElement, id_attribute: str) -> etree._Element:
    name = str(element.tag)
    new = etree.Element(name if _NAME.fullmatch(name) else "div")
    for key, value in element.attrib.items():
        if str(key) == id_attribute:
            new.set(NODE_ID, _words(str(value)))
        elif _NAME.fullmatch(str(key)) and key != "style" and not str(key).startswith("on"):
            # Mind2Web writes aria_label for aria-label.
            new.set(str(key).replace("-", "_"), _words(str(value)))
    _add_text(new, element.text)
    for child in element:
        if isinstance(child.tag, str) and child.tag not in _DROPPED:
            new.append(_converted(child, id_attribute))
        _add_text(new, child.tail)
    return new


def _add_text(parent: etree._Element, text: str | None) -> None:
    if text and (words := _words(text)):
        etree.SubElement(parent, "text").text = words


def _words(text: str) -> str:
    return " ".join(FORBIDDEN.sub(" ", text).split())
