"""Rules that compare lines of text: those of OS-Atlas and GUI-Odyssey."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from parsers.actions import Action
from parsers.screen import Point, text_of

Judged = tuple[bool | None, bool | None, bool | None, bool]
"""Type, place, step, and whether the published code raises."""

_RADIUS = 140
_INTEGER = re.compile(r"\d{1,9}")
_ATLAS = {
    "click": "CLICK",
    "long_press": "LONG_PRESS",
    "double_click": "DOUBLECLICK",
    "right_click": "RIGHTCLICK",
    "hover": "MOVETO",
    "back": "PRESS_BACK",
    "home": "PRESS_HOME",
    "recents": "PRESS_RECENT",
    "enter": "ENTER",
    "wait": "WAIT",
    "complete": "COMPLETE",
    "impossible": "IMPOSSIBLE",
}
_POINTED = ("CLICK", "LONG_PRESS")
_MOUSE = ("MOVETO", "RIGHTCLICK", "DOUBLECLICK")


def _mille(point: Point, size: tuple[int, int]) -> tuple[int, int]:
    return round(1000 * point[0] / size[0]), round(1000 * point[1] / size[1])


def atlas_line(action: Action, way: str | None, size: tuple[int, int]) -> str:
    """Write an action in OS-Atlas' form; `way` is the direction of a scroll in the set's words.

    >>> atlas_line(Action("click", point=(540.0, 600.0)), None, (1080, 2400))
    'CLICK <point>[[500,250]]</point>'
    """
    if action.name == "scroll":
        return f"SCROLL [{(way or '').upper()}]"
    if action.name in ("type", "open_app"):
        text = text_of(action)
        return action.name.upper() + ("" if text is None else f" [{text}]")
    name = _ATLAS.get(action.name, action.name.upper())
    if action.name in ("key", "hotkey"):
        keys = (text_of(action) or "").upper().replace("+", "_")
        return f"PRESS_{keys}" if action.name == "key" else f"{name} [{keys}]"
    if action.point is None:
        return name
    across, down = _mille(action.point, size)
    return f"{name} <point>[[{across},{down}]]</point>"


def judge_atlas(said: str, gold: str, part: str) -> Judged:
    """Judge a line as OS-Atlas' scripts do: `ac` for AndroidControl, `guiact`, `omniact` or
    `odyssey`.

    On AndroidControl, texts and names of apps are compared by their first word, in lower case, and
    a text without a word stops the script. On GUI-Odyssey the word TYPE is one of the words, an
    unreadable point is the corner, and there is no rate of types. On GUIAct and OmniACT, a
    direction may hold the other; on GUIAct, several lines are one text.
    """
    spaced = part in ("guiact", "omniact")
    words, theirs = (line.split(" ") if spaced else line.split() for line in (said, gold))
    # A line of OmniACT may be blank: a text with a line break is several.
    if not words or (not words[0] and part != "omniact"):
        return False, None, False, False
    if part == "odyssey":
        return None, None, _atlas_odyssey(words, said, gold), False
    kind = theirs[0]
    if words[0] != kind:
        return False, None, False, False
    if kind in _POINTED or (part == "omniact" and kind in _MOUSE):
        exactly = part == "omniact" and len(_INTEGER.findall(said)) != 2
        there = (None if exactly else _first_two(said)) or (-100, -100)
        hit = math.dist(there, _first_two(gold) or (0, 0)) <= _RADIUS
        return True, hit if kind == "CLICK" else None, hit, False
    worded = ("TYPE", "OPEN_APP") if part == "ac" else ("TYPE", "SCROLL")
    if kind in worded and said != gold:
        if kind != "SCROLL":
            words, theirs = said.lower().split(), gold.lower().split()
        if len(words) < 2 or len(theirs) < 2:
            return False, None, False, True
        if kind == "SCROLL":
            return True, None, words[1] in theirs[1] or theirs[1] in words[1], False
        return True, None, words[1] == theirs[1], False
    return True, None, said == gold, False


def judge_atlas_script(said: Sequence[str], gold: Sequence[str]) -> list[Judged]:
    """Judge the lines of an answer to OmniACT against the recorded ones, as far as both go."""
    return [judge_atlas(*pair, "omniact") for pair in zip(said, gold, strict=False)]


def _atlas_odyssey(words: list[str], said: str, gold: str) -> bool:
    kind = gold.split()[0].strip(":")
    if words[0].strip(":") != kind:
        return False
    if kind in _POINTED:
        there = _INTEGER.findall(said)
        place = tuple(map(int, there)) if len(there) == 2 else (0, 0)
        return math.dist(place, _first_two(gold) or (0, 0)) <= _RADIUS
    if kind == "TYPE":
        first, second = set(said.lower().split()), set(gold.lower().split())
        return said == gold or 2 * len(first & second) / (len(first) + len(second)) > 0.5
    return kind != "SCROLL" or said == gold


def _first_two(line: str) -> tuple[int, int] | None:
    found = _INTEGER.findall(line)
    return (int(found[0]), int(found[1])) if len(found) > 1 else None


_ODYSSEY = {**_ATLAS, "enter": "PRESS_ENTER"}
_ALIKE = 0.5


def odyssey_line(action: Action, way: str | None, size: tuple[int, int]) -> str:
    """Write an action as GUI-Odyssey's answers are, numbers in thousandths.

    >>> odyssey_line(Action("type", arguments={"text": "hello"}), None, (1080, 2400))
    'TYPE: hello'
    """
    if action.name == "scroll":
        return f"SCROLL: {(way or '').upper()}"
    if action.name == "type":
        return f"TYPE: {text_of(action) or ''}"
    name = _ODYSSEY.get(action.name, action.name.upper())
    if action.point is None:
        return name
    across, down = _mille(action.point, size)
    return f"{name}: ({across}, {down})"


def judge_odyssey(said: str, gold: str, box: Sequence[float] | None) -> Judged:
    """Judge a line `ACTION: info` as GUI-Odyssey does; `box` is the target's in thousandths.

    A second colon ends the info. One number serves as x and y. Texts keep their case; one that
    holds the other is right, else their edit similarity has to be a half.
    """
    (name, info), (right, wanted) = _parts(said), _parts(gold)
    pointed = right in _POINTED
    if name != right:
        return False, False if pointed else None, False, False
    if pointed:
        numbers = [int(one) for one in _INTEGER.findall(info)]
        if len(numbers) not in (1, 2):
            return False, False, False, True
        place = (numbers * 2)[:2]
        inside = box is not None and box[0] <= place[0] <= box[2] and box[1] <= place[1] <= box[3]
        there = [int(one) for one in _INTEGER.findall(wanted)]
        hit = inside or math.dist(place, there) / 1000 <= 0.14
        return True, hit, hit, False
    if right == "TYPE":
        return True, None, _similar(wanted, info), False
    return True, None, right != "SCROLL" or info.lower() == wanted.lower(), False


def _parts(line: str) -> tuple[str, str]:
    pieces = line.split(":")
    return pieces[0].strip(), pieces[1].strip() if len(pieces) > 1 else ""


def _similar(one: str, other: str) -> bool:
    if one in other or other in one:
        return True
    return Levenshtein.normalized_similarity(one, other) >= _ALIKE
