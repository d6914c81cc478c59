"""Relations of two elements of a page, by its HTML and by their boxes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parsers.cleaned_page import parse_page
from reports.kinds.step.errors.classes import Relation

if TYPE_CHECKING:
    from lxml import etree

Box = tuple[float, float, float, float]
"""(x, y, width, height) in page pixels."""

NEAR = 40.0
"""Largest gap in pixels between the boxes of neighbours: about the height of a button."""

_ID = "backend_node_id"
_NAMES = ("aria_label", "placeholder", "alt", "title", "value", "name")
_ROLES = {"a": "link", "button": "button", "textarea": "text field", "select": "list"}
_TYPES = {
    **dict.fromkeys(("submit", "button", "reset", "image"), "button"),
    **dict.fromkeys(("checkbox", "radio", "range", "file", "color")),
}


@dataclass(frozen=True, slots=True)
class Found:
    """A relation, with the evidence for it in words."""

    relation: Relation
    detail: str = ""


class PageNodes:
    """The elements of a page by `backend_node_id`; the first counts if ids repeat."""

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
        """Return the relation of two nodes in the tree; None if they only share the page.

        Raises `KeyError` for an id that is not on the page.
        """
        chosen_node, target_node = self._nodes[chosen], self._nodes[target]
        up = _levels(target_node, chosen_node)
        if up is not None:
            return Found(Relation.ANCESTOR, f"{up} above the target")
        down = _levels(chosen_node, target_node)
        if down is not None:
            return Found(Relation.DESCENDANT, f"{down} below the target")
        label = label_of(chosen_node)
        if label and label == label_of(target_node):
            return Found(Relation.SAME_TEXT, "the same words on the page")
        if _adjacent(chosen_node, target_node):
            return Found(Relation.NEIGHBOUR, "adjacent sibling")
        return None

    def roles(self, chosen: str, target: str) -> tuple[str, str]:
        """Return the roles of two nodes. Raises `KeyError` for an id that is not on the page."""
        return role_of(self._nodes[chosen]), role_of(self._nodes[target])


def label_of(node: etree._Element) -> str:
    """Return the visible text of an element, or else the first attribute that names it, in lower
    case."""
    shown = " ".join(" ".join(text.split()) for text in _texts(node))
    named = (node.get(name) or "" for name in _NAMES)
    return " ".join((shown or next((n for n in named if n.strip()), "")).split()).casefold()


def role_of(node: etree._Element) -> str:
    """Return the role of an element: its `role` attribute, or else by its tag and type."""
    declared = (node.get("role") or "").strip().lower()
    tag = _tag(node)
    if declared:
        return declared
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
    """Neighbours by their boxes; None if too far apart or a box is unknown."""
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
