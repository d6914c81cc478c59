"""Locations in function calls: `click(start_box='(1,2)')`, `pyautogui.click(x=0.7, y=0.2)`.

Nothing is evaluated: a call is read token by token, as far as it consists of strings, numbers and
brackets. The number of attempts is limited, and each reads a bounded window.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from parsers.points.lines import places_in
from parsers.points.located import Locate, Located, Numbers
from parsers.points.objects import declining
from parsers.reply_text import Source

_WINDOW = 8_192
_ATTEMPTS = 48
_KEYWORD = re.compile(r"\s*+([A-Za-z_]\w{0,40})\s*+=(?!=)")
_TEXT = re.compile(r"\s*+[rbuf]?('(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\")", re.DOTALL)
_BRACKET = r"[(\[][\s\d.,+-]{0,200}[)\]]"
_PLAIN = re.compile(rf"\s*+([\w.+-]{{1,60}}|[(\[](?:{_BRACKET}|[\s\d.,+-]){{0,200}}+[)\]])")
_EMPTY = re.compile(r"\s*+\)")
_MARK = re.compile(r"\s*+([,)])")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_TYPED = ("content", "text", "message", "value")
_ACTIONS = {
    **dict.fromkeys(("left_double", "right_single", "left_single", "tap", "long_press"), "CLICK"),
    **dict.fromkeys(("middleclick", "rightclick", "doubleclick", "tripleclick"), "CLICK"),
    **dict.fromkeys(("moveto", "mousemove"), "HOVER"),
    **dict.fromkeys(("write", "typewrite", "input", "input_text"), "TYPE"),
    "select_option": "SELECT",
}
"""Names of functions, and the words for them that `read_operation` knows."""


@dataclass(frozen=True, slots=True)
class PointCall:
    """A call in a text: the last part of its name in lower case, its arguments as written."""

    name: str
    positional: Sequence[str]
    keywords: Mapping[str, str]
    quoted: frozenset[str]
    """Keywords, and positions of positional arguments, whose value is a string."""
    start: int
    end: int


Placed = Callable[[PointCall], tuple[tuple[Numbers, ...], bool]]
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
        for call in _calls(reply, pattern):
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


def _located(call: PointCall, places: tuple[Numbers, ...], none: bool) -> Located:
    typed = [call.keywords[key] for key in _TYPED if key in call.quoted]
    typed += [text for at, text in enumerate(call.positional) if str(at) in call.quoted]
    status = call.keywords.get("status", call.positional[0] if call.positional else None)
    return Located(
        call.start,
        call.end,
        places,
        none,
        _ACTIONS.get(call.name, call.name),
        typed[0] if typed else None,
        exact_value=bool(typed),
        gives_up=declining(call.name, status),
    )


def by_keys(*keys: str) -> Placed:
    """Read the location of a call from the first of these arguments that it has."""

    def placed(call: PointCall) -> tuple[tuple[Numbers, ...], bool]:
        written = next((call.keywords[key] for key in keys if key in call.keywords), None)
        return places_in(written) if written is not None else ((), False)

    return placed


def by_axes(call: PointCall) -> tuple[tuple[Numbers, ...], bool]:
    """Read the location of a call from `x` and `y`, or from its first two arguments or a pair."""
    if call.positional and call.positional[0][0:1] in ("(", "["):
        pair = [call.positional[0], ""]
    elif "x" in call.keywords and "y" in call.keywords:
        pair = [call.keywords["x"], call.keywords["y"]]
    else:
        # x given by position goes with y given by name.
        pair = [*call.positional[:2], *([call.keywords["y"]] if "y" in call.keywords else [])][:2]
    places, none = places_in(",".join(pair)) if len(pair) == 2 else ((), False)
    return (places, none) if none or all(len(one) == 2 for one in places) else ((), False)


def _calls(reply: Source, pattern: re.Pattern[str]) -> list[PointCall]:
    matches = list(pattern.finditer(reply.shadow))
    if len(matches) > 2 * _ATTEMPTS:
        matches = matches[:_ATTEMPTS] + matches[-_ATTEMPTS:]
    found: list[PointCall] = []
    for match in matches:
        # Text inside of a call that was read is an argument of it.
        if found and match.start() < found[-1].end:
            continue
        if (call := _call(reply.text, match)) is not None:
            found.append(call)
    return found


def _call(text: str, match: re.Match[str]) -> PointCall | None:
    """Return the call whose name and opening bracket were matched; None if it is not one of
    literals."""
    positional: list[str] = []
    keywords: dict[str, str] = {}
    quoted: set[str] = set()
    position, last = match.end(), min(len(text), match.end() + _WINDOW)
    if empty := _EMPTY.match(text, position, last):
        return PointCall(_name(match), (), {}, frozenset(), match.start(), empty.end())
    while True:
        key = _KEYWORD.match(text, position, last)
        position = key.end() if key else position
        string = _TEXT.match(text, position, last)
        value = string or _PLAIN.match(text, position, last)
        if value is None:
            return None
        written = _ESCAPE.sub(_unescaped, string[1][1:-1]) if string else value[1]
        name = key[1].lower() if key else str(len(positional))
        if key:
            keywords.setdefault(name, written)
        else:
            positional.append(written)
        if string:
            quoted.add(name)
        mark = _MARK.match(text, value.end(), last)
        if mark is None:
            return None
        position = mark.end()
        if mark[1] == ")":
            found = frozenset(quoted)
            return PointCall(_name(match), positional, keywords, found, match.start(), position)


def _name(match: re.Match[str]) -> str:
    return match[1].rpartition(".")[2].lower()


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPED.get(match[1], match[1])
