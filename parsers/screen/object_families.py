"""Families of models that answer with dictionaries, of JSON or of Python, and all by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parsers.screen.families import CALL_FAMILIES, Family, Said


def _tool(*more: Said, swipe: bool = True) -> tuple[Said, ...]:
    """The actions of `mobile_use`."""
    at = "coordinate"
    return (
        Said("click", "click", at=at),
        Said("long_press", "long_press", at=at),
        *((Said("swipe", "scroll", at=at, to="coordinate2"),) if swipe else ()),
        Said("type", "type", "text"),
        Said("key", "key", "text"),
        *(
            Said("system_button", name, given={"button": button})
            for name, button in (
                ("back", "Back"),
                ("home", "Home"),
                ("recents", "Menu"),
                ("enter", "Enter"),
            )
        ),
        Said("open", "open_app", "text"),
        Said("wait", "wait"),
        Said("answer", "answer", "text"),
        *more,
        Said("terminate", "complete", given={"status": "success"}),
        Said("terminate", "impossible", given={"status": "failure"}),
        Said("terminate", "impossible", given={"status": "fail"}),
    )


_TAG: Mapping[str, Any] = {
    "opening": "<tool_call>\n",
    "closing": "\n</tool_call>",
    "wrapped": ("mobile_use", "arguments"),
}
_SWIPES: Mapping[str, Any] = {**_TAG, "swipes": True}

_KEYS = (
    Said("press_enter", "enter"),
    Said("press_recents", "recents"),
    Said("answer", "answer", "text"),
    Said("ask_user", "call_user", "text"),
)
_ENDS = (Said("finished", "complete"), Said("impossible", "impossible"))
_DEVICE = (
    Said("open_app", "open_app", "text"),
    Said("press_back", "back"),
    Said("press_home", "home"),
    *_KEYS,
    Said("wait", "wait"),
    *_ENDS,
)
"""Actions that computer tools lack for a device: named alike for all of them."""

OBJECT_FAMILIES: tuple[Family, ...] = (
    Family("qwen2.5-vl", "objects", "absolute", _tool(), ("qwen2.5-vl", "qwen2.5vl"), **_SWIPES),
    Family("qwen3-vl", "objects", "per-999", _tool(), ("qwen3-vl", "qwen3vl"), **_SWIPES),
    Family("infigui-r1", "objects", "absolute", _tool(), ("infigui",), **_SWIPES),
    Family(
        "gui-owl-1.5", "objects", "per-mille", _tool(), ("gui-owl",), history="turns:5", **_SWIPES
    ),
    Family(
        "mai-ui",
        "objects",
        "per-999",
        _tool(
            Said("swipe", "scroll", at="coordinate"),
            Said("drag", "drag", at="start_coordinate", to="end_coordinate"),
            Said("ask_user", "call_user", "text"),
            Said("double_click", "double_click", at="coordinate"),
            swipe=False,
        ),
        ("mai-ui",),
        scroll=None,
        **_TAG,
        history="turns:3",
    ),
    Family(
        "showui",
        "objects",
        "unit",
        (
            Said("CLICK", "click", at="position"),
            Said("TAP", "click", at="position"),
            Said("LONG_PRESS", "long_press", at="position"),
            Said("HOVER", "hover", at="position"),
            Said("INPUT", "type", "value", at="position"),
            Said("SWIPE", "scroll", at="position", to="position"),
            Said("SCROLL", "scroll"),
            Said("PRESS ENTER", "enter"),
            Said("ENTER", "enter"),
            Said("PRESS BACK", "back"),
            Said("PRESS HOME", "home"),
            Said("ANSWER", "answer", "value"),
            Said("STATUS TASK COMPLETE", "complete"),
            Said("STATUS TASK IMPOSSIBLE", "impossible"),
        ),
        ("showui",),
        way="value",
        swipes=True,
        quoted=True,
        fixed={"value": "None", "position": "None"},
        history="4",
    ),
    Family(
        "gui-r1",
        "objects",
        "absolute",
        (
            Said("click", "click", at="point"),
            Said("long_press", "long_press", at="point"),
            Said("doubleclick", "double_click", at="point"),
            Said("rightclick", "right_click", at="point"),
            Said("moveto", "hover", at="point"),
            Said("type", "type", "input_text"),
            Said("scroll", "scroll"),
            Said("open_app", "open_app", "input_text"),
            Said("press_back", "back"),
            Said("press_home", "home"),
            Said("press_recent", "recents"),
            Said("enter", "enter"),
            Said("wait", "wait"),
            Said("complete", "complete"),
            Said("impossible", "impossible"),
        ),
        ("gui-r1",),
        around="[{}]",
        scroll="set",
        opening="<answer>",
        closing="</answer>",
        way="input_text",
        quoted=True,
        fixed={"point": "[-100, -100]", "input_text": "'no input text'"},
    ),
    Family(
        "agentcpm-gui",
        "objects",
        "per-mille",
        (
            Said("POINT", "click", at="POINT"),
            Said("POINT", "long_press", at="POINT", given={"duration": ">200"}),
            Said("POINT", "scroll", at="POINT", to="to"),
            Said("TYPE", "type", "TYPE"),
            Said("PRESS", "back", given={"PRESS": "BACK"}),
            Said("PRESS", "home", given={"PRESS": "HOME"}),
            Said("PRESS", "enter", given={"PRESS": "ENTER"}),
            Said("PRESS", "recents", given={"PRESS": "APPSELECT"}),
            *(
                Said("STATUS", name, given={"STATUS": status})
                for name, status in (
                    ("complete", "finish"),
                    ("complete", "satisfied"),
                    ("impossible", "impossible"),
                    ("impossible", "interrupt"),
                    ("call_user", "need_feedback"),
                    ("wait", "continue"),
                    ("wait", "start"),
                )
            ),
            Said("duration", "wait", given={"duration": ">0"}),
        ),
        ("agentcpm",),
        scroll="finger",
        swipes=True,
        way="to",
        key="",
        spelled="[{x},{y}]",
        history="none",
    ),
    Family(
        "glm-v",
        "objects",
        "per-999",
        (
            Said("click", "click", at="box_2d"),
            Said("long_press", "long_press", at="box_2d"),
            Said("input_text", "type", "text", at="box_2d"),
            Said("keyboard_enter", "enter"),
            Said("navigate_home", "home"),
            Said("navigate_back", "back"),
            Said("open_app", "open_app", "app_name"),
            Said("swipe", "scroll", at="box_2d"),
            Said("wait", "wait"),
            Said("answer", "answer", "text"),
            Said("status", "complete", given={"goal_status": "complete"}),
            Said("status", "impossible", given={"goal_status": "infeasible"}),
        ),
        ("glm-4.5v", "glm-4.6v", "glm-v"),
        scroll="finger",
        key="action_type",
        spelled="[[{x}, {y}, {x}, {y}]]",
        opening="<|begin_of_box|>",
        closing="<|end_of_box|>",
    ),
    Family(
        "seeclick",
        "objects",
        "unit",
        (
            Said("4", "click", at="click_point"),
            Said("3", "type", "typed_text"),
            *(
                Said(number, "scroll", given={"": way})
                for number, way in (("0", "down"), ("1", "up"), ("8", "left"), ("9", "right"))
            ),
            Said("5", "back"),
            Said("6", "home"),
            Said("7", "enter"),
            Said("10", "complete"),
            Said("11", "impossible"),
        ),
        ("seeclick",),
        key="action_type",
        spelled="({x},{y})",
        history="4",
    ),
    Family(
        "mimo-vl",
        "objects",
        "absolute",
        (
            Said("click", "click", at="start_point"),
            Said("longpress", "long_press", at="start_point"),
            Said("scroll", "scroll", at="start_point", to="end_point"),
            Said("drag", "scroll", at="start_point", to="end_point"),
            Said("input", "type", "text"),
            Said("press", "back", given={"keys": "back"}),
            Said("press", "home", given={"keys": "home"}),
            Said("press", "enter", given={"keys": "enter"}),
            Said("press", "recents", given={"keys": "appselect"}),
            Said("open", "open_app", "app"),
            Said("wait", "wait"),
            Said("finished", "complete", given={"status": "success"}),
            Said("finished", "impossible", given={"status": "failure"}),
        ),
        ("mimo-vl",),
        swipes=True,
    ),
    Family(
        "claude-computer-use",
        "objects",
        "absolute",
        (
            Said("left_click", "click", at="coordinate"),
            Said("double_click", "double_click", at="coordinate"),
            Said("right_click", "right_click", at="coordinate"),
            Said("mouse_move", "hover", at="coordinate"),
            Said("left_mouse_long_press", "long_press", at="coordinate"),
            Said("left_click_drag", "drag", at="start_coordinate", to="coordinate"),
            Said("scroll", "scroll", at="coordinate"),
            Said("type", "type", "text"),
            Said("key", "key", "text"),
            *_DEVICE,
        ),
        ("claude",),
        way="scroll_direction",
    ),
    Family(
        "openai-computer",
        "objects",
        "absolute",
        (
            Said("click", "click", at="x,y"),
            Said("double_click", "double_click", at="x,y"),
            Said("move", "hover", at="x,y"),
            Said("long_press", "long_press", at="x,y"),
            Said("scroll", "scroll", at="x,y"),
            Said("type", "type", "text"),
            Said("keypress", "key", "keys"),
            *_DEVICE,
        ),
        ("gpt", "computer-use-preview"),
        key="type",
    ),
    Family(
        "gemini-computer-use",
        "objects",
        "per-mille",
        (
            Said("click_at", "click", at="x,y"),
            Said("long_press_at", "long_press", at="x,y"),
            Said("hover_at", "hover", at="x,y"),
            Said("type_text_at", "type", "text", at="x,y"),
            Said("scroll_at", "scroll", at="x,y"),
            Said("scroll_document", "scroll"),
            Said("drag_and_drop", "drag", at="x,y", to="destination_x,destination_y"),
            Said("key_combination", "key", "keys"),
            Said("open_app", "open_app", "app_name"),
            Said("go_back", "back"),
            Said("go_home", "home"),
            *_KEYS,
            Said("wait_5_seconds", "wait"),
            *_ENDS,
        ),
        ("gemini",),
        key="name",
        wrapped=("", "args"),
        submit="press_enter",
    ),
)

FAMILIES: Mapping[str, Family] = {
    family.name: family for family in (*CALL_FAMILIES, *OBJECT_FAMILIES)
}
