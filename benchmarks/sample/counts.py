"""Statistics of the shipped files, computed from the files alone, including decoys.

A decoy is another element of the page that has the target's words. If these occur only once, the
step can be solved by searching for them. Real pages repeat them: in every card, in the footer, in
an advertisement.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from lxml import html

from harness.live.clean import Node, TextNode, find
from harness.live.snapshot import is_candidate
from harness.recording.columns import ActedElement, StepRow, description, labels_of
from parsers.records import Box

_NOWHERE = Box(0, 0, 0, 0)
_WORD = re.compile(r"\w+")
_LABELS = ("aria-label", "placeholder", "title", "alt")


@dataclass(frozen=True, slots=True)
class Counts:
    """The statistics of one split."""

    tasks: int
    steps: int
    operations: Mapping[str, int]
    positives: Mapping[int, int]
    with_decoy: int
    without_picture: int
    elements: tuple[int, int]
    candidates: float

    def __str__(self) -> str:
        operations = ", ".join(f"{number} {name}" for name, number in self.operations.items())
        several = sum(number for count, number in self.positives.items() if count > 1)
        return (
            f"{self.tasks} tasks, {self.steps} steps ({operations}); "
            f"positives 0/1/more: {self.positives.get(0, 0)}/{self.positives.get(1, 0)}/{several}; "
            f"{self.with_decoy} with a decoy ({self.with_decoy / self.steps:.0%}); "
            f"{self.without_picture} without a screenshot; "
            f"{self.elements[0]} to {self.elements[1]} elements a page, "
            f"{self.candidates:g} candidates in the median"
        )


def count(rows: Sequence[StepRow]) -> Counts:
    """Compute the statistics of a split."""
    pages = [page_of(row) for row in rows]
    sizes = [sum(1 for _ in page.elements()) for page in pages]
    offered = [len(row["pos_candidates"]) + len(row["neg_candidates"]) for row in rows]
    return Counts(
        tasks=len({row["annotation_id"] for row in rows}),
        steps=len(rows),
        operations=Counter(json.loads(row["operation"])["op"] for row in rows),
        positives=Counter(len(row["pos_candidates"]) for row in rows),
        with_decoy=sum(map(has_decoy, rows, pages)),
        without_picture=sum(not has_picture(row) for row in rows),
        elements=(min(sizes), max(sizes)),
        candidates=median(offered),
    )


def has_picture(row: StepRow) -> bool:
    """Return True if a row has a screenshot: neither a null struct nor a struct of nulls."""
    return row["screenshot"] is not None and bool(row["screenshot"]["bytes"])


def has_decoy(row: StepRow, page: Node) -> bool:
    """Return True if a step has a decoy; a step without a positive has none."""
    entries = [json.loads(text) for text in row["pos_candidates"]]
    if not entries:
        return False
    top = next(entry["backend_node_id"] for entry in entries if entry["is_top_level_target"])
    # The labelled node itself may not be a candidate, if it is smaller than a pixel, for example.
    labelled = [entry["backend_node_id"] for entry in entries if entry["is_original_target"]]
    target = ActedElement(find(page, (labelled or [top])[0]), find(page, top))
    return bool(decoys(page, target))


def decoys(root: Node, target: ActedElement) -> list[Node]:
    """Return the visible elements outside the target that have all of the target's words.

    Ancestors, descendants and labels of the target do not count.
    """
    wanted = _words(description(target))
    if not wanted:
        return []
    related = {node.id for node in target.top.ancestors()}
    related |= {node.id for node in target.top.elements()}
    for field in target.top.elements():
        for label in labels_of(field):
            related |= {node.id for node in label.elements()}
    return [
        node
        for node in root.elements()
        if node.id not in related and is_candidate(node) and wanted <= _words_of(node)
    ]


def _words_of(node: Node) -> set[str]:
    labels = (node.attributes.get(key, "") for key in _LABELS)
    return _words(" ".join([node.own_text(), *labels]))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def page_of(row: StepRow) -> Node:
    """Parse a row's page into nodes; the candidates are the visible ones."""
    boxes = dict(_boxes([*row["pos_candidates"], *row["neg_candidates"]]))
    return _node(html.document_fromstring(row["raw_html"]), boxes, None)


def _boxes(entries: Iterable[str]) -> Iterable[tuple[str, Box]]:
    for text in entries:
        attributes = json.loads(json.loads(text)["attributes"])
        corners = map(float, attributes["bounding_box_rect"].split(","))
        yield attributes["backend_node_id"], Box(*corners)


def _node(element: html.HtmlElement, boxes: Mapping[str, Box], parent: Node | None) -> Node:
    attributes = {str(name): str(value) for name, value in element.attrib.items()}
    node_id = attributes.pop("backend_node_id", "")
    box = boxes.get(node_id)
    node = Node(
        id=node_id,
        tag=str(element.tag),
        attributes=attributes,
        live={},
        box=box or _NOWHERE,
        visible=box is not None,
        clickable=False,
        parent=parent,
    )
    _add_text(node, element.text)
    for child in element:
        if isinstance(child.tag, str):
            node.children.append(_node(child, boxes, node))
        _add_text(node, child.tail)
    return node


def _add_text(node: Node, text: str | None) -> None:
    if text and text.strip():
        node.children.append(TextNode("", text, node))
