"""Read a model's action on a screen in its family's form, and write one that is read back.

Nothing is evaluated. Numbers stay the model's own; anyone who knows the picture converts them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from parsers.actions import LONGEST, Action, Value, mended
from parsers.calls import read_entries, written_calls
from parsers.dictionaries import flat
from parsers.plans import choose_answer
from parsers.points.objects import places_in
from parsers.records import Status
from parsers.reply_text import Nothing, ReplyText, open_reply, refuses
from parsers.screen import (
    BOXED,
    DIRECTIONS,
    OPPOSITE,
    Edges,
    Point,
    Side,
    finger_way,
    several,
    with_box,
)
from parsers.screen.families import Family, WrittenAction

Fields = Mapping[str, object]

# In small letters only with nothing but arguments behind, since prose may begin so.
_WORD = re.compile(r"[A-Z][A-Z_]{1,30}\b|[A-Za-z][A-Za-z_]{1,30}\b(?=\s*+(?:$|[\[<(]))")
# What may stand before an action on its line.
_LABEL = re.compile(
    r"[^\w\n]{0,8}(?:\d{1,2}[.)]\s|<\w{1,20}>|\[\w{1,20}\]"
    r"|(?:[\w,']{1,20}\s){0,6}(?:actions?|answer|output|this|aktion|\u52a8\u4f5c|\u64cd\u4f5c)"
    r"(?:\s\d{1,2})?[\s*_]{0,4}[:\uff1a][\s*_]{0,4})",
    re.IGNORECASE,
)
_TAG_END = re.compile(r"</\w{1,20}>\s*\Z")
_MARKS = " \t*`#>-"
_KEY = re.compile(r"(?:^|[\t\n])[^\w\n\t]{0,6}(\w{1,20}):|\b(action):")
_BESIDE = ("STATUS", "duration")
"""AgentCPM-GUI's fields that modify an action, and are one where they are alone."""


@dataclass(slots=True)
class FoundAction:
    """An action as a family writes it, with its span, and what it means once that is known.

    whole: whether nothing of it can be missing where the reply was cut off.
    """

    name: str
    fields: Fields
    start: int
    end: int
    whole: bool = True
    action: Action = field(default_factory=Action)
    call = True

    def corrected(self, later: FoundAction) -> FoundAction:
        return later


def _objects(reply: ReplyText, family: Family) -> Iterator[FoundAction]:
    # Of two fields of one action, AgentCPM-GUI's evaluator takes the text.
    natives = [said.native for said in sorted(family.actions, key=lambda said: not said.text)]

    def read(content: dict[str, object]) -> tuple[str, Fields] | None:
        fields = flat(content)
        name = content.get("name") if family.key == "name" else fields.get(family.key)
        if family.key and not isinstance(name, str) and content.get("name") in natives:
            name = content["name"]
        if not family.key:
            # A field that is a separate action only where there is no other.
            listed = [one for one in natives if one not in _BESIDE]
            name = next((one for one in (*listed, *_BESIDE) if one in fields), None)
        return (name, fields) if isinstance(name, str) else None

    entries = [FoundAction(*one.content, one.start, one.end) for one in read_entries(reply, read)]
    by_position = (one for one in _calls(reply, family) if all(map(str.isdecimal, one.fields)))
    yield from sorted([*entries, *by_position], key=lambda one: one.start)


def _calls(reply: ReplyText, family: Family) -> Iterator[FoundAction]:
    names = "|".join(sorted({re.escape(one.native) for one in family.actions}, key=len)[::-1])
    # Words before a bracket are prose, unless an argument has a name: `click (point=...`.
    called = re.compile(rf"(?<![\w.])({names})(?: (?=\(\w{{1,20}}=))?\(")
    for call in written_calls(reply, called):
        yield FoundAction(call.name, call.fields, call.start, call.end)


def _words(reply: ReplyText, family: Family) -> Iterator[FoundAction]:
    """Actions begin lines; a text in brackets goes on in the next ones until they close."""
    natives = {said.native for said in family.actions}
    entries: list[tuple[str, list[str], int, int]] = []
    start, is_open = 0, False
    for line in reply.text.split("\n"):
        end = start + len(line)
        label = _LABEL.match(line)
        said_line = _TAG_END.sub("", line[label.end() :]) if label else line
        said_line = said_line.lstrip(_MARKS).rstrip(" \t*`\u3002")
        name = _WORD.match(said_line)
        if is_open and (name is None or name[0] not in natives):
            native, lines, begins, _ = entries[-1]
            entries[-1] = native, [*lines, line], begins, end
            is_open = "]" not in line
        elif name is not None:
            rest = said_line[name.end() :]
            entries.append((name[0], [rest], start, end))
            is_open = "[" in rest and "]" not in rest
        start = end + 1
    for native, lines, begins, end in entries:
        rest = "\n".join(lines)
        opening, closing = rest.find("["), rest.rfind("]")
        said = rest[opening + 1 : closing] if 0 <= opening < closing else None
        place = rest.partition("</point>")[0]
        fields = {"point": place, "text": said, "direction": (said or "").strip().lower()}
        yield FoundAction(native, fields, begins, end, end < len(reply.text))


