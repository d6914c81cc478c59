"""How two elements of a page stand to each other, from its HTML and from their boxes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parsers.cleaned_page import parse_page
from reports.errors.classes import Relation

if TYPE_CHECKING:
    from lxml import etree

Box = tuple[float, float, float, float]
"""(x, y, width, height) in page pixels."""

NEAR = 40.0
"""Boxes with at most so many pixels between them are neighbours: about a button's height."""

_ID = "backend_node_id"
_NAMES = ("aria_label", "placeholder", "alt", "title", "value", "name")
_ROLES = {"a": "link", "button": "button", "textarea": "text field", "select": "list"}
_TYPES = {
    **dict.fromkeys(("submit", "button", "reset", "image"), "button"),
    **dict.fromkeys(("checkbox", "radio", "range", "file", "color")),
}


@dataclass(frozen=True, slots=True)
class Found:
    """A relation and what it rests on, in words."""

    relation: Relation
    detail: str = ""


class PageNodes:
    """The elements of a page by `backend_node_id`; of equal ids the first counts."""

    def __init__(self, html: str) -> None:
        """Raises `PageError` for a page that is not well-formed or declares entities."""
        root = parse_page(html)
        self._nodes: dict[str, etree._Element] = {}
        for node in root.iter():
            self._nodes.setdefault(node.get(_ID, ""), node)
        self._nodes.pop("", None)

    def __contains__(self, node_id: str) -> bool:
        return node_id in self._nodes

    def relation(self, chosen: str, target: str) -> Found | None:
        """What the tree says of two nodes of the page; None when they are only on one page.

        Raises `KeyError` for an id that the page does not have.
        """
        one, other = self._nodes[chosen], self._nodes[target]
        up = _levels(other, one)
        if up is not None:
            return Found(Relation.ANCESTOR, f"{up} above the target")
        down = _levels(one, other)
        if down is not None:
            return Found(Relation.DESCENDANT, f"{down} below the target")
        label = label_of(one)
        if label and label == label_of(other):
            return Found(Relation.SAME_TEXT, "the same words on the page")
        if _adjacent(one, other):
            return Found(Relation.NEIGHBOUR, "adjacent sibling")
        return None

    def roles(self, chosen: str, target: str) -> tuple[str, str]:
        """The roles of two nodes. Raises `KeyError` as `relation`."""
        return role_of(self._nodes[chosen]), role_of(self._nodes[target])


def label_of(node: etree._Element) -> str:
    """What a visitor reads on an element: its texts, else the first attribute that names it."""
    shown = " ".join(" ".join(text.split()) for text in _texts(node))
    named = (node.get(name) or "" for name in _NAMES)
    return " ".join((shown or next((n for n in named if n.strip()), "")).split()).casefold()


def role_of(node: etree._Element) -> str:
    """What an element is for: its `role`, else by tag and type, else its tag."""
    given = (node.get("role") or "").strip().lower()
    tag = _tag(node)
    if given:
        return given
    if tag == "input":
        kind = (node.get("type") or "").strip().lower()
        return (_TYPES[kind] or kind) if kind in _TYPES else "text field"
    return _ROLES.get(tag, tag)


def gap(first: Box, second: Box) -> float:
    """Pixels between two boxes, 0 where they touch or overlap.

    >>> gap((0, 0, 10, 10), (13, 14, 5, 5))
    5.0
    """
    (x, y, width, height), (u, v, wide, high) = first, second
    return math.hypot(max(0.0, u - x - width, x - u - wide), max(0.0, v - y - height, y - v - high))


def near(first: Box | None, second: Box | None) -> Found | None:
    """Neighbours by their boxes, None where they are not or a box is not known."""
    if first is None or second is None or not _real(first) or not _real(second):
        return None
    distance = gap(first, second)
    return Found(Relation.NEIGHBOUR, f"{distance:.0f} px away") if distance <= NEAR else None


def _real(box: Box) -> bool:
    return all(map(math.isfinite, box)) and box[2] >= 0 and box[3] >= 0


def _levels(node: etree._Element, ancestor: etree._Element) -> int | None:
    for level, above in enumerate(node.iterancestors(), 1):
        if above is ancestor:
            return level
    return None


def _adjacent(one: etree._Element, other: etree._Element) -> bool:
    after = next(_elements_after(one), None)
    return after is other or next(_elements_after(other), None) is one


def _elements_after(node: etree._Element) -> Iterator[etree._Element]:
    return (sibling for sibling in node.itersiblings() if sibling.tag != "text" or len(sibling))


def _texts(node: etree._Element) -> Iterator[str]:
    texts: Any = node.itertext()
    return (text for text in texts if text.strip())


def _tag(node: etree._Element) -> str:
    return str(node.tag).rpartition("}")[2].lower()
