"""Parse answers by coordinates.

The reader of each form is strict about where a location may stand, and lenient about fences, prose,
tags and thinking around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Literal, get_args

from parsers.calls import Written, written_calls
from parsers.plans import choose_answer
from parsers.points import spelling
from parsers.points.objects import (
    as_text,
    declining,
    in_boxes,
    in_fields,
    in_lines,
    in_literals,
    in_objects,
    in_tags,
    in_text,
    places_in,
)
from parsers.points.spelling import Convention, Decline, Locate, Located, Numbers, first_of
from parsers.records import Operation, Status
from parsers.reply_text import Nothing, ReplyText, Source, open_reply, refuses
from parsers.values import OperationReading, read_operation, said_value, taken_value

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
    "qwen3.5-xml": PointForm(_JSON, spelling.parameters, "per-mille", declines=_TOOL),
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


_CLASSES: dict[str, Operation] = {"4": "CLICK", "3": "TYPE", "2": "SELECT"}
_THOUGHT = re.compile(r"[\s*_#]{0,8}Thought[\s*_]{0,4}:", re.IGNORECASE)
_AFTER_THOUGHT = re.compile(
    r"^[ \t*_#>]{0,8}(?:(?:final\s)?answer|action|code|grounded\soperation|element|coordinates?"
    r"|point|position|location|box)[ *_]{0,4}:"
    r"|^[ \t]{0,4}(?:```|[(\[<{]|[\w.]{1,40}\()",
    re.IGNORECASE | re.MULTILINE,
)
_NOT = r"(?:(?:is|are|was|were|does|do|did|can|could)\snot|\w{2,5}n't|can't|cannot|unable\sto|not)"
_THERE = (
    r"(?:exist\w*|present|visible|found|find|locate|shown|available|there|match\w*|fits?"
    r"|on\sthe\s(?:screen|page|picture|image|screenshot))\b"
)
_ABSENT = re.compile(
    rf"\b{_NOT}\s(?:(?:appear\sto|seem\sto)\s)?(?:\w{{1,12}}\s)?{_THERE}"
    rf"|\bno\s(?:\w{{1,15}}\s){{1,5}}{_THERE}|\bno\s(?:such|matching|corresponding)\s\w"
    r"|\bthere(?:'s|\s(?:is|are))\sno\b|\bis\s(?:missing|absent)\b"
    r"|\b(?:infeasible|non-?existent)\b",
    re.IGNORECASE,
)
_ENOUGH = 2_000


@dataclass(frozen=True, slots=True)
class PointAnswer:
    """The parsed content of one reply, in the model's own coordinates.

    status: `answered` with a point, `none` if the model said so, `no_element` for an answer without
        a location, `ambiguous` for one with several, else why nothing could be parsed.
    point: (x, y); the centre if the model gave a box.
    box: (left, top, right, bottom) if the model gave one.
    """

    status: Status
    point: tuple[float, float] | None = None
    box: tuple[float, float, float, float] | None = None
    operation: Operation | None = None
    value: str = ""
    flags: tuple[str, ...] = ()


def read_point(
    text: str,
    form: Form,
    *,
    finish: str = "stop",
    place_only: bool = False,
    declines: Collection[Decline] = (),
) -> PointAnswer:
    """Parse a reply in a form. No text raises an exception, and parsing takes linear time.

    Of several answers one counts (see `plans`), flagged `multiple`; several locations in one answer
    (a list of boxes, for example) are `ambiguous`. `finish` is as in `read_answer`: of a reply that
    was cut off (`length`) only complete answers count.

    Args:
        text: the reply.
        form: how the model was asked to answer.
        finish: how the reply ended.
        place_only: whether only a place was asked for: no action is read or needed, and of several
            answers the last counts.
        declines: further ways to say that the element is not there, besides the form's own.

    >>> read_point('{"action_type": 4, "click_point": (0.17,0.06)}', "seeclick").point
    (0.17, 0.06)
    >>> read_point("[-1,-1]", "point-text", place_only=True, declines=("minus-one",)).status.value
    'none'

    Raises `ValueError` for an unknown `finish`.
    """
    in_full = place_only or form not in FIRST
    rules = POINT_FORMS[form]
    reply = open_reply(text, finish, boxes=rules.boxes)
    if isinstance(reply, Nothing):
        return PointAnswer(reply.status, flags=reply.flags)
    if (
        place_only
        and (inside := reply.inside)
        and any(one.says_where for one in rules.locate(inside))
    ):
        reply = inside
    if in_full and (thought := _THOUGHT.match(reply.shadow)):
        ended = _AFTER_THOUGHT.search(reply.shadow, thought.end())
        if ended is None:
            return PointAnswer(Status.TRUNCATED)
        reply = reply.behind(ended.start())
    answers = [_agreed(one, declines, in_full) for one in rules.locate(reply)]

    def is_whole(answer: Located) -> bool:
        if place_only:
            return not reply.cut or (answer.says_where and not _may_go_on(answer, reply))
        operation = _operation(answer, form)
        takes_value = operation.operation in ("TYPE", "SELECT")
        return not reply.cut or (operation.readable and (answer.finished or not takes_value))

    def fullness(answer: Located) -> int:
        return answer.says_where if place_only else answer.fullness

    parts = [answer for answer in answers if not _operation(answer, form).several] or answers
    if place_only:
        # Moving the pointer somewhere is not an answer where something is clicked later.
        parts = [one for one in parts if one.action != "HOVER"] or parts
    fullest = max(map(fullness, parts), default=0)
    answer, flags = choose_answer(
        parts, reply, lambda part: fullness(part) == fullest and is_whole(part), last=place_only
    )
    says_where = answer is not None and answer.says_where
    if "words" in declines and not reply.cut and not says_where and _says_absent(reply.shadow):
        return PointAnswer(Status.NONE)
    if answer is not None and place_only:
        return _answer(replace(answer, action=None, value=None), OperationReading(), flags)
    if answer is not None:
        return _answer(answer, _operation(answer, form), flags)
    if reply.cut:
        return PointAnswer(Status.TRUNCATED)
    return PointAnswer(Status.REFUSAL if refuses(reply.shadow) else Status.PARSE_ERROR)


def _agreed(one: Located, declines: Collection[Decline], in_full: bool) -> Located:
    """Return an answer that says none if it declines in a way that was agreed on."""
    if one.places:
        nowhere = all(number == -1 for place in one.places for number in place)
        declined = nowhere and "minus-one" in declines
    else:
        declined = one.gives_up in declines or (in_full and one.gives_up == "null")
    return replace(one, places=(), none=True) if declined else one


def _says_absent(shadow: str) -> bool:
    """Return True if words at the end of a reply say that the element is not there."""
    return _ABSENT.search(shadow[-_ENOUGH:].replace("\u2019", "'")) is not None


def _may_go_on(one: Located, reply: ReplyText) -> bool:
    """Return True if the last number of an answer may be incomplete where the reply was cut off."""
    return one.end >= len(reply.shadow) and reply.shadow[-1:] in ".0123456789"


def _answer(answer: Located, operation: OperationReading, flags: set[str]) -> PointAnswer:
    written = answer.value or ""
    if answer.exact_value:
        value, missing = taken_value(operation.operation, " ".join(written.split()))
    else:
        value, missing = said_value(operation.operation, written, action=answer.action or "")
    flags = {*flags, *operation.flags(named=answer.action is not None), *missing}
    rest = (operation.operation, value, tuple(sorted(flags)))
    if len(answer.places) > 1:
        return PointAnswer(Status.AMBIGUOUS, None, None, *rest)
    if answer.none:
        return PointAnswer(Status.NONE, None, None, *rest)
    if not answer.places:
        if not operation.readable:
            return PointAnswer(Status.PARSE_ERROR, None, None, *rest)
        return PointAnswer(Status.NO_ELEMENT, None, None, *rest)
    numbers = answer.places[0]
    if len(numbers) == 2:
        return PointAnswer(Status.ANSWERED, (numbers[0], numbers[1]), None, *rest)
    left, top, right, bottom = numbers
    centre = ((left + right) / 2, (top + bottom) / 2)
    return PointAnswer(Status.ANSWERED, centre, (left, top, right, bottom), *rest)


def _operation(answer: Located, form: Form) -> OperationReading:
    if answer.action is None:
        return OperationReading()
    if form == "seeclick":
        return OperationReading(_CLASSES.get(answer.action))
    return read_operation(answer.action.strip())


def write_point(
    form: Form, point: tuple[float, float] | None, operation: Operation | None, value: str
) -> str:
    """Write an answer in a form for `read_point`; a point of None says none.

    SeeClick has no word for none; its answer then has no location. The forms do not preserve
    everything: line breaks and runs of blanks become one blank, and a value that is itself a word
    for "no value" (None, N/A, null) is read as missing.
    """
    written = value if operation in ("TYPE", "SELECT") else ""
    return POINT_FORMS[form].spell(point, operation, written)


def write_place(form: Form, point: tuple[float, float] | None) -> str:
    """Write an answer to a question for a place only.

    >>> write_place("point-text", (746, 314)), write_place("ui-tars", None)
    ('(746, 314)', "Action: click(start_box='None')")
    """
    alone = POINT_FORMS[form].place
    return alone(point) if alone else write_point(form, point, "CLICK", "")
