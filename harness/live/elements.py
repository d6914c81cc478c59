"""Select a page's elements as candidates, in the columns of Mind2Web."""

from __future__ import annotations

import json
from collections.abc import Iterator

from harness.live.clean import USUAL, Kept, attribute_name, is_kept
from harness.live.nodes import Box, Node

_ATTRIBUTES = frozenset(
    {"class", "id", "name", "type", "value", "placeholder", "role", "alt", "title", "label"}
    | {"aria_label", "aria_description"}
)


def is_candidate(node: Node, kept: Kept = USUAL) -> bool:
    """Return True if the element can be a choice: cleaning keeps it, and it is visible."""
    return is_kept(node, kept) and node.visible and node.tag not in ("option", "optgroup")


def is_target(node: Node) -> bool:
    """Return True if actions target this element, rather than one inside or around it.

    A container of other elements is not a target, since a click on these reaches it, too; nor is
    an element in a button or link, or an invisible one.
    """
    if node.clickable:
        return True
    holds = any(isinstance(child, Node) for child in node.children)
    if node.bare or (holds and not node.own_text()):
        return False
    return not any(above.clickable and above.tag in ("a", "button") for above in node.ancestors())


def attributes_json(node: Node, box: Box) -> str:
    """Write the attributes of a candidate as JSON, with its box on the picture."""
    return json.dumps(dict(_pairs(node, box)), ensure_ascii=False)


def _pairs(node: Node, box: Box) -> Iterator[tuple[str, str]]:
    yield "backend_node_id", node.id
    yield "bounding_box_rect", str(box)
    for name, value in node.attributes.items():
        if attribute_name(name) in _ATTRIBUTES:
            yield attribute_name(name), value
    yield from node.live.items()
    if node.clickable:
        yield "is_clickable", "true"
    yield "data_pw_testid_buckeye_candidate", "1"
