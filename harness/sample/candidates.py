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
from collections.abc import Iterator
from dataclasses import dataclass

from harness.sample.clean import attribute_name, is_kept
from harness.sample.nodes import Node

_ATTRIBUTES = frozenset(
    {"class", "id", "name", "type", "value", "placeholder", "role", "alt", "title", "label"}
    | {"aria_label", "aria_description"}
)


@dataclass(frozen=True, slots=True)
class Target:
    """The labelled node and the element that responds when it is clicked."""

    labelled: Node
    top: Node


def target_of(labelled: Node) -> Target:
    """Find the nearest clickable ancestor of the labelled node, including the node itself."""
    top = next((node for node in labelled.ancestors() if node.clickable), labelled)
    return Target(labelled, top)


def is_candidate(node: Node) -> bool:
    """Whether the element can be a choice: it is kept by cleaning and visible on the page."""
    return is_kept(node) and node.visible and node.tag not in ("option", "optgroup")


def positives(target: Target) -> list[Node]:
    """All elements that count as the target, in document order."""
    if not is_candidate(target.top):
        return []
    always = (target.top, target.labelled)
    return [
        node
        for node in target.top.elements()
        if is_candidate(node) and (node in always or target.top.box.holds(node.box))
    ]


def negatives(root: Node, accepted: list[Node]) -> list[Node]:
    """All other candidates of the page, in document order, including its root and body."""
    taken = {node.id for node in accepted}
    return [node for node in root.elements() if is_candidate(node) and node.id not in taken]


def positive_json(node: Node, target: Target) -> str:
    """An entry of `pos_candidates`."""
    return json.dumps(
        {
            "tag": node.tag,
            "attributes": _attributes(node),
            "is_original_target": node is target.labelled,
            "is_top_level_target": node is target.top,
            "backend_node_id": node.id,
        },
        ensure_ascii=False,
    )


def negative_json(node: Node) -> str:
    """An entry of `neg_candidates`."""
    return json.dumps(
        {"tag": node.tag, "attributes": _attributes(node), "backend_node_id": node.id},
        ensure_ascii=False,
    )


def _attributes(node: Node) -> str:
    return json.dumps(dict(_pairs(node)), ensure_ascii=False)


def _pairs(node: Node) -> Iterator[tuple[str, str]]:
    yield "backend_node_id", node.id
    yield "bounding_box_rect", str(node.box)
    for name, value in node.attributes.items():
        if attribute_name(name) in _ATTRIBUTES:
            yield attribute_name(name), value
    yield from node.live.items()
    if node.clickable:
        yield "is_clickable", "true"
    yield "data_pw_testid_buckeye_candidate", "1"
