"""What can go wrong with a page, as exceptions of our own."""

from __future__ import annotations


class PageError(ValueError):
    """The page cannot be read: malformed XML, nested too deeply, or with entities."""


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
