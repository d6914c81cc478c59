"""The node tree of a page, as described by the browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from parsers.actions import mended
from parsers.records import Box


@dataclass(frozen=True, slots=True, eq=False)
class TextNode:
    """A piece of text."""

    id: str
    text: str
    parent: Node | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An element.

    live: the visitor's input, under the attribute names of the data.
    visible: True if it is rendered, also outside of the viewport.
    in_view: True if a part of it was within the viewport and all scrolling elements around it.
    bare: True if it is empty and invisible.
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
    children: list[Node | TextNode] = field(default_factory=list, repr=False)

    def elements(self) -> Iterator[Node]:
        """Yield this element and its descendants, in document order."""
        yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.elements()

    def ancestors(self) -> Iterator[Node]:
        """Yield this element and its ancestors, nearest first."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent

    def own_text(self) -> str:
        """Return the text directly in this element, with blanks collapsed."""
        return _collapse(child.text for child in self.children if isinstance(child, TextNode))

    def full_text(self) -> str:
        """Return the text of this element and its descendants without scripts, blanks collapsed."""
        return _collapse(
            child.text if isinstance(child, TextNode) else child.full_text()
            for child in self.children
            if isinstance(child, TextNode) or child.tag not in ("script", "style")
        )


def tree_of(described: Sequence[Mapping[str, Any]]) -> Node:
    """Build the tree from the list of `describe.js`, and return its root.

    Raises:
        ValueError: the list is malformed.
    """
    found: list[Node | TextNode] = []
    try:
        for one in described:
            place = one["parent"]
            above = None if place is None else found[place]
            if not isinstance(above, Node) and found:
                raise ValueError(f"node {len(found)} has no parent")
            node: Node | TextNode
            if "text" in one:
                node = TextNode(one["id"], mended(one["text"]), above)
            else:
                attributes, live = (
                    {mended(name): mended(value) for name, value in one[kind].items()}
                    for kind in ("attributes", "live")
                )
                node = Node(
                    one["id"],
                    one["tag"],
                    attributes,
                    live,
                    Box(*one["box"]),
                    one["visible"],
                    one["clickable"],
                    one.get("in_view", False),
                    one.get("bare", False),
                    above,
                )
            if above is not None:
                above.children.append(node)
            found.append(node)
        if isinstance(found[0], Node):
            return found[0]
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(f"not the description of a page: {error!r}") from None
    raise ValueError("not the description of a page: it begins with a text")


def find(root: Node, node_id: str) -> Node:
    """Find the element with this id.

    Raises:
        KeyError: no element has this id.
    """
    for node in root.elements():
        if node.id == node_id:
            return node
    raise KeyError(node_id)


def _collapse(pieces: Iterator[str]) -> str:
    return " ".join(" ".join(pieces).split())
