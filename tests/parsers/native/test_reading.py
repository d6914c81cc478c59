"""Calls as predictions: what is written is read back, and no call is a traceback."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from parsers.actions import Action
from parsers.native import ToolAct, ToolUse, vendors
from parsers.native.reading import as_place, as_screen_step, folded, reply_acts, text_only
from parsers.native.spelling import (
    Write,
    browser_toolset,
    computer,
    computer_toolset,
    gemini_browser,
    gemini_mobile,
    qwen_computer,
    qwen_mobile,
    spelled,
)
from parsers.native.tools import MOST_ACTS, QWEN, Read, acts_of
from parsers.native.toolsets import toolset
from parsers.records import Status
from parsers.screen import Point, several

SIZE = (1000, 2000)
FORMS: dict[str, tuple[Read | None, Write | None, bool]] = {
    "computer_use": (None, qwen_computer, False),
    "mobile_use": (None, qwen_mobile, True),
    "phone": (None, None, True),
    "computer": (None, None, False),
    "openai": (vendors.computer, computer, False),
    "openai-phone": (vendors.computer, computer, True),
    "anthropic": (toolset, computer_toolset, False),
    "browser": (toolset, browser_toolset, False),
    "gemini-browser": (vendors.gemini, gemini_browser, False),
    "gemini-browser-phone": (vendors.gemini, gemini_browser, True),
    "gemini-mobile": (vendors.gemini, gemini_mobile, True),
}
ENDS = {"answer", "finish"}
BESIDE = {"long_press", "open_app", "press_back", "press_home", "press_recents", *ENDS}
OWN = {
    *("click", "double_click", "right_click", "move", "drag", "scroll", "type", "press_keys"),
    *("wait", *BESIDE),
}
"""Functions of our own: those that stand beside a tool, and all that stand alone."""
FUNCTIONS = {*OWN, *QWEN}
AT = (250.0, 500.0)
EVERYWHERE = [
    Action("click", point=AT),
    Action("type", arguments={"text": 'a "b"\n'}),
    Action("scroll", arguments={"direction": "down"}),
    Action("scroll", arguments={"direction": "left"}),
    Action("enter"),
    Action("wait"),
    Action("complete"),
    Action("impossible"),
    Action("answer", arguments={"text": "4"}),
]
PHONES = [
    Action("long_press", point=AT),
    Action("open_app", arguments={"text": "Clock"}),
    *(Action(name) for name in ("back", "home", "recents")),
]
COMPUTERS = [
    *(Action(name, point=AT) for name in ("double_click", "right_click", "hover")),
    Action("drag", point=AT, arguments={"to_x": 700.0, "to_y": 900.0}),
    Action("key", arguments={"text": "tab"}),
    Action("hotkey", arguments={"text": "ctrl+s"}),
]


def inside(point: Point) -> Point | None:
    return point if 0 <= point[0] <= SIZE[0] and 0 <= point[1] <= SIZE[1] else None


def same(point: Point) -> Point:
    return point


def step(calls: list[ToolUse], read: Read | None, *, phone: bool, script: bool = False) -> Any:
    turn = reply_acts(acts_of(calls, read, FUNCTIONS), frozenset(), inside, script=script)
    return as_screen_step(turn, "turn", phone=phone, script=script)


def without_ends(action: Action | None) -> Any:
    """An action as a rule sees it: a scroll is a direction."""
    assert action is not None
    if action.name == "scroll":
        return action.name, action.arguments["direction"]
    return action


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_is_read_back(form: str) -> None:
    read, spell, phone = FORMS[form]
    for action in EVERYWHERE + (PHONES if phone else COMPUTERS):
        calls = spelled(action, spell, same, SIZE, BESIDE if spell else OWN)
        assert calls is not None, action
        found = step(calls, read, phone=phone)
        assert found.status is Status.ANSWERED
        assert without_ends(found.action) == without_ends(action), (form, action)


@pytest.mark.parametrize("form", ["computer_use", "computer"])
def test_scripts_are_read_back(form: str) -> None:
    read, spell, _ = FORMS[form]
    script = several([Action("click", point=AT), Action("key", arguments={"text": "tab"})])
    calls = spelled(script, spell, same, SIZE, OWN)
    assert calls is not None
    assert step(calls, read, phone=False, script=True).action == script


def test_what_a_tool_cannot_say_is_not_written() -> None:
    assert spelled(Action("home"), qwen_computer, same, SIZE, ENDS) is None
    assert spelled(Action("drag", point=AT), None, same, SIZE, OWN) is None


@pytest.mark.parametrize("spell", [computer, computer_toolset, gemini_browser, gemini_mobile])
@pytest.mark.parametrize("name", ["complete", "impossible", "answer", "home", "recents"])
def test_only_functions_that_are_offered_are_written(spell: Write, name: str) -> None:
    action = Action(name, arguments={"text": "4"} if name == "answer" else {})
    assert spelled(action, spell, same, SIZE, ()) is None
    both = several([Action("click", point=AT), action])
    assert spelled(both, spell, same, SIZE, ()) is None
    written = spelled(action, spell, same, SIZE, BESIDE)
    assert written is not None and written[0].name in BESIDE


GEMINI: list[tuple[str, dict[str, Any], str, set[str]]] = [
    ("click_at", {"x": 250, "y": 500}, "click", set()),
    ("double_click", {"x": 250, "y": 500}, "double_click", set()),
    ("triple_click", {"x": 250, "y": 500}, "double_click", {"mapped_operation"}),
    ("hover_at", {"x": 250, "y": 500}, "hover", set()),
    ("type", {"text": "a", "press_enter": True}, "type", set()),
    ("type_text_at", {"x": 250, "y": 500, "text": "a"}, "type", {"default_enter"}),
    ("type", {"text": "a", "press_enter": "yes"}, "parse_error", {"malformed_call"}),
    ("scroll_document", {"direction": "down"}, "scroll", set()),
    ("scroll", {"x": 1, "y": 1, "direction": "in"}, "parse_error", {"malformed_call"}),
    ("key_combination", {"keys": "control+a"}, "hotkey", set()),
    ("hotkey", {"keys": ["Control", "A"]}, "hotkey", set()),
    ("press_key", {"key": "+"}, "key", set()),
    ("press_key", {"key": 5}, "parse_error", {"malformed_call"}),
    ("wait_5_seconds", {}, "wait", set()),
    ("go_back", {}, "back", set()),
    ("search", {}, "no_element", {"other_action"}),
    ("click", {"x": 1, "y": 1, "safety_decision": {"decision": "x"}}, "click", {"safety_check"}),
    (
        "drag_and_drop",
        {"x": 250, "y": 500, "destination_x": 700, "destination_y": 900},
        "drag",
        set(),
    ),
    (
        "drag_and_drop",
        {"start_x": 250, "start_y": 500, "end_x": 700, "end_y": 900},
        "drag",
        set(),
    ),
]


@pytest.mark.parametrize(("name", "fields", "expected", "flags"), GEMINI)
def test_both_vocabularies_of_gemini_are_read(
    name: str, fields: dict[str, Any], expected: str, flags: set[str]
) -> None:
    found = step([ToolUse(name, fields)], vendors.gemini, phone=False)
    assert (found.action.name if found.action else str(found.status)) == expected
    assert set(found.flags) == flags
    if expected == "drag":
        assert found.action.arguments == {"to_x": 700.0, "to_y": 900.0}


def test_a_button_that_comes_up_elsewhere_is_a_drag() -> None:
    calls = [ToolUse("mouse_down", {"x": 1, "y": 1}), ToolUse("mouse_up", {"x": 9, "y": 1})]
    assert step(calls, vendors.gemini, phone=False).action.name == "drag"


def test_typing_at_a_place_points_there() -> None:
    said = acts_of([ToolUse("type_text_at", {"x": 1, "y": 1, "text": "a"})], vendors.gemini, ())
    found = as_place(reply_acts(said, frozenset(), inside))
    assert found.action == Action("click", point=(1.0, 1.0)) and found.flags == ()


def qwen(**fields: Any) -> ToolUse:
    return ToolUse("computer_use", fields)


@pytest.mark.parametrize(
    ("call", "status", "flag"),
    [
        (qwen(action="left_click", coordinate=[math.nan, 5]), "parse_error", "malformed_call"),
        (qwen(action="left_click", coordinate=[5]), "parse_error", "malformed_call"),
        (qwen(action="left_click", coordinate=[True, 5]), "parse_error", "malformed_call"),
        (qwen(action="left_click", coordinate=["x", 5]), "parse_error", "malformed_call"),
        (qwen(action="left_click", coordinate=[10**400, 5]), "parse_error", "malformed_call"),
        (qwen(action="left_click", coordinate={"x": 5}), "parse_error", "malformed_call"),
        (qwen(action="left_click", coordinate=[1001, 5]), "out_of_range", None),
        (qwen(action="left_click"), "no_element", "no_place"),
        (qwen(action="left_click", coordinate=["250", 500]), "answered", "text_number"),
        (qwen(action="left_click", coordinate=[250.5, 500]), "answered", "fraction"),
        (qwen(action=7), "parse_error", "malformed_call"),
        (qwen(action="type"), "parse_error", "malformed_call"),
        (qwen(action="wait", time="long"), "parse_error", "malformed_call"),
        (ToolUse("computer_use", "{"), "parse_error", "malformed_call"),
        (ToolUse("computer_use", None), "parse_error", "malformed_call"),
        (qwen(action="key", keys=[5]), "parse_error", "malformed_call"),
        (qwen(action="terminate", status="soon"), "parse_error", "malformed_call"),
    ],
)
def test_calls_that_are_wrong_are_one_status(call: ToolUse, status: str, flag: str | None) -> None:
    found = step([call], None, phone=False)
    assert str(found.status) == status
    assert flag is None or flag in found.flags


def test_a_million_calls_are_not_all_read() -> None:
    calls = [qwen(action="left_click", coordinate=[1, 1])] * 1_000_000
    assert len(acts_of(calls, None, QWEN)) == MOST_ACTS


NO_NUMBERS: list[Any] = [math.nan, math.inf, 10**400, True, None, "x", [], {}]


@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize(
    ("read", "made"),
    [
        (vendors.computer, lambda one: ToolUse("computer", {"actions": [clicked(one)]})),
        (toolset, lambda one: ToolUse("computer.left_click", {"coordinate": [one, 5]})),
        (vendors.gemini, lambda one: ToolUse("click", {"x": one, "y": 5})),
        (vendors.gemini, lambda one: ToolUse("drag_and_drop", {"start_x": one, "start_y": 5})),
    ],
)
def test_places_of_vendors_that_are_no_numbers_are_malformed(
    read: Read, made: Callable[[Any], ToolUse], value: Any
) -> None:
    for phone in (False, True):
        found = step([made(value)], read, phone=phone)
        assert (found.status, found.flags) == (Status.PARSE_ERROR, ("malformed_call",))


@pytest.mark.parametrize("arguments", [None, 5, "x", [], {"actions": 5}, {"actions": [5]}])
@pytest.mark.parametrize(
    ("read", "name"),
    [
        (vendors.computer, "computer"),
        (toolset, "computer.left_click_drag"),
        (vendors.gemini, "type_text_at"),
    ],
)
def test_arguments_of_vendors_of_any_type_are_one_status(
    read: Read, name: str, arguments: Any
) -> None:
    assert step([ToolUse(name, arguments)], read, phone=False).status is Status.PARSE_ERROR


def clicked(x: Any) -> dict[str, Any]:
    return {"type": "click", "button": "left", "x": x, "y": 5}


def test_a_million_actions_of_a_call_are_not_all_read() -> None:
    call = ToolUse("computer", {"actions": [clicked(1)] * 1_000_000})
    assert len(acts_of([call], vendors.computer, ())) == MOST_ACTS
    pressed = ToolUse("computer.key", {"text": "a", "repeat": 10**9})
    assert len(acts_of([pressed], toolset, ())) == 1


def test_names_that_no_tool_has_are_looks() -> None:
    for call in (ToolUse("rm", {}), qwen(action="fly"), ToolUse("", {})):
        acts = acts_of([call], None, QWEN)
        assert acts[0].wrong and not reply_acts(acts, frozenset(), inside).acts


def press(x: float) -> ToolAct:
    return ToolAct("press", (x, 1.0), text="left")


KEYS = ToolAct("keys", text="ctrl+a")
TYPE = ToolAct("type", text="a")


@pytest.mark.parametrize(
    ("acts", "words"),
    [
        ([press(1), TYPE], ["type"]),
        ([press(1), KEYS, TYPE], ["type"]),
        ([press(1), KEYS, ToolAct("keys", text="delete"), TYPE], ["type"]),
        ([TYPE, ToolAct("keys", text="enter")], ["type"]),
        ([press(1), ToolAct("keys", text="enter")], ["press", "keys"]),
        ([press(1), press(2), TYPE], ["press", "type"]),
        ([KEYS, TYPE], ["keys", "type"]),
        ([press(1), KEYS], ["press", "keys"]),
    ],
)
def test_acts_that_belong_together_are_folded(acts: list[ToolAct], words: list[str]) -> None:
    assert [act.word for act in folded(acts)] == words


def test_buttons_that_go_down_and_up() -> None:
    down, up = ToolAct("down"), ToolAct("up")
    still = [ToolAct("hover", AT), down, up]
    held = [ToolAct("hover", AT), down, ToolAct("wait", seconds=1), up]
    moved = [ToolAct("hover", AT), down, ToolAct("hover", (400, 500)), up]
    for acts, word in ((still, "press"), (held, "long"), (moved, "drag")):
        [act] = reply_acts(acts, frozenset(), inside).acts
        assert (act.word, act.at, set(act.flags)) == (word, AT, {"hovered"})


def test_a_press_without_a_place_takes_the_pointers() -> None:
    first = reply_acts([press(7)], frozenset(), inside)
    second = reply_acts([ToolAct("press", text="left")], frozenset(), inside, first.pointer)
    assert as_place(second).point == (7.0, 1.0)


@pytest.mark.parametrize(
    ("text", "finish", "status", "flags"),
    [
        ("NONE", "stop", "none", ()),
        ("**None.**", "stop", "none", ()),
        ("None of them at (5, 5)", "stop", "parse_error", ("text_only",)),
        ("I'm sorry, but I cannot help.", "stop", "refusal", ("text_only",)),
        ("", "stop", "empty", ()),
        ("I will", "length", "truncated", ()),
        ("", "content_filter", "content_filter", ()),
        ("NONE", "refusal", "refusal", ()),
    ],
)
def test_words_alone(text: str, finish: str, status: str, flags: tuple[str, ...]) -> None:
    found = text_only(text, finish, declines=True)
    assert (str(found.status), found.flags) == (status, flags)


def test_words_end_a_task_only_where_tasks_end() -> None:
    found = text_only("The alarm is set.", "stop", ends=True)
    assert (found.action, found.flags) == (Action("complete"), ("text_end",))
