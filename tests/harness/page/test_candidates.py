"""Candidate columns decode to candidates, or say which entry is wrong."""

from __future__ import annotations

import json

import pytest

from harness.page import Box, decode_candidates
from tests.harness.page import recorded


def encoded(rect: object = "1,2,3,4", **more: object) -> str:
    attributes = {"backend_node_id": "7", "bounding_box_rect": rect, "class": "größe"}
    fields = {"tag": "a", "attributes": json.dumps(attributes), "backend_node_id": "7"}
    return json.dumps(fields | more)


def test_a_positive_and_a_negative() -> None:
    positive, negative = decode_candidates(
        [encoded(is_original_target=True, is_top_level_target=False), encoded(rank=3, score=0.5)]
    )
    assert (positive.id, positive.tag, positive.box) == ("7", "a", Box(1, 2, 3, 4))
    assert (positive.original_target, positive.top_level_target) == (True, False)
    assert (negative.original_target, negative.top_level_target) == (False, False)
    assert negative.attributes["class"] == "größe"


def test_boxes_have_edges_and_may_be_invisible() -> None:
    box = Box(10, 20, 30, 40)
    assert (box.right, box.bottom, box.is_visible) == (40, 60, True)
    (candidate,) = decode_candidates([encoded("-1,-1,0,-2.5")])
    assert candidate.box == Box(-1, -1, 0, -2.5)
    assert not candidate.box.is_visible


@pytest.mark.parametrize(
    "rect",
    ["", "1,2,3", "1,2,3,4,5", "a,b,c,d", "nan,0,1,1", "0,0,inf,1", "0,0,1e999,1", None, 5, {}],
)
def test_odd_boxes_are_no_boxes(rect: object) -> None:
    (candidate,) = decode_candidates([encoded(rect)])
    assert candidate.box is None


def test_missing_attributes_leave_no_box() -> None:
    (candidate,) = decode_candidates(['{"backend_node_id": 12}'])
    assert (candidate.id, candidate.tag, candidate.box, candidate.attributes) == (
        "12",
        "",
        None,
        {},
    )


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"tag": "a"}',
        encoded(attributes="{"),
        encoded(attributes="[]"),
        encoded(attributes=None),
        encoded(tag=5),
        encoded() + "x",
    ],
)
def test_wrong_entries_are_named_by_position(wrong: str) -> None:
    with pytest.raises(ValueError, match="candidate 2 "):
        decode_candidates([encoded(), encoded(), wrong, encoded()])


def test_something_else_than_text_is_named_too() -> None:
    with pytest.raises(ValueError, match="candidate 0 "):
        decode_candidates([None])  # type: ignore[list-item]


def test_the_recorded_row_decodes_to_what_plain_json_reads() -> None:
    row = recorded.row()
    texts = row["pos_candidates"] + row["neg_candidates"]
    candidates = decode_candidates(texts)
    assert len(candidates) == 468
    for text, candidate in zip(texts, candidates, strict=True):
        plain = json.loads(text)
        attributes = json.loads(plain["attributes"])
        assert candidate.id == plain["backend_node_id"]
        assert candidate.tag == plain["tag"]
        assert candidate.attributes == attributes
        assert candidate.original_target == plain.get("is_original_target", False)
        assert candidate.box == Box(*map(float, attributes["bounding_box_rect"].split(",")))
