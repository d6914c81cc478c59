"""Families of models with the words in their names, and how they write actions: one table.

Calls of functions first, then dictionaries of JSON or Python, which are most.

A family has a grammar (`objects`: JSON or Python dictionaries; `calls`: functions with named
arguments; `words`: OS-Atlas' lines; `tabs`: GELab's fields), the names of its actions, and the keys
of their parts. `parsers.screen.reading` reads, and `parsers.screen.spelling` writes by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from parsers.points import Convention
from parsers.screen import Side

Grammar = Literal["objects", "calls", "words", "tabs"]


class WrittenAction(NamedTuple):
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
        words: words in the names of its models; its own name unless given.
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
        history: what its models are trained to see of earlier steps (`--history`); all actions,
            unless it is known.
        fixed: fields that are written with a value of their own where an action has none.
    """

    name: str
    coordinates: Convention
    actions: tuple[WrittenAction, ...]
    words: tuple[str, ...] = ()
    grammar: Grammar = "objects"
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
    history: str = "all"
    fixed: Mapping[str, str] = field(default_factory=dict)

    def side(self, chosen: Side | None, stored: Side) -> Side:
        """What its words for directions name: as the user has `chosen`, else as the family does.

        `stored` is what the benchmark's files name, for a family that uses their words.
        """
        said = chosen or self.scroll
        return stored if said is None or said == "set" else said


def each(names: str, text: str = "", at: str = "", to: str = "") -> Iterator[WrittenAction]:
    """Yield actions that are written alike: `NATIVE=NAME` each, or one word for both.

    >>> [(said.native, said.name) for said in each("tap=click wait")]
    [('tap', 'click'), ('wait', 'wait')]
    """
    for native, _, name in (one.partition("=") for one in names.split()):
        yield WrittenAction(native, name or native, text, at, to)


def by_value(native: str, key: str, values: str) -> Iterator[WrittenAction]:
    """Yield actions of one native name that the value of a field tells apart: `VALUE=NAME`."""
    for value, _, name in (one.partition("=") for one in values.split()):
        yield WrittenAction(native, name, given={key: value})


def ways(natives: str) -> Iterator[WrittenAction]:
    """Yield scrolls whose native names say the direction: `NATIVE=WAY`."""
    for native, _, way in (one.partition("=") for one in natives.split()):
        yield WrittenAction(native, "scroll", given={"": way})


def _tars(at: str, start: str, to: str) -> tuple[WrittenAction, ...]:
    return (
        *each("click long_press left_double=double_click right_single=right_click", at=at),
        WrittenAction("drag", "drag", at=start, to=to),
        WrittenAction("scroll", "scroll", at=at, to=to),
        WrittenAction("type", "type", "content"),
        WrittenAction("hotkey", "hotkey", "key hotkey"),
        *each("press_back=back press_home=home press_enter=enter press_appselect=recents"),
        WrittenAction("open_app", "open_app", "app_name"),
        WrittenAction("wait", "wait"),
        *each("finished=complete call_user", "content"),
    )


_TARS: Mapping[str, Any] = {
    "opening": "Action: ",
    "newline": True,
    "lead": "Thought: \n",
    "history": "turns:5",
}


def _tool(*more: WrittenAction, swipe: bool = True) -> tuple[WrittenAction, ...]:
    """The actions of `mobile_use`."""
    at = "coordinate"
    return (
        *each("click long_press", at=at),
        *((WrittenAction("swipe", "scroll", at=at, to="coordinate2"),) if swipe else ()),
        *each("type key", "text"),
        *by_value("system_button", "button", "Back=back Home=home Menu=recents Enter=enter"),
        WrittenAction("open", "open_app", "text"),
        WrittenAction("wait", "wait"),
        WrittenAction("answer", "answer", "text"),
        *more,
        *by_value("terminate", "status", "success=complete failure=impossible fail=impossible"),
    )


_TAG: Mapping[str, Any] = {
    "opening": "<tool_call>\n",
    "closing": "\n</tool_call>",
    "wrapped": ("mobile_use", "arguments"),
}
_SWIPES: Mapping[str, Any] = {**_TAG, "swipes": True}

_KEYS = (
    *each("press_enter=enter press_recents=recents"),
    *each("answer ask_user=call_user", "text"),
)
_ENDS = tuple(each("finished=complete impossible"))
_DEVICE = (
    WrittenAction("open_app", "open_app", "text"),
    *each("press_back=back press_home=home"),
    *_KEYS,
    WrittenAction("wait", "wait"),
    *_ENDS,
)
"""Actions that computer tools lack for a device: named alike for all of them."""

