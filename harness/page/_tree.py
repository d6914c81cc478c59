"""The nodes of a cleaned page, indexed by id, and facts about them.

A cleaned Mind2Web page is pretty-printed XML: every node has a `backend_node_id`, and visible text
is in `<text>` elements. Blank text between tags is kept because the texts of choices depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from parsers.cleaned_page import parse_page

if TYPE_CHECKING:
    from lxml import etree

    Element = etree._Element
else:  # A benchmark is listed without a parser of pages.
    Element = object

NODE_ID = "backend_node_id"
"""The attribute that holds a node's id."""

# lxml encodes a name on every look-up; as bytes it is used directly.
_NODE_ID_BYTES = NODE_ID.encode()


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
    places: dict[str, int] = {}
    for place, node in enumerate(nodes):
        places.setdefault(node.get(_NODE_ID_BYTES, ""), place)
    places.pop("", None)
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


_LABELS = ("aria_label", "label", "alt", "title", "placeholder", "value", "input_value", "name")


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Tag, role, type and labels of an element."""

    tag: str
    role: str
    """Its `role`, or ""."""
    type: str
    """Its `type`, or ""."""
    labels: tuple[str, ...]
    """Values of attributes that name it to a visitor, in a fixed order, without repetition."""


class PageNode(NamedTuple):
    """A node of a page; places count nodes in document order, and a subtree is a range of them."""

    id: str
    tag: str
    parent: int
    """Place of its parent; -1 for the root."""
    end: int
    """Place after its last descendant."""
    attributes: Mapping[str, str]
    text: str


def facts_of(node: Element) -> NodeFacts:
    """Return tag, role, type and labels of a node."""
    labels = (node.get(name, "").strip() for name in _LABELS)
    return NodeFacts(
        tag=name_of(node),
        role=node.get("role", ""),
        type=node.get("type", ""),
        labels=tuple(dict.fromkeys(label for label in labels if label)),
    )


def text_below(node: Element, max_words: int) -> str:
    """Return the first words of all text inside a node, single-spaced."""
    words: list[str] = []
    for text in node.itertext():
        words.extend(text.split(None, max_words)[:max_words])
        if len(words) >= max_words:
            break
    return " ".join(words[:max_words])


def nodes_of(tree: Tree) -> list[PageNode]:
    """Return all nodes in document order."""
    nodes = tree.nodes
    places = {node: place for place, node in enumerate(nodes)}
    parents = [places.get(node.getparent(), -1) for node in nodes]  # type: ignore[arg-type]
    ends = list(range(1, len(nodes) + 1))
    for place in range(len(nodes) - 1, 0, -1):
        parent = parents[place]
        if ends[place] > ends[parent]:
            ends[parent] = ends[place]
    page_nodes = []
    for node, parent, end in zip(nodes, parents, ends, strict=True):
        attributes = dict(node.items())
        node_id = attributes.pop(NODE_ID, "")
        page_nodes.append(
            PageNode(node_id, name_of(node), parent, end, attributes, node.text or "")
        )
    return page_nodes


Style = Literal["refine", "xml", "axtree"]


@dataclass(frozen=True, slots=True)
class Attributes:
    """Attributes that are shown, in order.

    option_values: True if an `option` shows its value as well.
    """

    names: tuple[str, ...]
    option_values: bool = True


BASIC_ATTRIBUTES = Attributes(("title", "value", "placeholder"))
WEBARENA_ATTRIBUTES = Attributes((*BASIC_ATTRIBUTES.names, "selected"))
_ENTERED = ("input_value", "text_value", "input_checked", "option_selected")
MINIWOB_ATTRIBUTES = Attributes(
    ("id", "type", "class", "value", *_ENTERED, "rgba", "size"), option_values=False
)


MIND2WEB_ATTRIBUTES = Attributes(
    (
        *("alt", "aria_description", "aria_label", "aria_role", "input_checked", "input_value"),
        *("label", "name", "option_selected", "placeholder", "role", "text_value", "title"),
        *("type", "value"),
    )
)
