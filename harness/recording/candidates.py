"""Positive and negative candidates: the elements that count as the target, and all others.

The rule is that of Mind2Web (Deng et al. 2023, Appendix C.1): a click on the icon, the label or the
padding of a button is the same action. Starting at the labelled node, go up to the nearest
clickable ancestor, including the node itself. That element and its visible descendants inside its
box are positives, and so is the labelled node even if it extends beyond that box (a link is only as
high as its line). Without a clickable ancestor, the labelled node is the only positive.

If the target was invisible when the page was recorded (a menu that opens under the pointer, a check
box hidden behind its styling), the step has no positive, as in the real data, where such targets
were lost in cleaning.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from harness.live.elements import attributes_json, is_candidate
from harness.live.nodes import Node


@dataclass(frozen=True, slots=True)
class Target:
    """The labelled node and the element that responds when it is clicked."""

    labelled: Node
    top: Node


def target_of(labelled: Node) -> Target:
    """Find the nearest clickable ancestor of the labelled node, including the node itself."""
    top = next((node for node in labelled.ancestors() if node.clickable), labelled)
    return Target(labelled, top)


def positives(target: Target) -> list[Node]:
    """List the elements that count as the target, in document order."""
    if not is_candidate(target.top):
        return []
    always = (target.top, target.labelled)
    return [
        node
        for node in target.top.elements()
        if is_candidate(node) and (node in always or target.top.box.holds(node.box))
    ]


def negatives(root: Node, accepted: list[Node]) -> list[Node]:
    """List all other candidates of the page, its root and body included, in document order."""
    taken = {node.id for node in accepted}
    return [node for node in root.elements() if is_candidate(node) and node.id not in taken]


def positive_json(node: Node, target: Target) -> str:
    """Write an entry of `pos_candidates`."""
    return json.dumps(
        {
            "tag": node.tag,
            "attributes": attributes_json(node, node.box),
            "is_original_target": node is target.labelled,
            "is_top_level_target": node is target.top,
            "backend_node_id": node.id,
        },
        ensure_ascii=False,
    )


def negative_json(node: Node) -> str:
    """Write an entry of `neg_candidates`."""
    attributes = attributes_json(node, node.box)
    return json.dumps(
        {"tag": node.tag, "attributes": attributes, "backend_node_id": node.id},
        ensure_ascii=False,
    )
