"""The forms of answers with a place: its position in the reply, and its notation.

Locations in function calls: `click(start_box='(1,2)')`, `pyautogui.click(x=0.7, y=0.2)`.

Nothing is evaluated: a call is read token by token, as far as it consists of strings, numbers and
brackets. The number of attempts is limited, and each reads a bounded window.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from parsers.calls import Written, written_calls
from parsers.points import spelling
from parsers.points.lines import as_text, in_boxes, in_fields, in_lines, in_tags, in_text, places_in
from parsers.points.located import Decline, Locate, Located, Numbers, first_of
from parsers.points.objects import declining, in_literals, in_objects
from parsers.points.spelling import Convention
from parsers.reply_text import Source

_TYPED = ("content", "text", "message", "value")
_ACTIONS = {
    **dict.fromkeys(("left_double", "right_single", "left_single", "tap", "long_press"), "CLICK"),
    **dict.fromkeys(("middleclick", "rightclick", "doubleclick", "tripleclick"), "CLICK"),
    **dict.fromkeys(("moveto", "mousemove"), "HOVER"),
    **dict.fromkeys(("write", "typewrite", "input", "input_text"), "TYPE"),
    "select_option": "SELECT",
}
"""Names of functions, and the words for them that `read_operation` knows."""


Placed = Callable[[Written], tuple[tuple[Numbers, ...], bool]]
"""From a call to its places and whether it says none."""


def in_calls(names: str, placed: Placed, *, ahead: str = "", joined: bool = False) -> Locate:
    """Return a reader of calls.

    names: a pattern of the functions' names.
    placed: where the location stands among the arguments.
    ahead: a pattern of what must stand before the call, from the start of its line.
    joined: a call without a location that directly follows one with it (a click, and what is typed
        there) says what is done at that place.
    """
    before = rf"^[^\w\n]{{0,8}}{ahead}[^\w\n]{{0,8}}" if ahead else r"(?<![\w.])"
    pattern = re.compile(rf"{before}({names})\(", re.IGNORECASE | re.MULTILINE)

    def locate(reply: Source) -> list[Located]:
        found: list[Located] = []
        for call in written_calls(reply, pattern):
            places, none = placed(call)
            one = _located(call, places, none)
            last = found[-1] if found else None
            follows = last is not None and not reply.shadow[last.end : call.start].strip(" \n;")
            if joined and last is not None and follows and last.says_where and not one.says_where:
                found[-1] = _joined(last, one)
                continue
            found.append(one)
        return found

    return locate


def _joined(place: Located, later: Located) -> Located:
    """Return a call with a place, and one without that follows it: what is typed there, or the
    click."""
    done = replace(place, end=later.end)
    if later.action in ("TYPE", "type") and place.value is None:
        return replace(done, action=later.action, value=later.value, exact_value=True)
    return replace(done, action=later.action) if place.action == "HOVER" else done


def _located(call: Written, places: tuple[Numbers, ...], none: bool) -> Located:
    name = call.name.rpartition(".")[2].lower()
    positions = [key for key in call.fields if key.isdecimal()]
    typed = [str(call.fields[key]) for key in (*_TYPED, *positions) if key in call.quoted]
    status = call.fields.get("status", call.fields.get("0"))
    return Located(
        call.start,
        call.end,
        places,
        none,
        _ACTIONS.get(name, name),
        typed[0] if typed else None,
        exact_value=bool(typed),
        gives_up=declining(name, status),
        call=True,
    )


def by_keys(*keys: str) -> Placed:
    """Read the location of a call from the first of these arguments that it has."""

    def placed(call: Written) -> tuple[tuple[Numbers, ...], bool]:
        written = next((call.fields[key] for key in keys if key in call.fields), "")
        return places_in(as_text(written))

    return placed


def by_axes(call: Written) -> tuple[tuple[Numbers, ...], bool]:
    """Read the location of a call from `x` and `y`, or from its first two arguments or a pair."""
    first = call.fields.get("0")
    if isinstance(first, list):
        pair = [as_text(first), ""]
    else:
        # x given by position goes with y given by name.
        keys = ("x", "y") if {"x", "y"} <= call.fields.keys() else ("0", "1", "y")
        pair = [as_text(call.fields[key]) for key in keys if key in call.fields][:2]
    places, none = places_in(",".join(pair)) if len(pair) == 2 else ((), False)
    return (places, none) if none or all(len(one) == 2 for one in places) else ((), False)


Form = Literal[
    "plain",
    "seeclick",
    "qwen-vl",
    "qwen2-vl",
    "qwen2.5-vl",
    "qwen3-vl",
    "computer-use",
    "gemini",
    "ui-tars",
    "pyautogui",
    "click-call",
    "point-text",
    "box-text",
    "glm",
    "cogagent",
    "qwen3.5-xml",
    "step",
    "mai",
]
FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True, slots=True)
class PointForm:
    """The notation of places of one kind of model.

    locate: finds the answers in a reply.
    spell: writes one, whose reading gives it back.
    usual: what the numbers of the models mean that the form comes from (see their papers, READMEs
        and guides).
    place: writes a place alone; None for a form whose answers always name an action.
    declines: ways of saying that the element is not there that belong to the form, where a prompt
        does not say which count.
    boxes: whether places stand between the answer tokens of a family, which then stay.
    """

    locate: Locate
    spell: spelling.Speller
    usual: Convention
    place: spelling.PlaceSpeller | None = None
    declines: frozenset[Decline] = frozenset(("words",))
    boxes: bool = False


def _text(
    locate: Locate, usual: Convention, place: spelling.PlaceSpeller, *, boxes: bool = False
) -> PointForm:
    """Return a form whose place is the whole answer, or precedes the lines ACTION and VALUE."""
    return PointForm(locate, spelling.above_lines(place), usual, place, boxes=boxes)


_BOX_TAGS = (("<box>", "</box>"), ("<|box_start|>", "<|box_end|>"))
_POINT_TAGS = (("<point>", "</point>"), ("<bbox>", "</bbox>"))
_ANSWER_TAGS = (("<|begin_of_box|>", "<|end_of_box|>"),)
_TOOL: frozenset[Decline] = frozenset(("words", "wait", "failure"))
_CORNERS = "({x},{y}),({x},{y})"
_SQUARE = "[[{x}, {y}, {x}, {y}]]"
_PYAUTOGUI = (
    r"(?:pyautogui|computer|browser|mobile)\.\w{1,40}|(?:(?:left|right|middle|double|triple)_?)?click"
    r"|tap|moveTo|select_option|(?:type)?write|terminate|wait"
)
_CLICKS = in_calls(_PYAUTOGUI, by_axes)
_JSON = first_of(in_objects(("point_2d", "coordinate"), ("bbox_2d",)), _CLICKS, in_text)

POINT_FORMS: dict[Form, PointForm] = {
    "plain": _text(in_lines, "absolute", spelling.place("{x}, {y}", "ELEMENT: ")),
    "seeclick": PointForm(in_literals, spelling.literal, "unit"),
    "qwen-vl": _text(
        in_tags,
        "per-mille",
        spelling.place(f"<ref>the element</ref><box>{_CORNERS}</box>", "ELEMENT: "),
    ),
    "qwen2-vl": _text(
        in_tags, "per-mille", spelling.place(f"<|box_start|>{_CORNERS}<|box_end|>", "ELEMENT: ")
    ),
    "qwen2.5-vl": PointForm(_JSON, spelling.json_object("point_2d"), "absolute", declines=_TOOL),
    "qwen3-vl": PointForm(_JSON, spelling.json_object("point_2d"), "per-mille", declines=_TOOL),
    "computer-use": PointForm(
        in_objects(("coordinate", "x"), ()),
        spelling.json_object("coordinate", tool="computer"),
        "absolute",
        declines=_TOOL,
    ),
    "gemini": PointForm(
        in_objects(("point",), ("box_2d",), y_first=True),
        spelling.json_object("point", y_first=True),
        "per-mille",
    ),
    "ui-tars": PointForm(
        first_of(
            in_calls(r"\w{1,40}", by_keys("start_box", "point", "start_point")),
            in_boxes(*_POINT_TAGS, *_BOX_TAGS),
            _CLICKS,
            in_text,
        ),
        spelling.start_box,
        "absolute",
        declines=_TOOL,
    ),
    "pyautogui": PointForm(
        in_calls(_PYAUTOGUI, by_axes, joined=True), spelling.pyautogui, "unit", declines=_TOOL
    ),
    "click-call": PointForm(
        in_calls("click|write|type|select", by_axes), spelling.short_call, "absolute"
    ),
    "point-text": _text(
        first_of(in_text, in_boxes(*_POINT_TAGS)), "per-mille", spelling.place("({x}, {y})")
    ),
    "box-text": _text(
        first_of(in_boxes(*_BOX_TAGS, bare=True), in_text),
        "per-mille",
        spelling.place(_SQUARE, "<ref>the element</ref><box>", "</box>"),
    ),
    "glm": _text(
        first_of(
            in_calls(r"\w{1,40}", by_keys("start_box")),
            in_boxes(*_ANSWER_TAGS, bare=True),
            in_objects((), ("box_2d",)),
            in_text,
        ),
        "per-mille",
        spelling.place(_SQUARE, "<|begin_of_box|>", "<|end_of_box|>"),
        boxes=True,
    ),
    "cogagent": PointForm(
        in_calls(r"\w{1,40}", by_keys("box"), ahead="Grounded Operation"),
        spelling.grounded,
        "per-mille",
    ),
    "qwen3.5-xml": PointForm(
        _JSON,
        spelling.parameters,
        "per-mille",
        declines=_TOOL,
    ),
    "step": PointForm(in_fields, spelling.fields, "per-999", spelling.place("{x},{y}", "point:")),
    "mai": PointForm(
        _JSON,
        spelling.json_object("coordinate", tool="mobile_use", around=("<answer>", "</answer>")),
        "per-mille",
        declines=_TOOL,
    ),
}

USUAL: dict[Form, Convention] = {form: row.usual for form, row in POINT_FORMS.items()}
"""The convention of the models that a form comes from."""
FIRST: frozenset[Form] = frozenset(FORMS[:8])
"""The forms whose replies have been read since the second edition of the reading rules
(`parsers.READING`), which knew thoughts between `<think>` tags only."""
