"""From the text of a cleaned page to its nodes, indexed by id.

A cleaned Mind2Web page is pretty-printed XML: every node carries `backend_node_id`, and what a
visitor reads sits in `<text>` elements. Blank text between the tags is kept, because the
rendering of choices depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lxml import etree

from parsers.cleaned_page import parse_page

Element = etree._Element

NODE_ID = "backend_node_id"
"""The attribute that holds a node's id."""

# lxml converts a name on every look-up; given as bytes it is ready.
_NODE_ID_BYTES = NODE_ID.encode()


class UnknownNode(ValueError):
    """No node of the page carries the id that was asked for."""

    def __init__(self, node_id: str) -> None:
        super().__init__(f"the page has no node {node_id!r}")
        self.node_id = node_id


class TextNodeCandidate(ValueError):
    """A text node was given where only elements can be offered as a choice."""

    def __init__(self, node_id: str) -> None:
        super().__init__(f"node {node_id!r} is a text node; only elements can be choices")
        self.node_id = node_id


@dataclass(frozen=True, slots=True)
class Tree:
    """The nodes of one page in document order, and where each id stands among them."""

    root: Element
    nodes: list[Element]
    places: dict[str, int]

    def place(self) -> Callable[[Element], int]:
        """A function from a node to its place in document order."""
        places = self.places
        if len(places) == len(self.nodes):
            return lambda node: places[node.get(_NODE_ID_BYTES, "")]
        # Some node has no id of its own.
        return {node: place for place, node in enumerate(self.nodes)}.__getitem__


def parse(text: str) -> Tree:
    """Parse a cleaned page and index its ids in one pass.

    Where an id occurs twice, the first node in document order has it.

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
    """Whether a node is a text node of the page.

    A `text` element with element children (a label inside a drawing) counts as an element.
    """
    return node.tag == "text" and not len(node)


def name_of(node: Element) -> str:
    """A node's tag without a namespace."""
    name = node.tag
    assert isinstance(name, str)
    return name.rpartition("}")[2] if name[0] == "{" else name


def ancestors(node: Element) -> Iterator[Element]:
    """The ancestors of a node, nearest first."""
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
