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

from harness.live.nodes import Node
from harness.live.snapshot import attributes_json, is_candidate


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


_LONGEST = 50
_ROLES = {"a": "link", "button": "button", "select": "combobox", "textarea": "textbox"}
_INPUT_ROLES = {"checkbox": "checkbox", "radio": "radio", "submit": "button", "button": "button"}
_NAMING = ("aria-label", "alt", "placeholder", "title")


def representation(target: Target, op: str, value: str = "") -> str:
    """Write an action in Mind2Web's form: role or tag, two blanks, description, operation, value.

    The operation is the performed one: hovering and pressing Enter differ from a click.
    """
    words = description(target)
    if len(words) > _LONGEST:
        words = f"{words[:_LONGEST]}..."
    said = f": {value}" if value else ""
    return f"[{role(target.labelled)}]  {words} -> {op}{said}"


def role(node: Node) -> str:
    """Return the element's role, or its tag if it has no known role."""
    if explicit := node.attributes.get("role"):
        return explicit
    if node.tag == "input":
        return _INPUT_ROLES.get(node.attributes.get("type", ""), "textbox")
    return _ROLES.get(node.tag, node.tag)


def description(target: Target) -> str:
    """Return the name of the labelled node, or that of its target if it has none."""
    return name(target.labelled) or name(target.top)


def name(node: Node) -> str:
    """Return the element's label, else its text, else its `name` attribute."""
    for key in _NAMING[:1]:
        if label := node.attributes.get(key):
            return label
    if labels := labels_of(node):
        return labels[0].full_text()
    for key in _NAMING[1:]:
        if label := node.attributes.get(key):
            return label
    if node.tag == "select":
        return node.attributes.get("name", "")
    return node.full_text() or node.attributes.get("name", "")


def labels_of(node: Node) -> list[Node]:
    """List the `label` elements of a form field: those that refer to it or enclose it."""
    if node.tag not in ("input", "select", "textarea"):
        return []
    *_, root = node.ancestors()
    node_id = node.attributes.get("id")
    return [
        label
        for label in root.elements()
        if label.tag == "label"
        and ((node_id and label.attributes.get("for") == node_id) or label in node.ancestors())
    ]
