"""HTML made a page: all its elements are there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.page import Page
from harness.page.html import as_page
from tests.harness.commands.tool import call


def deep(levels: int, tag: str = "div") -> str:
    inside = "<button backend_node_id=go>Go</button>between<a backend_node_id=home>Home</a>"
    return f"<{tag}>" * levels + inside + f"</{tag}>" * levels + "<p backend_node_id=end>end</p>"


@pytest.mark.parametrize("tag", ["div", "x-y"])
@pytest.mark.parametrize("levels", [1, 900, 2_000])
def test_a_page_has_all_its_elements(levels: int, tag: str) -> None:
    page = Page.parse(as_page(deep(levels, tag)))
    nodes = {node.id: node for node in page.nodes() if node.id}
    assert set(nodes) == {"go", "home", "end"}
    texts = [node.text for node in page.nodes() if node.text]
    assert texts == ["Go", "between", "Home", "end"]
    assert nodes["end"].parent < nodes["go"].parent


@pytest.mark.parametrize("levels", [2_050, 30_000])
def test_a_page_that_no_parser_reads_whole_is_refused(levels: int) -> None:
    with pytest.raises(ValueError, match=r"too deep: .* 2,000 levels"):
        as_page(deep(levels))


def test_a_row_of_a_page_that_is_too_deep_is_named(tmp_path: Path) -> None:
    row = {"task": "Go", "html": deep(3_000), "operation": "CLICK", "positives": ["go"]}
    (tmp_path / "steps.jsonl").write_text(json.dumps(row) + "\n")
    found = call("data", "check", tmp_path / "steps.jsonl")
    assert found.code == 2 and "steps.jsonl, row 1" in found.out + found.err
    assert "too deep" in found.out + found.err