_ALL = (
    Family(
        "ui-tars",
        "per-mille",
        _tars("start_box point start_point", "start_box start_point", "end_box end_point"),
        grammar="calls",
        spelled="'<|box_start|>({x},{y})<|box_end|>'",
        **_TARS,
    ),
    Family(
        "ui-tars-1.5",
        "absolute",
        _tars("point start_point start_box", "start_point start_box", "end_point end_box"),
        ("ui-tars-1.5", "seed-1.5"),
        grammar="calls",
        spelled="'<point>{x} {y}</point>'",
        **_TARS,
    ),
    Family(
        "os-atlas-pro",
        "per-mille",
        (
            *each("CLICK=click LONG_PRESS=long_press DOUBLECLICK=double_click", at="point"),
            *each("RIGHTCLICK=right_click MOVETO=hover", at="point"),
            WrittenAction("SCROLL", "scroll"),
            *each("TYPE=type OPEN_APP=open_app HOTKEY=hotkey", "text"),
            *each("PRESS_BACK=back PRESS_HOME=home PRESS_RECENT=recents ENTER=enter"),
            *each("PRESS_ENTER=enter WAIT=wait COMPLETE=complete IMPOSSIBLE=impossible"),
        ),
        ("os-atlas",),
        grammar="words",
        scroll="set",
        opening="actions:\n",
        lead="thoughts:\n",
    ),
    Family(
        "aguvis",
        "unit",
        (
            *each("pyautogui.click=click pyautogui.doubleClick=double_click", at="x,y"),
            *each("pyautogui.rightClick=right_click pyautogui.moveTo=hover", at="x,y"),
            WrittenAction("mobile.long_press", "long_press", at="x,y"),
            WrittenAction("pyautogui.write", "type", "message"),
            WrittenAction("pyautogui.hotkey", "hotkey", "keys"),
            WrittenAction("pyautogui.press", "enter", given={"keys": "enter"}),
            WrittenAction("pyautogui.press", "key", "keys"),
            WrittenAction("mobile.swipe", "scroll", at="from_coord", to="to_coord"),
            *each("pyautogui.scroll=scroll mobile.home=home mobile.back=back"),
            WrittenAction("mobile.open_app", "open_app", "app_name"),
            WrittenAction("mobile.wait", "wait"),
            *by_value("mobile.terminate", "status", "success=complete failure=impossible"),
            WrittenAction("answer", "answer", "text"),
        ),
        grammar="calls",
        way="page",
        swipes=True,
    ),
    Family(
        "ui-venus-navi",
        "absolute",
        (
            *each("Click=click LongPress=long_press", at="box"),
            *each("Drag=drag Scroll=scroll", at="start", to="end"),
            WrittenAction("Type", "type", "content"),
            WrittenAction("Launch", "open_app", "app"),
            WrittenAction("Wait", "wait"),
            *each("Finished=complete CallUser=call_user", "content"),
            *each("PressBack=back PressHome=home PressEnter=enter PressRecent=recents"),
        ),
        ("ui-venus",),
        grammar="calls",
        opening="<action>",
        closing="</action>",
        spelled="({x},{y})",
    ),
    Family(
        "cogagent-9b",
        "per-mille",
        (
            *each("CLICK=click DOUBLE_CLICK=double_click RIGHT_CLICK=right_click", at="box"),
            *each("LONG_PRESS=long_press HOVER=hover", at="box"),
            WrittenAction("TYPE", "type", "text", at="box"),
            *ways("SCROLL_DOWN=down SCROLL_UP=up SCROLL_LEFT=left SCROLL_RIGHT=right"),
            WrittenAction("KEY_PRESS", "key", "key"),
            WrittenAction("LAUNCH", "open_app", "app"),
            WrittenAction("END", "complete"),
        ),
        grammar="calls",
        opening="Grounded Operation: ",
        spelled="[[{x},{y},{x},{y}]]",
    ),
    Family(
        "gelab-zero",
        "per-999",
        (
            *each("CLICK=click LONGPRESS=long_press", at="point"),
            WrittenAction("SLIDE", "scroll", at="point1", to="point2"),
            *each("TYPE=type AWAKE=open_app", "value"),
            WrittenAction("WAIT", "wait"),
            WrittenAction("INFO", "call_user", "value"),
            WrittenAction("COMPLETE", "complete", "return"),
            WrittenAction("ABORT", "impossible"),
        ),
        ("gelab", "step-gui"),
        grammar="tabs",
        swipes=True,
        spelled="{x},{y}",
        fixed={"summary": "done"},
    ),
    Family("qwen2.5-vl", "absolute", _tool(), ("qwen2.5-vl", "qwen2.5vl"), **_SWIPES),
    Family("qwen3-vl", "per-999", _tool(), ("qwen3-vl", "qwen3vl"), **_SWIPES),
    Family("infigui-r1", "absolute", _tool(), ("infigui",), **_SWIPES),
    Family("gui-owl-1.5", "per-mille", _tool(), ("gui-owl",), history="turns:5", **_SWIPES),
    Family(
        "mai-ui",
        "per-999",
        _tool(
            WrittenAction("swipe", "scroll", at="coordinate"),
            WrittenAction("drag", "drag", at="start_coordinate", to="end_coordinate"),
            WrittenAction("ask_user", "call_user", "text"),
            WrittenAction("double_click", "double_click", at="coordinate"),
            swipe=False,
        ),
        scroll=None,
        **_TAG,
        history="turns:3",
    ),
    Family(
        "showui",
        "unit",
        (
            *each("CLICK=click TAP=click LONG_PRESS=long_press HOVER=hover", at="position"),
            WrittenAction("INPUT", "type", "value", at="position"),
            WrittenAction("SWIPE", "scroll", at="position", to="position"),
            WrittenAction("SCROLL", "scroll"),
            WrittenAction("PRESS ENTER", "enter"),
            WrittenAction("ENTER", "enter"),
            WrittenAction("PRESS BACK", "back"),
            WrittenAction("PRESS HOME", "home"),
            WrittenAction("ANSWER", "answer", "value"),
            WrittenAction("STATUS TASK COMPLETE", "complete"),
            WrittenAction("STATUS TASK IMPOSSIBLE", "impossible"),
        ),
        way="value",
        swipes=True,
        quoted=True,
        fixed={"value": "None", "position": "None"},
        history="4",
    ),
    Family(
        "gui-r1",
        "absolute",
        (
            *each("click long_press doubleclick=double_click", at="point"),
            *each("rightclick=right_click moveto=hover", at="point"),
            WrittenAction("type", "type", "input_text"),
            WrittenAction("scroll", "scroll"),
            WrittenAction("open_app", "open_app", "input_text"),
            *each("press_back=back press_home=home press_recent=recents enter wait"),
            *each("complete impossible"),
        ),
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
        "per-mille",
        (
            WrittenAction("POINT", "click", at="POINT"),
            WrittenAction("POINT", "long_press", at="POINT", given={"duration": ">200"}),
            WrittenAction("POINT", "scroll", at="POINT", to="to"),
            WrittenAction("TYPE", "type", "TYPE"),
            *by_value("PRESS", "PRESS", "BACK=back HOME=home ENTER=enter APPSELECT=recents"),
            *by_value("STATUS", "STATUS", "finish=complete satisfied=complete"),
            *by_value("STATUS", "STATUS", "impossible=impossible interrupt=impossible"),
            *by_value("STATUS", "STATUS", "need_feedback=call_user continue=wait start=wait"),
            WrittenAction("duration", "wait", given={"duration": ">0"}),
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
        "per-999",
        (
            *each("click long_press", at="box_2d"),
            WrittenAction("input_text", "type", "text", at="box_2d"),
            *each("keyboard_enter=enter navigate_home=home navigate_back=back"),
            WrittenAction("open_app", "open_app", "app_name"),
            WrittenAction("swipe", "scroll", at="box_2d"),
            WrittenAction("wait", "wait"),
            WrittenAction("answer", "answer", "text"),
            *by_value("status", "goal_status", "complete=complete infeasible=impossible"),
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
        "unit",
        (
            WrittenAction("4", "click", at="click_point"),
            WrittenAction("3", "type", "typed_text"),
            *ways("0=down 1=up 8=left 9=right"),
            *each("5=back 6=home 7=enter 10=complete 11=impossible"),
        ),
        key="action_type",
        spelled="({x},{y})",
        history="4",
    ),
    Family(
        "mimo-vl",
        "absolute",
        (
            *each("click longpress=long_press", at="start_point"),
            *each("scroll drag=scroll", at="start_point", to="end_point"),
            WrittenAction("input", "type", "text"),
            *by_value("press", "keys", "back=back home=home enter=enter appselect=recents"),
            WrittenAction("open", "open_app", "app"),
            WrittenAction("wait", "wait"),
            *by_value("finished", "status", "success=complete failure=impossible"),
        ),
        swipes=True,
    ),
    Family(
        "claude-computer-use",
        "absolute",
        (
            *each("left_click=click double_click right_click mouse_move=hover", at="coordinate"),
            WrittenAction("left_mouse_long_press", "long_press", at="coordinate"),
            WrittenAction("left_click_drag", "drag", at="start_coordinate", to="coordinate"),
            WrittenAction("scroll", "scroll", at="coordinate"),
            *each("type key", "text"),
            *_DEVICE,
        ),
        ("claude",),
        way="scroll_direction",
    ),
    Family(
        "openai-computer",
        "absolute",
        (
            *each("click double_click move=hover long_press scroll", at="x,y"),
            WrittenAction("type", "type", "text"),
            WrittenAction("keypress", "key", "keys"),
            *_DEVICE,
        ),
        ("gpt", "computer-use-preview"),
        key="type",
    ),
    Family(
        "gemini-computer-use",
        "per-mille",
        (
            *each("click_at=click long_press_at=long_press hover_at=hover", at="x,y"),
            WrittenAction("type_text_at", "type", "text", at="x,y"),
            WrittenAction("scroll_at", "scroll", at="x,y"),
            WrittenAction("scroll_document", "scroll"),
            WrittenAction("drag_and_drop", "drag", at="x,y", to="destination_x,destination_y"),
            WrittenAction("key_combination", "key", "keys"),
            WrittenAction("open_app", "open_app", "app_name"),
            *each("go_back=back go_home=home"),
            *_KEYS,
            WrittenAction("wait_5_seconds", "wait"),
            *_ENDS,
        ),
        ("gemini",),
        key="name",
        wrapped=("", "args"),
        submit="press_enter",
    ),
)

FAMILIES: Mapping[str, Family] = {family.name: family for family in _ALL}
