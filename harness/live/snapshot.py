"""Observe a page: its cleaned HTML, and its elements with their boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from harness.live.clean import USUAL, Kept, clean, tag_of
from harness.live.contract import LivePage
from harness.live.elements import attributes_json, is_candidate, is_target
from harness.live.nodes import Box, Node, tree_of
from harness.page import Box as PageBox
from harness.page import Candidate

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
    described: Sequence[Mapping[str, Any]], scale: float, *, cut: bool, kept: Kept = USUAL
) -> LivePage:
    """Build a page from the list of `describe.js`, with boxes in pixels of the screenshot.

    Raises:
        ValueError: the list is malformed.
    """
    if not described:
        return LivePage(_EMPTY, cut=cut)
    root = tree_of(described)
    listed = [node for node in root.elements() if is_candidate(node, kept) and is_target(node)]
    return LivePage(
        clean(root, kept),
        tuple(_candidate(node, scale) for node in listed),
        frozenset(node.id for node in listed if node.in_view),
        cut,
    )


def _candidate(node: Node, scale: float) -> Candidate:
    box = Box(*(number * scale for number in node.box))
    return Candidate(node.id, tag_of(node), PageBox(*box), False, False, attributes_json(node, box))
