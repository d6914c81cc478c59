"""Facts about nodes of a page that do not depend on a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from harness.page._tree import NODE_ID, Element, Tree, name_of

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