def _tabs(reply: ReplyText, family: Family) -> Iterator[FoundAction]:
    keys = list(_KEY.finditer(reply.text))
    ends = [*(key.start() for key in keys[1:]), len(reply.text)]
    fields = {
        (key[1] or key[2]): reply.text[key.end() : end].strip("\n ")
        for key, end in zip(keys, ends, strict=False)
    }
    if keys:
        # Behind the last value, other lines and the mark that opened the line are not a part of it.
        last = keys[-1][1] or keys[-1][2]
        mark = keys[0][0].strip()[:1] if keys[0][0].strip()[:1] in ("*", "`") else ""
        fields[last] = fields[last].partition("\n")[0].rstrip(mark + " ")
    if "action" in fields:
        yield FoundAction(fields["action"].strip(), fields, 0, len(reply.text), whole=False)


GRAMMARS: Mapping[str, Callable[[ReplyText, Family], Iterator[FoundAction]]] = {
    "objects": _objects,
    "calls": _calls,
    "words": _words,
    "tabs": _tabs,
}


_MOST_CALLS = 48
_NUMBER = re.compile(r"[-+]?\d{1,9}(?:\.\d{0,20})?|[-+]?\.\d{1,20}")
_ENDS = frozenset(("finish", "satisfied", "impossible", "interrupt", "need_feedback"))
"""Values of `STATUS` next to an action that are left out with a flag."""
_AMOUNTS = {"page": ("down", "up"), "scroll_y": ("up", "down"), "scroll_x": ("left", "right")}
"""Keys of signed amounts, with the ways of a negative and of a positive one."""


@dataclass(frozen=True, slots=True)
class ScreenAnswer:
    """An action in the numbers of the model, or why there is none."""

    status: Status
    action: Action | None = None
    flags: tuple[str, ...] = ()


def read_action(
    text: str, family: Family, *, finish: str = "stop", side: Side = "content", script: bool = False
) -> ScreenAnswer:
    """Read a reply in a family's form; `side` is what its words for directions name.

    The family's marks around an answer may be missing. Of several actions the first counts, flagged
    `multiple`, or the later one behind words of correction (see `plans`); with `script`, all of
    them. Takes linear time, and raises nothing whatever the reply holds.
    """
    reply = open_reply(text, finish)
    if isinstance(reply, Nothing):
        return ScreenAnswer(reply.status, flags=reply.flags)
    found: list[FoundAction] = []
    for scope in _scopes(reply, family):
        entries = islice(GRAMMARS[family.grammar](scope, family), _MOST_CALLS)
        found = [one for one in entries if _act(one, family, side)]
        if found:
            reply = scope
            break
    if script and found and not reply.cut:
        return ScreenAnswer(Status.ANSWERED, several(_within([one.action for one in found])))
    chosen, flags = choose_answer(found, reply, lambda one: one.whole or not reply.cut)
    if chosen is None:
        if reply.cut:
            return ScreenAnswer(Status.TRUNCATED, flags=("truncated",))
        refused = refuses(reply.shadow)
        return ScreenAnswer(Status.REFUSAL if refused else Status.PARSE_ERROR, flags=reply.flags)
    if all(str(one.action) == str(chosen.action) for one in found):
        flags -= {"multiple"}
    status = str(chosen.fields.get("STATUS", "")).lower()
    if chosen.name != "STATUS" and status in _ENDS:
        flags.add("status")
    return ScreenAnswer(Status.ANSWERED, chosen.action, tuple(sorted(flags)))


def _act(entry: FoundAction, family: Family, side: Side) -> bool:
    """Find out what an entry means; return False if the family has no such action."""
    action = _action(entry.name, entry.fields, family, side)
    entry.action = action or entry.action
    return action is not None


def _scopes(reply: ReplyText, family: Family) -> Iterator[ReplyText]:
    """Yield the places of an answer, the likeliest first: between answer tokens, behind the
    family's mark, anywhere."""
    if (inside := reply.inside) is not None:
        yield inside
    if mark := family.opening.strip():
        at_start = re.search(rf"^[^\w\n]{{0,8}}{re.escape(mark)}", reply.text, re.M | re.I)
        start = at_start.end() if at_start else reply.text.find(mark) + len(mark)
        if start >= len(mark):
            yield reply.behind(start)
    yield reply


def _within(actions: list[Action]) -> list[Action]:
    """The first actions, as many as a text can hold."""
    rest = LONGEST
    for number, one in enumerate(actions):
        rest -= 200 + 6 * len(str(one.arguments.get("text", "")))
        if rest < 0:
            return actions[: max(number, 1)]
    return actions


