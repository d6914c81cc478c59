"""Answers that point: every form as models write it, what bends it, and what it cannot carry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.points import (
    CONVENTIONS,
    FIRST,
    FORMS,
    Convention,
    Form,
    PointAnswer,
    from_pixels,
    read_point,
    to_pixels,
    write_point,
)
from parsers.records import OPERATIONS, Operation, Status
from parsers.reply_text import tidy, without_tokens
from parsers.values import is_missing
from tests.clock import linear_time

OK = Status.ANSWERED


@pytest.mark.parametrize(
    ("form", "text", "point", "operation", "value"),
    [
        ("seeclick", '{"action_type": 4, "click_point": (0.17,0.06)}', (0.17, 0.06), "CLICK", ""),
        (
            "seeclick",
            '{"action_type": 3, "click_point": (0.49,0.40), "value": "New York"}',
            (0.49, 0.40),
            "TYPE",
            "New York",
        ),
        (
            "seeclick",
            "{'action_type': 2, 'click_point': [.5, 1], 'value': 'x'}",
            (0.5, 1),
            "SELECT",
            "x",
        ),
        (
            "seeclick",
            '```\n{"action_type": 4, "click_point": (0.1, 0.2)}\n```',
            (0.1, 0.2),
            "CLICK",
            "",
        ),
        (
            "qwen-vl",
            "<ref>Search</ref><box>(10,20),(30,60)</box>\nACTION: CLICK",
            (20, 40),
            "CLICK",
            "",
        ),
        ("qwen-vl", "Search(10,20),(30,60)\nACTION: CLICK", (20, 40), "CLICK", ""),
        ("qwen2-vl", "<|box_start|>(10,20),(30,60)<|box_end|>", (20, 40), None, ""),
        (
            "qwen2.5-vl",
            '```json\n[{"bbox_2d": [10, 20, 30, 60], "label": "x", "action": "CLICK"}]\n```',
            (20, 40),
            "CLICK",
            "",
        ),
        (
            "qwen2.5-vl",
            '{"point_2d": [7, 9], "action": "TYPE", "value": 10203}',
            (7, 9),
            "TYPE",
            "10203",
        ),
        (
            "qwen3-vl",
            '<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", '
            '"coordinate": [500, 250]}}\n</tool_call>',
            (500, 250),
            "CLICK",
            "",
        ),
        (
            "qwen3-vl",
            '{"point_2d": [1, 2]}\nACTION: SELECT\nVALUE: "5 PM"',
            (1, 2),
            "SELECT",
            "5 PM",
        ),
        ("computer-use", '{"type": "click", "x": 120, "y": 48}', (120, 48), "CLICK", ""),
        (
            "computer-use",
            '{"type": "computer_call", "action": {"type": "double_click", "x": 1, "y": 2}}',
            (1, 2),
            "CLICK",
            "",
        ),
        (
            "computer-use",
            '{"action": "type", "coordinate": [3, 4], "text": "\\"quoted\\""}',
            (3, 4),
            "TYPE",
            '"quoted"',
        ),
        ("gemini", '{"point": [250, 500], "action": "CLICK"}', (500, 250), "CLICK", ""),
        (
            "gemini",
            '[{"box_2d": [10, 100, 30, 300], "label": "x"}]\nACTION: CLICK',
            (200, 20),
            "CLICK",
            "",
        ),
        ("plain", "ELEMENT: 120, 340\nACTION: CLICK\nVALUE: None", (120, 340), "CLICK", ""),
        (
            "plain",
            "**ELEMENT:** (120.5, 340)\n**ACTION:** type\n**VALUE:** 'a b'",
            (120.5, 340),
            "TYPE",
            "a b",
        ),
        ("plain", "ELEMENT: the 3rd button at (12, 34)\nACTION: CLICK", (12, 34), "CLICK", ""),
        ("plain", "ELEMENT: x=12, y=34\nACTION: CLICK", (12, 34), "CLICK", ""),
        ("plain", "ELEMENT: [10, 20, 30, 60]\nACTION: CLICK", (20, 40), "CLICK", ""),
        ("plain", '{"ELEMENT": "12, 34", "ACTION": "CLICK"}', (12, 34), "CLICK", ""),
        ("plain", "Final answer: (12, 34)\nACTION: CLICK", (12, 34), "CLICK", ""),
        ("plain", "I would press it.\n(12, 34)\nACTION: CLICK", (12, 34), "CLICK", ""),
        (
            "plain",
            "<think>ELEMENT: 1, 2</think>\nELEMENT: 3, 4\nACTION: HOVER",
            (3, 4),
            "CLICK",
            "",
        ),
    ],
)
def test_answers_as_models_write_them(
    form: Form, text: str, point: tuple[float, float], operation: str | None, value: str
) -> None:
    answer = read_point(text, form)
    assert (answer.status, answer.operation, answer.value) == (OK, operation, value)
    assert answer.point == pytest.approx(point)


@pytest.mark.parametrize(
    ("form", "text", "status"),
    [
        ("seeclick", '{"action_type": 4}', Status.NO_ELEMENT),
        ("seeclick", '{"action_type": 4, "click_point": (0.1,)}', Status.NO_ELEMENT),
        ("seeclick", '{"action_type": 4, "click_point": (0.1, 0.2, 0.3)}', Status.NO_ELEMENT),
        ("seeclick", '{"action_type": 4, "click_point": open("x")}', Status.PARSE_ERROR),
        ("seeclick", "(0.17,0.06)", Status.PARSE_ERROR),
        ("qwen3-vl", '{"bbox_2d": [1, 2], "action": "CLICK"}', Status.NO_ELEMENT),
        ("qwen3-vl", '{"bbox_2d": "1, 2, 3, 4 or 5", "action": "CLICK"}', Status.NO_ELEMENT),
        ("qwen3-vl", '{"bbox_2d": [1e999, 2, 3, 4], "action": "CLICK"}', Status.NO_ELEMENT),
        ("qwen3-vl", '{"point_2d": null, "action": "CLICK"}', Status.NONE),
        ("qwen3-vl", '[{"point_2d": [1, 2]}, {"point_2d": [3, 4]}]', Status.AMBIGUOUS),
        ("qwen3-vl", '{"action": "wait"}', Status.NO_ELEMENT),
        ("qwen3-vl", '{"point": [1, 2]}', Status.PARSE_ERROR),
        ("computer-use", '{"action": "scroll", "scroll_y": 300}', Status.NO_ELEMENT),
        ("qwen-vl", "<box>(1,2),(3,4)</box> or <box>(5,6),(7,8)</box>", Status.AMBIGUOUS),
        ("qwen-vl", "ACTION: CLICK", Status.NO_ELEMENT),
        ("plain", "ELEMENT: NA\nACTION: CLICK", Status.NONE),
        ("plain", "ELEMENT: None\nACTION: NONE", Status.NONE),
        ("plain", "ELEMENT: the search button\nACTION: CLICK", Status.NO_ELEMENT),
        ("plain", "ELEMENT: (1, 2) or (3, 4)\nACTION: CLICK", Status.NO_ELEMENT),
        ("plain", "nothing to see", Status.PARSE_ERROR),
        ("plain", "I'm sorry, but I cannot help with that.", Status.REFUSAL),
        ("plain", "   ", Status.EMPTY),
    ],
)
def test_answers_without_one_place(form: Form, text: str, status: Status) -> None:
    answer = read_point(text, form)
    assert answer.status is status
    assert answer.point is None


def test_of_a_draft_and_its_correction_the_last_counts() -> None:
    text = '{"point_2d": [1, 2], "action": "TYPE"} no: {"point_2d": [3, 4], "action": "CLICK"}'
    assert read_point(text, "qwen3-vl") == PointAnswer(
        OK, (3.0, 4.0), operation="CLICK", flags=("multiple",)
    )


def test_of_a_reply_that_was_cut_only_whole_answers_count() -> None:
    cut = '{"point_2d": [1, 2], "action": "TYPE", "value": "New Y'
    assert read_point(cut, "qwen3-vl", finish="length").status is Status.TRUNCATED
    whole = read_point('{"point_2d": [1, 2], "action": "CLICK"} and', "qwen3-vl", finish="length")
    assert (whole.status, whole.flags) == (OK, ("truncated",))
    typed = "ELEMENT: 1, 2\nACTION: TYPE\nVALUE: New Y"
    assert read_point(typed, "plain", finish="length").status is Status.TRUNCATED
    assert read_point(typed + "\n", "plain", finish="length").status is OK


@pytest.mark.parametrize("finish", ["refusal", "content_filter", "too_long"])
def test_replies_that_were_withheld(finish: str) -> None:
    assert read_point("ELEMENT: 1, 2", "plain", finish=finish).status == Status(finish)


@given(st.text(max_size=300), st.sampled_from(FORMS))
def test_no_text_raises(text: str, form: Form) -> None:
    read_point(text, form)


PIECES = st.sampled_from(
    [
        '{"',
        '"action_type": 4',
        ", ",
        "(0.1,0.2)",
        "}",
        "[",
        "]",
        '"bbox_2d": ',
        "ELEMENT: ",
        "\n",
        "<box>",
        "</box>",
        "(1,2)",
        "ACTION: CLICK",
        '"coordinate": [1,2]',
        "\\",
        "'",
        "9" * 40,
        "-",
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from(FORMS))
def test_no_text_of_such_pieces_raises(text: str, form: Form) -> None:
    answer = read_point(text, form)
    assert (answer.point is not None) == (answer.status is OK)


HOSTILE = [
    "{",
    "[" * 3,
    '{"a":',
    "(1,",
    "(1,2),",
    "<box>(1,2),",
    "1",
    '{"point_2d": [',
    "ELEMENT: (",
    "'\\",
    '{"action_type": "',
    " ",
    "{'a': 1, ",
    "((1,1),(1,1))",
]


@pytest.mark.parametrize("form", sorted(FIRST))
@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_texts_take_no_time(form: Form, piece: str) -> None:
    with linear_time():
        read_point(piece * (200_000 // len(piece)), form)


VALUES = (
    st.text(min_size=1, max_size=30)
    .map(lambda text: " ".join(tidy(text.encode("utf-8", "ignore").decode()).split()))
    # A mark or a tag that ends a value is taken for the end of an answer.
    .filter(lambda text: not is_missing(text) and without_tokens(text) == text)
)


@pytest.mark.parametrize("value", ["=", "==", "=5", "= x", "=>", "=SUM(A1)", "a=b", ":"])
def test_a_sign_behind_the_colon_of_a_field_is_part_of_the_value(value: str) -> None:
    for sign in ("\t", "\n"):
        said = sign.join(("action:TYPE", "point:5,6", f"value:{value}"))
        assert read_point(said, "step").value == value


@given(
    st.sampled_from(FORMS),
    st.sampled_from(CONVENTIONS),
    st.tuples(st.floats(0, 1280), st.floats(0, 5000)) | st.none(),
    st.sampled_from(OPERATIONS),
    VALUES,
)
def test_what_is_spelled_is_read_back(
    form: Form,
    convention: Convention,
    pixels: tuple[float, float] | None,
    operation: Operation,
    value: str,
) -> None:
    point = from_pixels(pixels, convention, (1280, 5000)) if pixels else None
    if form == "seeclick":
        point = (round(point[0], 2), round(point[1], 2)) if point else None
    answer = read_point(write_point(form, point, operation, value), form)
    none = Status.NO_ELEMENT if form == "seeclick" else Status.NONE
    assert answer.status is (OK if point else none)
    assert answer.point == point
    assert (answer.operation, answer.value) == (operation, "" if operation == "CLICK" else value)
    assert answer.flags == ()


def test_numbers_become_pixels_by_what_was_declared_alone() -> None:
    size = (640, 480)
    assert to_pixels((0.5, 0.5), "unit", size) == (320, 240)
    assert to_pixels((0.5, 0.5), "absolute", size) == (0.5, 0.5)
    assert to_pixels((500, 250), "per-mille", size) == (320, 120)
    assert to_pixels((999, 499.5), "per-999", size) == (640, 240)
    assert to_pixels((1000, 5), "per-999", size) is None
    assert to_pixels((640, 480), "absolute", size) == (640, 480)
    assert to_pixels((641, 480), "absolute", size) is None
    assert to_pixels((0.5, 1.01), "unit", size) is None
    assert to_pixels((-1, 5), "per-mille", size) is None
