"""What the nodes of a page are and say, apart from any prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from harness.page._tree import NODE_ID, Element, Tree, name_of

_LABELS = ("aria_label", "label", "alt", "title", "placeholder", "value", "input_value", "name")


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """An element by its tag and attributes.

    `role` and `type` are "" where the element has none. `labels` holds the values of the
    attributes that name the element to a visitor, in a fixed order, without repetition.
    """

    tag: str
    role: str
    type: str
    labels: tuple[str, ...]


class PageNode(NamedTuple):
    """A node of a page. `parent` is its place in document order (-1 for the root), `end` the place
    behind its last descendant, so that a subtree is a range of places.
    """

    id: str
    tag: str
    parent: int
    end: int
    attributes: Mapping[str, str]
    text: str


def facts_of(node: Element) -> NodeFacts:
    """Read tag, role, type and labels off a node."""
    labels = (node.get(name, "").strip() for name in _LABELS)
    return NodeFacts(
        tag=name_of(node),
        role=node.get("role", ""),
        type=node.get("type", ""),
        labels=tuple(dict.fromkeys(label for label in labels if label)),
    )


def text_below(node: Element, max_words: int) -> str:
    """The first words of all text in a node, single-spaced."""
    words: list[str] = []
    for text in node.itertext():
        words.extend(text.split(None, max_words)[:max_words])
        if len(words) >= max_words:
            break
    return " ".join(words[:max_words])


def nodes_of(tree: Tree) -> list[PageNode]:
    """All nodes in document order."""
    nodes = tree.nodes
    places = {node: place for place, node in enumerate(nodes)}
    parents = [places.get(node.getparent(), -1) for node in nodes]  # type: ignore[arg-type]
    ends = list(range(1, len(nodes) + 1))
    for place in range(len(nodes) - 1, 0, -1):
        parent = parents[place]
        if ends[place] > ends[parent]:
            ends[parent] = ends[place]
    found = []
    for node, parent, end in zip(nodes, parents, ends, strict=True):
        attributes = dict(node.items())
        node_id = attributes.pop(NODE_ID, "")
        found.append(PageNode(node_id, name_of(node), parent, end, attributes, node.text or ""))
    return found