def _action(native: str, fields: Fields, family: Family, side: Side) -> Action | None:
    """Return the canonical action of an entry; None for one that the family does not have."""
    matching = [
        said
        for said in family.actions
        if said.native.lower() == native.lower()
        and all(_has(fields, *one) for one in said.given.items())
    ]
    moving = [said for said in matching if said.to and _ends(said, fields)[1] is not None]
    worded = [said for said in matching if said.name == "scroll" and _way(fields, family)]
    matching.sort(key=lambda said: -len(said.given))
    said = next(iter((*moving, *worded, *matching)), None)
    if said is None:
        return None
    start, end = _ends(said, fields)
    if start is None and said.at and not (said.text or said.to):
        start = _by_position(fields)
    arguments: dict[str, Value] = {}
    if said.text:
        keys = (*said.text.split(), *(() if said.at else ("0",)))
        text = _text(next((fields[key] for key in keys if key in fields), None))
        if text is None and said.name in ("type", "open_app", "answer", "key", "hotkey"):
            return None
        if text is not None and said.name == "type" and family.newline and text.endswith("\n"):
            text, arguments = text.rstrip("\n"), {"submit": True}
        if text:
            arguments = {"text": mended(text), **arguments}
        elif said.name in ("type", "open_app"):
            arguments = {"text": ""}
    if said.name == "type" and family.submit and _is_true(fields.get(family.submit)):
        arguments["submit"] = True
    if said.name in ("scroll", "drag", "select_text") and start is not None and end is not None:
        arguments |= {"to_x": end[0], "to_y": end[1]}
    if said.name == "scroll":
        way = _direction(said, fields, family, side, start, end)
        if way is None:
            return None
        arguments = {"direction": way, **arguments}
    elif said.at and start is None and said.name != "type":
        return None
    action = Action(said.name, point=start, arguments=arguments)
    box = _box(said, fields)
    return action if box is None else with_box(action, box)


def _box(said: WrittenAction, fields: Fields) -> Edges | None:
    """The box that an action is placed with, where the form has one of some size."""
    if said.name not in BOXED or said.to:
        return None
    for key in said.at.split():
        numbers = _numbers(fields.get(key))
        if len(numbers) == 4:
            left, top, right, bottom = numbers
            return (left, top, right, bottom) if left < right and top < bottom else None
        if numbers:
            return None
    return None


def _direction(
    said: WrittenAction,
    fields: Fields,
    family: Family,
    side: Side,
    start: Point | None,
    end: Point | None,
) -> str | None:
    if "" in said.given:
        return said.given[""]
    if start is not None and end is not None:
        return OPPOSITE[finger_way(start, end)] if start != end else None
    way = _way(fields, family)
    if way is None:
        return None
    return way if side == "content" or any(key in fields for key in _AMOUNTS) else OPPOSITE[way]


def _way(fields: Fields, family: Family) -> str | None:
    """The word for a direction, or the one that a signed amount represents."""
    word = fields.get(family.way)
    if isinstance(word, str) and word.strip().lower() in DIRECTIONS:
        return word.strip().lower()
    for key, ways in _AMOUNTS.items():
        amount = fields.get(key)
        number = float(amount) if isinstance(amount, str) and _NUMBER.fullmatch(amount) else 0.0
        if number:
            return ways[number > 0]
    return None


def _ends(said: WrittenAction, fields: Fields) -> tuple[Point | None, Point | None]:
    if said.at and said.at == said.to:
        numbers = _numbers(fields.get(said.at))
        if len(numbers) == 4:
            return (numbers[0], numbers[1]), (numbers[2], numbers[3])
        return None, None
    return _place(said.at, fields), _place(said.to, fields)


def _place(keys: str, fields: Fields) -> Point | None:
    if "," in keys:
        pair = [_numbers(fields.get(key)) for key in keys.split(",")]
        return (pair[0][0], pair[1][0]) if all(len(one) == 1 for one in pair) else None
    for key in keys.split():
        numbers = _numbers(fields.get(key))
        if len(numbers) == 2:
            return numbers[0], numbers[1]
        if len(numbers) == 4:
            return (numbers[0] + numbers[2]) / 2, (numbers[1] + numbers[3]) / 2
    return None


def _by_position(fields: Fields) -> Point | None:
    """The place of a call without names: `click(504, 801)`, `click((504, 801))`."""
    given = [one for key, one in fields.items() if key.isdecimal()]
    numbers = [number for one in given[:2] for number in _numbers(one)]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


def _numbers(value: object) -> tuple[float, ...]:
    """The written numbers of a place: lists in lists, or a text of numbers and marks."""
    if isinstance(value, list):
        found = [one for part in value[:8] for one in _numbers(part)]
        return tuple(found) if len(found) <= 8 else ()
    if not isinstance(value, str):
        return ()
    if _NUMBER.fullmatch(value.strip()):
        number = float(value)
        return (number,) if math.isfinite(number) else ()
    places, _ = places_in(value)
    return places[0] if len(places) == 1 else ()


def _text(value: object) -> str | None:
    if isinstance(value, list):
        return "+".join(one for one in value if isinstance(one, str))
    return value if isinstance(value, str) else None


def _is_true(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.lower() == "true")


def _has(fields: Fields, key: str, wanted: str) -> bool:
    if not key:
        return True
    value = _text(fields.get(key))
    if wanted.startswith(">"):
        numbers = _numbers(value)
        return len(numbers) == 1 and numbers[0] > float(wanted[1:])
    return value is not None and value.strip().lower() == wanted.lower()
