"""The node tree of a page, as described by the browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    """

    id: str
    tag: str
    attributes: Mapping[str, str]
    live: Mapping[str, str]
    box: Box
    visible: bool
    clickable: bool
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
        """The text of this element and its descendants, with blanks collapsed."""
        return _collapse(
            child.text if isinstance(child, Text) else child.full_text() for child in self.children
        )


def node_of(described: Mapping[str, Any], parent: Node | None = None) -> Node:
    """Build the tree from the description that `snapshot.js` returns."""
    node = Node(
        described["id"],
        described["tag"],
        described.get("attributes", {}),
        described.get("live", {}),
        Box(*described.get("box", (0, 0, 10, 10))),
        described.get("visible", True),
        described.get("clickable", False),
        parent,
    )
    for child in described.get("children", ()):
        if "tag" in child:
            node.children.append(node_of(child, node))
        else:
            node.children.append(Text(child["id"], child["text"], node))
    return node


def find(root: Node, node_id: str) -> Node:
    """The element with this id.

    Raises:
        KeyError: there is no such element.
    """
    for node in root.elements():
        if node.id == node_id:
            return node
    raise KeyError(node_id)


def _collapse(pieces: Iterator[str]) -> str:
    return " ".join(" ".join(pieces).split())
