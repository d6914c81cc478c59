"""Parse answers by coordinates.

The reader of each form is strict about where a location may stand, and lenient about fences, prose,
tags and thinking around it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from parsers.operations import OperationReading, read_operation
from parsers.plans import choose_answer
from parsers.points.forms import FIRST, POINT_FORMS, Form
from parsers.points.located import Decline, Located
from parsers.records import Operation, Status
from parsers.reply_text import Nothing, ReplyText, open_reply, refuses
from parsers.values import said_value, taken_value

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
