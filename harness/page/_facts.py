"""What a node is and what it says, apart from any prompt."""

from __future__ import annotations

from dataclasses import dataclass

from harness.page._tree import Element, name_of

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
