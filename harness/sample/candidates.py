"""Which elements count as the target, and which are offered beside them.

The rule is that of Mind2Web (Deng et al. 2023, Appendix C.1): a click on the icon, the label or the
padding of a button is the same action. From the labelled node go up to the nearest clickable
ancestor, the node itself included. That element and those of its visible descendants that lie
inside its box are all accepted, and so is the labelled node where it sticks out of a link that is
only as high as its line. Without a clickable ancestor the labelled node stands alone.

A target that the visitor could not see when the page was recorded (a menu that opens under the
pointer, a check box hidden behind its styling) leaves the step without a positive, as in the real
data, where the target was lost in cleaning.
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
    """The labelled node and the element that acts when it is clicked."""

    labelled: Node
    top: Node


def target_of(labelled: Node) -> Target:
    """Find the nearest clickable ancestor of the labelled node, itself included."""
    top = next((node for node in labelled.ancestors() if node.clickable), labelled)
    return Target(labelled, top)


def is_candidate(node: Node) -> bool:
    """Whether the element can be offered: it is on the page and has a place there."""
    return is_kept(node) and node.visible and node.tag not in ("option", "optgroup")


def positives(target: Target) -> list[Node]:
    """All elements that count as the target, in document order."""
    if not is_candidate(target.top):
        return []
    sure = (target.top, target.labelled)
    return [
        node
        for node in target.top.elements()
        if is_candidate(node) and (node in sure or target.top.box.holds(node.box))
    ]


def negatives(root: Node, accepted: list[Node]) -> list[Node]:
    """All other candidates of the page, in document order; its root and body are among them."""
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
