"""Small pages, written by hand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from lxml import etree

from harness.sample.nodes import Node, node_of

Dom = Callable[[str], Node]


@pytest.fixture
def dom() -> Dom:
    """Markup to nodes, numbered in document order from 1.

    `_box`, `_clickable`, `_hidden` and `_live-…` say what a browser would have found out.
    """
    return lambda markup: node_of(_described(etree.fromstring(markup), count(1)))


def _described(element: Any, numbers: Any) -> dict[str, Any]:
    own = {name: value for name, value in element.attrib.items() if not name.startswith("_")}
    found: dict[str, Any] = {
        "id": str(next(numbers)),
        "tag": element.tag,
        "attributes": own,
        "live": {
            name.removeprefix("_live-"): value
            for name, value in element.attrib.items()
            if name.startswith("_live-")
        },
        "box": [float(part) for part in element.get("_box", "0,0,100,100").split(",")],
        "visible": "_hidden" not in element.attrib,
        "clickable": "_clickable" in element.attrib,
        "children": [],
    }
    texts = [element.text]
    children: list[Any] = []
    for child in element:
        children.append(child)
        texts.append(child.tail)
    for text, following in zip(texts, [*children, None], strict=True):
        if text and text.strip():
            found["children"].append({"id": str(next(numbers)), "text": text})
        if following is not None:
            found["children"].append(_described(following, numbers))
    return found
