"""The node tree of a page, as described by the browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Box(NamedTuple):
    """The bounding box of an element, in page pixels."""

    x: float
    y: float
    width: float
    height: float

    def holds(self, other: Box, slack: float = 1.0) -> bool:
        """Whether `other` lies inside, within `slack` pixels."""
        return (
            other.x >= self.x - slack
            and other.y >= self.y - slack
            and other.x + other.width <= self.x + self.width + slack
            and other.y + other.height <= self.y + self.height + slack
        )

    def __str__(self) -> str:
        return ",".join(f"{number:.6f}".rstrip("0").rstrip(".") for number in self)


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A piece of text."""

    id: str
    text: str
    parent: Node | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An element.

    live: what the visitor entered, under the attribute names of the data.
    visible: whether it is drawn at all, be it where one has to scroll to.
    in_view: whether some of it was within the viewport and all that it scrolls in.
    bare: whether nothing is in it and nothing of it can be seen.
    """

    id: str
    tag: str
    attributes: Mapping[str, str]
    live: Mapping[str, str]
    box: Box
    visible: bool
    clickable: bool
    in_view: bool = False
    bare: bool = False
    parent: Node | None = field(default=None, repr=False)
    children: list[Node | Text] = field(default_factory=list, repr=False)

    def elements(self) -> Iterator[Node]:
        """This element and its descendants, in document order."""
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.elements()

    def ancestors(self) -> Iterator[Node]:
        """This element and its ancestors, nearest first."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent

    def own_text(self) -> str:
        """The text directly in this element, with blanks collapsed."""
        return _collapse(child.text for child in self.children if isinstance(child, Text))

    def full_text(self) -> str:
        """The text of this element and its descendants, scripts left out, with blanks collapsed."""
        return _collapse(
            child.text if isinstance(child, Text) else child.full_text()
            for child in self.children
            if isinstance(child, Text) or child.tag not in ("script", "style")
        )


def tree_of(described: Sequence[Mapping[str, Any]]) -> Node:
    """Build the tree from the list that `describe.js` makes, and return its root.

    Raises:
        ValueError: it is no such list.
    """
    found: list[Node | Text] = []
    try:
        for one in described:
            place = one["parent"]
            above = None if place is None else found[place]
            if not isinstance(above, Node) and found:
                raise ValueError(f"node {len(found)} has no parent")
            node = _text(one, above) if "text" in one else _element(one, above)
            if above is not None:
                above.children.append(node)
            found.append(node)
        if isinstance(found[0], Node):
            return found[0]
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(f"this describes no page: {error!r}") from None
    raise ValueError("this describes no page: it begins with a text")


def find(root: Node, node_id: str) -> Node:
    """The element with this id.

    Raises:
        KeyError: there is no such element.
    """
    for node in root.elements():
        if node.id == node_id:
            return node
    raise KeyError(node_id)


def _text(one: Mapping[str, Any], parent: Node | None) -> Text:
    return Text(one["id"], one["text"], parent)


def _element(one: Mapping[str, Any], parent: Node | None) -> Node:
    box = Box(*one["box"])
    flags = one["visible"], one["clickable"], one.get("in_view", False), one.get("bare", False)
    return Node(one["id"], one["tag"], one["attributes"], one["live"], box, *flags, parent)


def _collapse(pieces: Iterator[str]) -> str:
    return " ".join(" ".join(pieces).split())
