"""Small pages, written by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from lxml import etree

from harness.live.clean import Node, tree_of

Dom = Callable[[str], Node]


@pytest.fixture
def dom() -> Dom:
    """Markup to nodes, numbered in document order from 1.

    `_box`, `_clickable`, `_hidden` and `_live-…` say what a browser would have found out.
    """
    return lambda markup: tree_of(list(_described(etree.fromstring(markup), None, count(1))))


def _described(element: Any, parent: int | None, numbers: Any) -> Iterator[dict[str, Any]]:
    own = {name: value for name, value in element.attrib.items() if not name.startswith("_")}
    number = next(numbers)
    yield {
        "id": str(number),
        "parent": parent,
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
    }
    texts = [element.text, *(child.tail for child in element)]
    for text, following in zip(texts, [*element, None], strict=True):
        if text and text.strip():
            yield {"id": str(next(numbers)), "parent": number - 1, "text": text}
        if following is not None:
            yield from _described(following, number - 1, numbers)
