"""Describe actions in the words of a task's history: `[button]  Search -> CLICK`."""

from __future__ import annotations

from harness.live.nodes import Node
from harness.recording.candidates import Target

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
