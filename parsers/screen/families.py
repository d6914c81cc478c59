"""How families of models write actions on screens: one table for reading and spelling.

A family has a grammar (`objects`: JSON or Python dictionaries; `calls`: functions with named
arguments; `words`: OS-Atlas' lines; `tabs`: GELab's fields), the names of its actions, and the keys
of their parts. `parsers.screen.reading` interprets the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from parsers.points import Convention
from parsers.screen import Side

Grammar = Literal["objects", "calls", "words", "tabs"]


class Said(NamedTuple):
    """An action as a family writes it.

    native: its name there.
    name: the canonical action.
    text, at, to: keys of its text, its place and the end of a gesture; "" for what it has not. Keys
        with a blank between are looked for in turn, those with a comma are of x and of y.
    given: further fields that tell it from others of the name, and are always written; `>200` is
        any larger number, and "" is the direction that the name itself says.
    """

    native: str
    name: str
    text: str = ""
    at: str = ""
    to: str = ""
    given: Mapping[str, str] = {}


@dataclass(frozen=True)
class Family:
    """A family's way to answer.

    Attributes:
        coordinates: meaning of its numbers, unless the adapter or the user says otherwise.
        scroll: what its words for directions name; `set` for the words of the benchmark's files,
            None where nobody has published it: the user then has to say.
        opening, closing: what stands around an answer; an answer whose closing mark is missing was
            cut off.
        way: the key of a direction.
        key: the key of the action's name in objects.
        quoted: writes dictionaries as Python does.
        wrapped: the key of the arguments, with the name of the tool, of a tool call.
        newline: a text that ends in a line break also presses enter.
        submit: the key that says so.
        swipes: scrolls by gestures, and has no words for directions.
        around: what stands around a dictionary.
        spelled: how a place is written.
        lead: what stands before the opening mark of an answer that has a thought.
        fixed: fields that are written with a value of their own where an action has none.
    """

    name: str
    grammar: Grammar
    coordinates: Convention
    actions: tuple[Said, ...]
    words: tuple[str, ...] = ()
    scroll: Side | Literal["set"] | None = "content"
    opening: str = ""
    closing: str = ""
    way: str = "direction"
    key: str = "action"
    quoted: bool = False
    wrapped: tuple[str, str] | None = None
    newline: bool = False
    submit: str = ""
    swipes: bool = False
    around: str = "{}"
    spelled: str = "[{x}, {y}]"
    lead: str = ""
    fixed: Mapping[str, str] = field(default_factory=dict)


def _tool(*more: Said, open_app: bool = True, swipe: bool = True) -> tuple[Said, ...]:
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
        *((Said("open", "open_app", "text"),) if open_app else ()),
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

_TARS = (
    Said("click", "click", at="start_box point"),
    Said("long_press", "long_press", at="start_box point"),
    Said("left_double", "double_click", at="start_box point"),
    Said("right_single", "right_click", at="start_box point"),
    Said("drag", "drag", at="start_box start_point", to="end_box end_point"),
    Said("scroll", "scroll", at="start_box point start_point", to="end_box end_point"),
    Said("type", "type", "content"),
    Said("hotkey", "hotkey", "key"),
    Said("press_back", "back"),
    Said("press_home", "home"),
    Said("press_enter", "enter"),
    Said("press_appselect", "recents"),
    Said("open_app", "open_app", "app_name"),
    Said("wait", "wait"),
    Said("finished", "complete", "content"),
    Said("call_user", "call_user", "content"),
)

FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family(
            "ui-tars",
            "calls",
            "per-mille",
            _TARS,
            ("ui-tars",),
            opening="Action: ",
            newline=True,
            spelled="'<|box_start|>({x},{y})<|box_end|>'",
            lead="Thought: \n",
        ),
        Family(
            "ui-tars-1.5",
            "calls",
            "absolute",
            tuple(
                one._replace(
                    at=" ".join(reversed(one.at.split())), to=" ".join(reversed(one.to.split()))
                )
                for one in _TARS
            ),
            ("ui-tars-1.5", "seed-1.5"),
            opening="Action: ",
            newline=True,
            spelled="'<point>{x} {y}</point>'",
            lead="Thought: \n",
        ),
        Family(
            "qwen2.5-vl", "objects", "absolute", _tool(), ("qwen2.5-vl", "qwen2.5vl"), **_SWIPES
        ),
        Family("qwen3-vl", "objects", "per-999", _tool(), ("qwen3-vl", "qwen3vl"), **_SWIPES),
        Family("infigui-r1", "objects", "absolute", _tool(), ("infigui",), **_SWIPES),
        Family("gui-owl-1.5", "objects", "per-mille", _tool(), ("gui-owl",), **_SWIPES),
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
        ),
        Family(
            "os-atlas-pro",
            "words",
            "per-mille",
            (
                Said("CLICK", "click", at="point"),
                Said("LONG_PRESS", "long_press", at="point"),
                Said("DOUBLECLICK", "double_click", at="point"),
                Said("RIGHTCLICK", "right_click", at="point"),
                Said("MOVETO", "hover", at="point"),
                Said("SCROLL", "scroll"),
                Said("TYPE", "type", "text"),
                Said("OPEN_APP", "open_app", "text"),
                Said("HOTKEY", "hotkey", "text"),
                Said("PRESS_BACK", "back"),
                Said("PRESS_HOME", "home"),
                Said("PRESS_RECENT", "recents"),
                Said("ENTER", "enter"),
                Said("PRESS_ENTER", "enter"),
                Said("WAIT", "wait"),
                Said("COMPLETE", "complete"),
                Said("IMPOSSIBLE", "impossible"),
            ),
            ("os-atlas",),
            scroll="set",
            opening="actions:\n",
            lead="thoughts:\n",
        ),
        Family(
            "aguvis",
            "calls",
            "unit",
            (
                Said("pyautogui.click", "click", at="x,y"),
                Said("pyautogui.doubleClick", "double_click", at="x,y"),
                Said("pyautogui.rightClick", "right_click", at="x,y"),
                Said("pyautogui.moveTo", "hover", at="x,y"),
                Said("mobile.long_press", "long_press", at="x,y"),
                Said("pyautogui.write", "type", "message"),
                Said("pyautogui.hotkey", "hotkey", "keys"),
                Said("pyautogui.press", "enter", given={"keys": "enter"}),
                Said("pyautogui.press", "key", "keys"),
                Said("mobile.swipe", "scroll", at="from_coord", to="to_coord"),
                Said("pyautogui.scroll", "scroll"),
                Said("mobile.home", "home"),
                Said("mobile.back", "back"),
                Said("mobile.open_app", "open_app", "app_name"),
                Said("mobile.wait", "wait"),
                Said("mobile.terminate", "complete", given={"status": "success"}),
                Said("mobile.terminate", "impossible", given={"status": "failure"}),
                Said("answer", "answer", "text"),
            ),
            ("aguvis",),
            way="page",
            swipes=True,
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
                Said("STATUS", "complete", given={"STATUS": "finish"}),
                Said("STATUS", "impossible", given={"STATUS": "impossible"}),
                Said("STATUS", "call_user", given={"STATUS": "need_feedback"}),
                Said("duration", "wait", given={"duration": "3000"}),
            ),
            ("agentcpm",),
            scroll="finger",
            swipes=True,
            way="to",
            key="",
            spelled="[{x},{y}]",
        ),
        Family(
            "ui-venus-navi",
            "calls",
            "absolute",
            (
                Said("Click", "click", at="box"),
                Said("LongPress", "long_press", at="box"),
                Said("Drag", "drag", at="start", to="end"),
                Said("Scroll", "scroll", at="start", to="end"),
                Said("Type", "type", "content"),
                Said("Launch", "open_app", "app"),
                Said("Wait", "wait"),
                Said("Finished", "complete", "content"),
                Said("CallUser", "call_user", "content"),
                Said("PressBack", "back"),
                Said("PressHome", "home"),
                Said("PressEnter", "enter"),
                Said("PressRecent", "recents"),
            ),
            ("ui-venus",),
            opening="<action>",
            closing="</action>",
            spelled="({x},{y})",
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
            "cogagent-9b",
            "calls",
            "per-mille",
            (
                Said("CLICK", "click", at="box"),
                Said("DOUBLE_CLICK", "double_click", at="box"),
                Said("RIGHT_CLICK", "right_click", at="box"),
                Said("LONG_PRESS", "long_press", at="box"),
                Said("HOVER", "hover", at="box"),
                Said("TYPE", "type", "text", at="box"),
                *(
                    Said(f"SCROLL_{way.upper()}", "scroll", given={"": way})
                    for way in ("down", "up", "left", "right")
                ),
                Said("KEY_PRESS", "key", "key"),
                Said("LAUNCH", "open_app", "app"),
                Said("END", "complete"),
            ),
            ("cogagent-9b",),
            opening="Grounded Operation: ",
            spelled="[[{x},{y},{x},{y}]]",
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
            "gelab-zero",
            "tabs",
            "per-999",
            (
                Said("CLICK", "click", at="point"),
                Said("LONGPRESS", "long_press", at="point"),
                Said("SLIDE", "scroll", at="point1", to="point2"),
                Said("TYPE", "type", "value"),
                Said("AWAKE", "open_app", "value"),
                Said("WAIT", "wait"),
                Said("INFO", "call_user", "value"),
                Said("COMPLETE", "complete", "return"),
                Said("ABORT", "impossible"),
            ),
            ("gelab", "step-gui"),
            swipes=True,
            spelled="{x},{y}",
            fixed={"summary": "done"},
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
                Said("open_app", "open_app", "text"),
                Said("press_back", "back"),
                Said("press_home", "home"),
                Said("press_enter", "enter"),
                Said("press_recents", "recents"),
                Said("answer", "answer", "text"),
                Said("ask_user", "call_user", "text"),
                Said("wait", "wait"),
                Said("finished", "complete"),
                Said("impossible", "impossible"),
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
                Said("open_app", "open_app", "text"),
                Said("press_back", "back"),
                Said("press_home", "home"),
                Said("press_enter", "enter"),
                Said("press_recents", "recents"),
                Said("answer", "answer", "text"),
                Said("ask_user", "call_user", "text"),
                Said("wait", "wait"),
                Said("finished", "complete"),
                Said("impossible", "impossible"),
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
                Said("press_enter", "enter"),
                Said("press_recents", "recents"),
                Said("answer", "answer", "text"),
                Said("ask_user", "call_user", "text"),
                Said("wait_5_seconds", "wait"),
                Said("finished", "complete"),
                Said("impossible", "impossible"),
            ),
            ("gemini",),
            key="name",
            wrapped=("", "args"),
            submit="press_enter",
        ),
    )
}
