"""A recorded page as browser tools see it, and hostile questions about it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from parsers.native import ToolAct, ToolUse
from parsers.native.page import LONGEST, Elements, PageElement, role_of
from parsers.native.reading import ReplyActs, reply_acts
from parsers.native.tools import acts_of
from parsers.native.toolsets import toolset
from parsers.native.web import as_step, is_half
from parsers.records import Box, Status

PAGE = Elements(
    (
        PageElement("a", "div", "", "", "", Box(0, 0, 500, 500)),
        PageElement("b", "input", "text", "textbox", "Name", Box(10, 10, 100, 20), 0),
        PageElement("c", "button", "", "button", "x", Box(90, 12, 10, 10), 0),
        PageElement("d", "select", "", "combobox", "Size", Box(10, 50, 100, 20), 0),
        PageElement("e", "option", "", "option", "Large", None, 3),
        PageElement("f", "input", "checkbox", "checkbox", "Gift", Box(10, 90, 10, 10), 0),
        PageElement("g", "a", "", "link", "Gone", None, 0),
        PageElement("h", "input", "submit", "button", "Send", Box(10, 120, 40, 20), 0),
    ),
    (400, 400),
)


def test_roles_follow_from_tags() -> None:
    tags = [("a", ""), ("textarea", ""), ("select", ""), ("h3", ""), ("span", "")]
    assert [role_of(*one) for one in tags] == ["link", "textbox", "combobox", "heading", ""]
    kinds = ("", "email", "search", "number", "checkbox", "SUBMIT", "hidden")
    roles = ["textbox", "textbox", "searchbox", "spinbutton", "checkbox", "button", ""]
    assert [role_of("input", kind) for kind in kinds] == roles


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ((20, 20), "b"),
        # Something smaller that can be pressed lies in the field.
        ((95, 15), None),
        ((20, 60), "d"),
        ((12, 92), None),
        ((20, 130), None),
        ((300, 300), None),
    ],
)
def test_a_field_or_a_list_under_a_point(point: tuple[float, float], expected: str | None) -> None:
    found = PAGE.at("", point)
    assert (found.id if found else None) == expected
    act = ToolAct("press", point, text="left")
    assert is_half(ReplyActs([act], None), PAGE) == (expected is not None)


def test_the_page_as_a_tree_and_in_words() -> None:
    lines = (PAGE.answer("read_page", {"filter": "interactive"}) or "").splitlines()
    assert lines[2:4] == ['combobox "Size" [ref_4]', '  option "Large" [ref_5]']
    assert "Gone" not in "".join(lines)
    assert 'link "Gone" [ref_7]' in (PAGE.answer("read_page", {"filter": "all"}) or "")
    assert PAGE.answer("read_page", {"ref": "ref_4", "depth": 1}) == 'combobox "Size" [ref_4]'
    assert PAGE.answer("find", {"query": "gift CHECKBOX"}) == 'checkbox "Gift" [ref_6]'
    assert PAGE.answer("get_page_text", {}) == "Name\nx\nSize\nLarge\nGift\nSend"


def test_long_pages_are_cut_at_a_line() -> None:
    many = [PageElement(str(n), "a", "", "link", "x" * 70, Box(0, 0, 9, 9)) for n in range(2_000)]
    said = Elements(many, (10, 10)).answer("read_page", {}) or ""
    assert len(said) < LONGEST + 100
    *lines, last = said.splitlines()
    assert last == f"[cut: {2_000 - len(lines)} more elements]"


@pytest.mark.parametrize(
    "ref", ["ref_0", "ref_9", "ref_99999999999", "ref_", "7", "ref_-1", "ref_²"]
)
def test_a_reference_that_is_no_elements_is_none(ref: str) -> None:
    assert PAGE.place_of(ref) is None and PAGE.at(ref) is None
    assert PAGE.answer("read_page", {"ref": ref}) is None
    act = ToolAct("press", ref=ref, text="left")
    found = as_step(reply_acts([act], frozenset(), lambda point: point, page=PAGE), "turn", PAGE)
    assert found.status is Status.OUT_OF_RANGE


def step(name: str, **fields: Any) -> Any:
    acts = acts_of([ToolUse(f"browser.{name}", fields)], toolset, ())
    turn = reply_acts(acts, frozenset({"wait", "scroll"}), lambda point: point, page=PAGE)
    return as_step(turn, "turn", PAGE) if turn.acts else acts[0].word


def ref(name: str) -> dict[str, str]:
    return {"type": "ref", "ref": name}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (step("form_input", target=ref("ref_2"), value=7), ("TYPE", "b", "7")),
        (step("form_input", target=ref("ref_4"), value="Large"), ("SELECT", "d", "Large")),
        (step("form_input", target=ref("ref_6"), value="on"), ("CLICK", "f", "")),
        (step("form_input", target=ref("ref_6"), value=False), ("CLICK", "f", "")),
        (step("left_click", target=ref("ref_5")), ("SELECT", "d", "Large")),
        (step("double_click", target=ref("ref_3")), ("CLICK", "c", "")),
        (step("hover", target=ref("ref_3")), ("CLICK", "c", "")),
    ],
)
def test_elements_by_reference(made: Any, expected: tuple[str, str, str]) -> None:
    assert made.status is Status.ANSWERED
    assert (made.action.name, made.element, made.value) == expected


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400, None, [], {}])
def test_values_that_cannot_be_read_are_malformed(value: Any) -> None:
    for fields in ({"target": ref("ref_2"), "value": value}, {"target": value, "value": "a"}):
        found = step("form_input", **fields)
        assert (found.status, found.flags) == (Status.PARSE_ERROR, ("malformed_call",))


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("read_page", {"filter": "visible"}),
        ("read_page", {"filter": 5}),
        ("read_page", {"depth": "deep"}),
        ("read_page", {"depth": True}),
        ("read_page", {"ref": ["ref_1"]}),
        ("find", {}),
        ("find", {"query": 5}),
        ("zoom", {"region": [0, 0, math.nan, 1]}),
        ("javascript_exec", {"text": "1"}),
        ("fly", {}),
    ],
)
def test_looks_that_cannot_be_read_are_answered_as_errors(name: str, fields: Any) -> None:
    acts = acts_of([ToolUse(f"browser.{name}", fields)], toolset, ())
    assert [act.word for act in acts] == ["look"] and acts[0].wrong


def test_deep_and_odd_questions_are_answered() -> None:
    for depth in (0, -5, 10**400):
        assert isinstance(PAGE.answer("read_page", {"depth": depth}), str)
    assert PAGE.answer("find", {"query": "\ud800" + "x" * 10**6}) == ""
    acts = acts_of([ToolUse("browser.read_page", {"query": "x", "depth": 1})], toolset, ())
    assert dict(acts[0].asked) == {"depth": 1}


def test_a_text_behind_a_press_is_joined_by_the_rule_next_only() -> None:
    pressed, typed = ToolAct("press", ref="ref_2", text="left"), ToolAct("type", text="Ada")
    for then in ([typed], [ToolAct("keys", text="ctrl+a"), typed], [pressed, typed]):
        turn = ReplyActs([pressed], None, then)
        names = [as_step(turn, rule, PAGE).action for rule in ("first", "turn", "next")]
        assert [one.name for one in names if one] == ["CLICK", "CLICK", "TYPE"]
    for other in (
        [ToolAct("press", ref="ref_3", text="left"), typed],
        [ToolAct("keys", text="tab")],
        [],
    ):
        found = as_step(ReplyActs([pressed], None, other), "next", PAGE)
        assert found.action is not None and found.action.name == "CLICK"
