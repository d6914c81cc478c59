"""The forms of answers with a place: its position in the reply, and its notation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from parsers.points import spelling
from parsers.points.calls import by_axes, by_keys, in_calls
from parsers.points.lines import in_boxes, in_fields, in_lines, in_tags, in_text
from parsers.points.located import Decline, Locate, first_of
from parsers.points.objects import in_literals, in_objects, in_parameters
from parsers.points.spelling import Convention

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
_JSON = in_objects(("point_2d", "coordinate"), ("bbox_2d",))

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
    "point-text": _text(in_text, "per-mille", spelling.place("({x}, {y})")),
    "box-text": _text(
        in_boxes(*_BOX_TAGS, bare=True),
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
        first_of(in_parameters(("coordinate", "point_2d"), ("bbox_2d",)), _JSON),
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
