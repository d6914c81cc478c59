"""The nodes of a cleaned page, indexed by id.

A cleaned Mind2Web page is pretty-printed XML: every node has a `backend_node_id`, and visible text
is in `<text>` elements. Blank text between tags is kept because the texts of choices depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lxml import etree

from parsers.cleaned_page import parse_page

Element = etree._Element

NODE_ID = "backend_node_id"
"""The attribute that holds a node's id."""

# lxml encodes a name on every look-up; as bytes it is used directly.
_NODE_ID_BYTES = NODE_ID.encode()


class UnknownNode(ValueError):
    """No node of the page has this id."""

    def __init__(self, node_id: str) -> None:
        super().__init__(f"the page has no node {node_id!r}")
        self.node_id = node_id


class TextNodeCandidate(ValueError):
    """The id belongs to a text node, and only elements can be choices."""

    def __init__(self, node_id: str) -> None:
        super().__init__(f"node {node_id!r} is a text node; only elements can be choices")
        self.node_id = node_id


@dataclass(frozen=True, slots=True)
class Tree:
    """The nodes of a page in document order, and the place of each id among them."""

    root: Element
    nodes: list[Element]
    places: dict[str, int]

    def place(self) -> Callable[[Element], int]:
        """Return a function from a node to its place in document order."""
        places = self.places
        if len(places) == len(self.nodes):
            return lambda node: places[node.get(_NODE_ID_BYTES, "")]
        # Some node has no id, or one that another node has.
        return {node: place for place, node in enumerate(self.nodes)}.__getitem__


def parse(text: str) -> Tree:
    """Parse a cleaned page and index its ids.

    If an id occurs twice, it belongs to the first node in document order.

    Raises:
        PageError: see `parse_page`.
    """
    root = parse_page(text)
    nodes = list(root.iter())
    ids = [node.get(_NODE_ID_BYTES, "") for node in nodes]
    places = dict(zip(ids, range(len(ids)), strict=True))
    if "" in places or len(places) != len(nodes):
        places = _first_places(ids)
    return Tree(root, nodes, places)


def is_text(node: Element) -> bool:
    """Return True if a node is a text node of the page.

    A `text` element with child elements (a label inside a drawing) counts as an element.
    """
    return node.tag == "text" and not len(node)


def name_of(node: Element) -> str:
    """Return a node's tag without its namespace."""
    name = node.tag
    assert isinstance(name, str)
    return name.rpartition("}")[2] if name[0] == "{" else name


def ancestors(node: Element) -> Iterator[Element]:
    """Yield the ancestors of a node, nearest first."""
    parent = node.getparent()
    while parent is not None:
        yield parent
        parent = parent.getparent()


def _first_places(ids: list[str]) -> dict[str, int]:
    places: dict[str, int] = {}
    for place, node_id in enumerate(ids):
        if node_id:
            places.setdefault(node_id, place)
    return places
