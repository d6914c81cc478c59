"""HTML made a page, however deep: all its elements are there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.page import Page
from harness.page.html import DEEPEST, as_page
from tests.harness.commands.tool import call


def deep(levels: int, tag: str = "div") -> str:
    inside = "<button backend_node_id=go>Go</button>between<a backend_node_id=home>Home</a>"
    return f"<{tag}>" * levels + inside + f"</{tag}>" * levels + "<p backend_node_id=end>end</p>"


@pytest.mark.parametrize("tag", ["div", "ul", "x-y", "font"])
@pytest.mark.parametrize("levels", [1, 900, DEEPEST - 2, DEEPEST, 2_044, 2_050, 3_000, 30_000])
def test_a_page_of_any_depth_has_all_its_elements(levels: int, tag: str) -> None:
    page = Page.parse(as_page(deep(levels, tag)))
    nodes = {node.id: node for node in page.nodes() if node.id}
    assert set(nodes) == {"go", "home", "end"}
    texts = [node.text for node in page.nodes() if node.text]
    assert texts == ["Go", "between", "Home", "end"]
    assert nodes["end"].parent < nodes["go"].parent


def test_a_deep_row_is_read_and_one_of_too_deep_xml_is_named(tmp_path: Path) -> None:
    row = {"task": "Go", "html": deep(3_000), "operation": "CLICK", "positives": ["go"]}
    (tmp_path / "steps.jsonl").write_text(json.dumps(row) + "\n")
    assert call("data", "check", tmp_path / "steps.jsonl").code == 0
    xml = "<a backend_node_id='1'>" + "<b>" * 3_000 + '<text backend_node_id="2">x</text>'
    html = xml + "</b>" * 3_000 + "</a>"
    (tmp_path / "steps.jsonl").write_text(json.dumps({**row, "html": html}) + "\n")
    found = call("data", "check", tmp_path / "steps.jsonl")
    assert found.code == 2 and "steps.jsonl, row 1" in found.out + found.err
