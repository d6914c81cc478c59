"""From the text of a cleaned page to its nodes, indexed by id.

A cleaned Mind2Web page is pretty-printed XML: every node carries `backend_node_id`, and what a
visitor reads sits in `<text>` elements. Blank text between the tags is kept, because the
rendering of choices depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from harness.page._errors import PageError

Element = etree._Element

NODE_ID = "backend_node_id"
"""The attribute that holds a node's id."""

# Declared entities are refused before parsing: libxml2 expands them inside attribute values
# whatever `resolve_entities` says, and `huge_tree` switches its own bomb guard off.
_ENTITY_DECLARATION = "<!ENTITY"
_XML_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*\?>")


@dataclass(frozen=True, slots=True)
class Tree:
    """The nodes of one page in document order, and where each id stands among them."""

    root: Element
    nodes: list[Element]
    places: dict[str, int]


def parse(text: str) -> Tree:
    """Parse a cleaned page and index its ids in one pass.

    Where an id occurs twice, the first node in document order has it.

    Raises:
        PageError: not well-formed, or with entity declarations; the message gives the reason.
    """
    if _ENTITY_DECLARATION in text:
        raise PageError("the page declares XML entities, which are never expanded")
    if text.lstrip()[:5] == "<?xml":
        # lxml refuses an encoding declaration in text that is already decoded.
        text = _XML_DECLARATION.sub("", text, count=1)
    try:
        # A parser per page: parsers serialise threads on a lock and carry an error log.
        root = etree.fromstring(text, _parser())
    except (etree.XMLSyntaxError, ValueError) as error:
        raise PageError(f"the page is not well-formed XML: {error}") from error
    nodes = list(root.iter())
    ids = [node.get(NODE_ID) for node in nodes]
    places = {node_id: place for place, node_id in enumerate(ids) if node_id is not None}
    if len(places) != len(nodes):
        places = _first_places(ids)
    return Tree(root, nodes, places)


def is_text(node: Element) -> bool:
    """Whether a node is a text node of the page.

    A `text` element with element children (a label inside a drawing) counts as an element.
    """
    return node.tag == "text" and not len(node)


def ancestors(node: Element) -> Iterator[Element]:
    """The ancestors of a node, nearest first."""
    parent = node.getparent()
    while parent is not None:
        yield parent
        parent = parent.getparent()


def _first_places(ids: list[str | None]) -> dict[str, int]:
    places: dict[str, int] = {}
    for place, node_id in enumerate(ids):
        if node_id is not None:
            places.setdefault(node_id, place)
    return places


def _parser() -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        # Real pages nest deeper and hold longer text than libxml2's default limits allow.
        huge_tree=True,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
    )
