"""Actions in the words of BrowserGym: calls with literals, whatever a model has put in them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.benchmarks.episode.browsergym.program import calls_of
from harness.live.acting import NotDone
from parsers.calls import read_calls
from parsers.live import BROWSER_ACTIONS
from parsers.reply_text import source

SIZE = (1000, 500)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cf"]), max_size=60)
_IDS = st.from_regex(r"[a-zA-Z]{0,2}[0-9]{1,4}", fullmatch=True)
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "number": st.integers(-500, 500) | st.floats(-500, 500),
    "flag": st.booleans(),
    "text": TEXTS,
}


@st.composite
def actions(draw: st.DrawFn) -> dict[str, Any]:
    """Any action of a browser that can be done."""
    kind = draw(st.sampled_from(BROWSER_ACTIONS.actions))
    needs = {place.kind for place in kind.places}
    on_element = "element" in needs and (kind.name in ("SELECT",) or draw(st.booleans()))
    given = {
        name: draw(st.sampled_from(one.values) if one.values else _VALUES[one.kind])
        for name, one in kind.values.items()
    }
    if "url" in given:
        given["url"] = f"http://{given['url']}"
    if "key" in given:
        given["key"] = given["key"] or "Tab"
    return {
        "name": kind.name,
        "element": draw(_IDS) if on_element else None,
        "point": (draw(st.floats(0, 900)), 7) if needs and not on_element else None,
        "box": (10.0, 20.0, 30.0, 40.0),
        "arguments": given,
    }


ACTIONS = actions()


@pytest.mark.parametrize(
    ("action", "calls"),
    [
        ({"name": "CLICK", "element": "a12"}, "click('a12')"),
        ({"name": "CLICK", "point": [3, 4.567]}, "mouse_click(3, 4.57)"),
        ({"name": "HOVER", "element": "7"}, "hover('7')"),
        (
            {"name": "TYPE", "element": "7", "arguments": {"value": "x", "press_enter": True}},
            "fill('7', 'x')\npress('7', 'Enter')",
        ),
        (
            {"name": "TYPE", "point": (1, 2), "arguments": {"value": ""}},
            "mouse_click(1, 2)\nkeyboard_press('ControlOrMeta+a')\nkeyboard_press('Delete')",
        ),
        (
            {"name": "SELECT", "element": "7", "arguments": {"value": "It's\n"}},
            "select_option('7', 'It\\'s\\n')",
        ),
        ({"name": "ENTER", "element": "7"}, "press('7', 'Enter')"),
        ({"name": "PRESS", "arguments": {"key": "Escape"}}, "keyboard_press('Escape')"),
        ({"name": "SCROLL", "arguments": {"direction": "up"}}, "scroll(0, -400)"),
        (
            {
                "name": "DRAG",
                "element": "7",
                "box": [0, 0, 4, 6],
                "arguments": {"to_x": 8, "to_y": 9},
            },
            "mouse_drag_and_drop(2.0, 3.0, 8, 9)",
        ),
        (
            {"name": "GOTO", "arguments": {"url": "https://x.invalid/", "new_tab": True}},
            "new_tab()\ngoto('https://x.invalid/')",
        ),
        ({"name": "GO", "arguments": {"direction": "backward"}}, "go_back()"),
        ({"name": "FOCUS_TAB", "arguments": {"index": 1.0}}, "tab_focus(1)"),
        ({"name": "WAIT", "arguments": {"ms": 1e8}}, "noop(10000)"),
        ({"name": "STOP", "arguments": {"answer": "42"}}, "send_msg_to_user('42')"),
        ({"name": "STOP"}, "send_msg_to_user('')"),
        ({"name": "INFEASIBLE", "arguments": {"reason": "no"}}, "report_infeasible('no')"),
    ],
)
def test_actions(action: dict[str, Any], calls: str) -> None:
    assert calls_of(action, SIZE) == calls


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ({"name": "CLICK"}, "needs an element or a point"),
        ({"name": "CLICK", "element": "7') or goto('x"}, "no such element"),
        ({"name": "SELECT", "point": (1, 2), "arguments": {"value": "x"}}, "in an element"),
        ({"name": "GOTO", "arguments": {"url": "file:///etc/passwd"}}, "begins with http"),
        ({"name": "GOTO", "arguments": {"url": "javascript:alert(1)"}}, "begins with http"),
        ({"name": "SCROLL_BY", "arguments": {"delta_x": "7"}}, "lacks a number"),
        ({"name": "CLICK", "point": (float("nan"), 2)}, "lacks a number"),
        ({"name": "PRESS", "arguments": {"key": ""}}, "no name of a key"),
        ({"name": "EVAL", "arguments": {"value": "x"}}, "no such action"),
        ({}, "no such action"),
    ],
)
def test_what_cannot_be_done_says_why(action: dict[str, Any], why: str) -> None:
    with pytest.raises(NotDone, match=why):
        calls_of(action, SIZE)


@settings(max_examples=300)
@given(ACTIONS)
def test_every_action_becomes_calls_that_read_back_as_they_were_composed(
    action: dict[str, Any],
) -> None:
    text = calls_of(action, SIZE)
    names = {line.partition("(")[0] for line in text.split("\n")}
    calls = list(read_calls(source(text), names))
    assert "\n".join(text[call.start : call.end] for call in calls) == text
