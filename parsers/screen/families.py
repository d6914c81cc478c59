"""Forms of model families for actions on screens: one table for reading and spelling.

A family has a grammar (`objects`: JSON or Python dictionaries; `calls`: functions with named
arguments; `words`: OS-Atlas' lines; `tabs`: GELab's fields), the names of its actions, and the keys
of their parts. `parsers.screen.reading` interprets the table. The families that answer with
dictionaries are in `parsers.screen.object_families`, with all of them by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

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
            None where no one has published it: the user then has to say.
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
        fixed: fields that are written with their own value where an action has none.
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
    history: str = "all"
    fixed: Mapping[str, str] = field(default_factory=dict)

    def side(self, chosen: Side | None, stored: Side) -> Side:
        """Meaning of its words for directions: as the user has `chosen`, else as the family does.

        `stored` is what the benchmark's files name, for a family that uses their words.
        """
        said = chosen or self.scroll
        return stored if said is None or said == "set" else said


_TARS = (
    Said("click", "click", at="start_box point start_point"),
    Said("long_press", "long_press", at="start_box point start_point"),
    Said("left_double", "double_click", at="start_box point start_point"),
    Said("right_single", "right_click", at="start_box point start_point"),
    Said("drag", "drag", at="start_box start_point", to="end_box end_point"),
    Said("scroll", "scroll", at="start_box point start_point", to="end_box end_point"),
    Said("type", "type", "content"),
    Said("hotkey", "hotkey", "key hotkey"),
    Said("press_back", "back"),
    Said("press_home", "home"),
    Said("press_enter", "enter"),
    Said("press_appselect", "recents"),
    Said("open_app", "open_app", "app_name"),
    Said("wait", "wait"),
    Said("finished", "complete", "content"),
    Said("call_user", "call_user", "content"),
)


def _points_first(keys: str) -> str:
    """Return keys of places with `point` before `start_box`, the first of which is written."""
    return " ".join(sorted(keys.split(), key=lambda key: (key.endswith("_box"), len(key))))


CALL_FAMILIES: tuple[Family, ...] = (
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
        history="turns:5",
    ),
    Family(
        "ui-tars-1.5",
        "calls",
        "absolute",
        tuple(one._replace(at=_points_first(one.at), to=_points_first(one.to)) for one in _TARS),
        ("ui-tars-1.5", "seed-1.5"),
        opening="Action: ",
        newline=True,
        spelled="'<point>{x} {y}</point>'",
        lead="Thought: \n",
        history="turns:5",
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
)
