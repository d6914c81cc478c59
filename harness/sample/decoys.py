"""Decoys: other places on the page that carry the target's words.

A page where the words of the target occur once can be solved by looking for them. Real pages repeat
them: in every card, in the footer, in an advertisement.
"""

from __future__ import annotations

import re

from harness.sample.candidates import Target, is_candidate
from harness.sample.nodes import Node
from harness.sample.representations import description, labels_of

_WORD = re.compile(r"\w+")
_LABELS = ("aria-label", "placeholder", "title", "alt")


def decoys(root: Node, target: Target) -> list[Node]:
    """The visible elements outside the target that carry all of the target's words.

    What surrounds the target, lies inside it, or is its own label does not count.
    """
    wanted = _words(description(target))
    if not wanted:
        return []
    related = {node.id for node in target.top.ancestors()}
    related |= {node.id for node in target.top.elements()}
    for field in target.top.elements():
        for label in labels_of(field):
            related |= {node.id for node in label.elements()}
    return [
        node
        for node in root.elements()
        if node.id not in related and is_candidate(node) and wanted <= _carried(node)
    ]


def _carried(node: Node) -> set[str]:
    labels = (node.attributes.get(key, "") for key in _LABELS)
    return _words(" ".join([node.own_text(), *labels]))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
