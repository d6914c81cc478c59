"""Observe a page: its cleaned HTML, and its elements with their boxes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from harness.live.clean import (
    USUAL,
    KeptParts,
    Node,
    attribute_name,
    clean,
    is_kept,
    tag_of,
    tree_of,
)
from harness.live.contract import LivePage
from harness.page import Box, Candidate

_ATTRIBUTES = frozenset(
    {"class", "id", "name", "type", "value", "placeholder", "role", "alt", "title", "label"}
    | {"aria_label", "aria_description"}
)


def is_candidate(node: Node, kept: KeptParts = USUAL) -> bool:
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
    rect = ",".join(f"{number:.6f}".rstrip("0").rstrip(".") for number in box)
    named = ((attribute_name(name), value) for name, value in node.attributes.items())
    written = {
        "backend_node_id": node.id,
        "bounding_box_rect": rect,
        **{name: value for name, value in named if name in _ATTRIBUTES},
        **node.live,
        **({"is_clickable": "true"} if node.clickable else {}),
        "data_pw_testid_buckeye_candidate": "1",
    }
    return json.dumps(written, ensure_ascii=False)


LIMITS: Mapping[str, int] = {"most": 20_000, "deepest": 200, "longest": 10_000, "room": 2_000_000}
"""Limits of a description: nodes, levels, characters of a text and of all texts."""

_EMPTY = '<html backend_node_id="1"/>'
"""A page can remove its root."""


@cache
def shielding() -> str:
    """Return source that declares the function of `shielded.js`."""
    return _declared("shielded", "shielded.js")


@cache
def describing() -> str:
    """Return source that declares the function of `describe.js` and its helpers."""
    return shielding() + _declared("describe", "describe.js")


@cache
def finding() -> str:
    """Return source that declares the functions of `fields.js`."""
    return _declared("fields", "fields.js")


def _declared(name: str, file: str) -> str:
    source = Path(__file__).with_name(file).read_text(encoding="utf-8")
    return f"const {name} = {source.rstrip().rstrip(';')};\n"


def live_page(
    described: Sequence[Mapping[str, Any]], scale: float, *, cut: bool, kept: KeptParts = USUAL
) -> LivePage:
    """Build a page from the list of `describe.js`, with boxes in pixels of the screenshot.

    Raises:
        ValueError: the list is malformed.
    """
    if not described:
        return LivePage(_EMPTY, cut=cut)
    root = tree_of(described)
    candidates, in_view = list[Candidate](), set[str]()
    for node in root.elements():
        if is_candidate(node, kept) and is_target(node):
            box = Box(*(number * scale for number in node.box))
            about = attributes_json(node, box)
            candidates.append(Candidate(node.id, tag_of(node), box, False, False, about))
            if node.in_view:
                in_view.add(node.id)
    return LivePage(clean(root, kept), tuple(candidates), frozenset(in_view), cut)
