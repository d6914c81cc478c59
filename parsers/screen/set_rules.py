"""Rules of single sets: SeeClick's for Android in the Wild, AITZ's and AndroidControl-Curated's."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from rapidfuzz.distance import Indel, Levenshtein

from parsers.actions import Action
from parsers.scoring import within
from parsers.screen import Answers, Edges, Point, box_of, text_of
from parsers.screen.box_rules import (
    FAR,
    POINTED,
    Judge,
    Size,
    Verdict,
    area_of,
    box_shares,
    enlarged,
    finger,
    shares,
    target_of,
    words_alike,
)

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
_ODYSSEY_LIKENESS = 0.5


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
        held = wanted in info or info in wanted
        near = Levenshtein.normalized_similarity(wanted, info) >= _ODYSSEY_LIKENESS
        return True, None, held or near, False
    return True, None, right != "SCROLL" or info.lower() == wanted.lower(), False


def _parts(line: str) -> tuple[str, str]:
    pieces = line.split(":")
    return pieces[0].strip(), pieces[1].strip() if len(pieces) > 1 else ""


_NUMBER = {
    "click": 4,
    "scroll": 4,
    "type": 3,
    "back": 5,
    "home": 6,
    "enter": 7,
    "complete": 10,
    "impossible": 11,
}
_GESTURES: Mapping[str, tuple[Point, Point]] = {
    "down": ((0.5, 0.8), (0.5, 0.2)),
    "up": ((0.5, 0.2), (0.5, 0.8)),
    "left": ((0.2, 0.5), (0.8, 0.5)),
    "right": ((0.8, 0.5), (0.2, 0.5)),
}


def seeclick(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
    """Typed texts are not compared, and scrolls by their axis alone."""
    ours, right = _dual(said, size), _dual(gold, size)
    if ours is None or right is None or ours[0] != right[0]:
        return Verdict(False, None, False)
    boxes = [box_shares(box, size) for box in answers.all_boxes]
    step = right[0] != 4 or duals_match(ours[1], right[1], boxes)
    return Verdict(True, step if gold.name == "click" else None, step)


def _dual(action: Action | None, size: Size) -> tuple[int, tuple[Point, Point]] | None:
    """The number of an action in Android in the Wild, with both ends of its gesture in shares."""
    number = _NUMBER.get(action.name) if action else None
    if action is None or number is None:
        return None
    if action.name == "scroll":
        way = str(action.arguments.get("direction"))
        return (number, _GESTURES[way]) if way in _GESTURES else None
    if number != 4:
        return number, ((-1.0, -1.0), (-1.0, -1.0))
    if action.point is None:
        return None
    place = shares(action.point, size)
    return number, (place, place)


def duals_match(
    said: tuple[Point, Point], gold: tuple[Point, Point], boxes: Iterable[Edges]
) -> bool:
    """Compare two gestures as Android in the Wild does, points and boxes in shares.

    Taps move by 0.04 at most. Two of them are the same within 0.14, or in one box with its corner
    moved out by 0.7 of its sides, which become 2.4 times as long; the corner stops at 0 and the
    sides at 1. Of others only the main axis is compared.
    """
    taps = [math.dist(*one) <= 0.04 for one in (said, gold)]
    if taps[0] != taps[1]:
        return False
    if not taps[0]:
        return _is_level(said) == _is_level(gold)
    if math.dist(said[0], gold[0]) <= FAR:
        return True
    for left, top, right, bottom in boxes:
        across, down = right - left, bottom - top
        x, y = max(0.0, left - 0.7 * across), max(0.0, top - 0.7 * down)
        wide = x, y, x + min(1.0, 2.4 * across), y + min(1.0, 2.4 * down)
        if within(said[0], wide) and within(gold[0], wide):
            return True
    return False


def _is_level(moved: tuple[Point, Point]) -> bool:
    (x, y), (end_x, end_y) = moved
    return abs(end_x - x) > abs(end_y - y)


_CURATED_LIKENESS = 0.8
_TYPES = {
    **{name: name for name in ("click", "scroll", "type")},
    **dict.fromkeys(("back", "home", "enter"), "press"),
    **dict.fromkeys(("complete", "impossible"), "stop"),
}


def aitz(*, as_published: bool = False) -> Judge:
    """Compare boxes enlarged by 1.2: the recorded point lies in the answered one, or this covers
    more than half of an element that holds the point, measured by their union.

    As published, the recorded point of every tap is the corner (0, 0), and an answered point is
    never right. Mended, a point represents the smallest element that holds it, and where none does,
    has to lie within 14 % of each side, as in Android in the Wild.
    """

    def judge(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
        name = _TYPES.get(gold.name)
        missed = False if name == "click" else None
        if said is None or name is None or _TYPES.get(said.name) != name:
            return Verdict(False, missed, False)
        if name == "click":
            at = (0.0, 0.0) if as_published else gold.point
            hit = at is not None and _hit(said, at, answers, size, strictly=as_published)
            return Verdict(True, hit, hit)
        if name == "scroll":
            ways = said.arguments.get("direction"), gold.arguments.get("direction")
            return Verdict(True, None, ways[0] == ways[1])
        if name == "type":
            ours, right = text_of(said) or "", text_of(gold) or ""
            near = Indel.normalized_similarity(ours, right) > _CURATED_LIKENESS
            return Verdict(True, None, ours in right or right in ours or near)
        return Verdict(True, None, name == "stop" or said.name == gold.name)

    return judge


def _hit(said: Action, gold: Point, answers: Answers, size: Size, *, strictly: bool) -> bool:
    box = box_of(said)
    if box is None and not strictly and said.point is not None:
        holding = [one for one in answers.all_boxes if within(said.point, one)]
        if not holding:
            ours, right = shares(said.point, size), shares(gold, size)
            return (ours[0] - right[0]) ** 2 + (ours[1] - right[1]) ** 2 <= FAR**2
        box = min(holding, key=area_of)
    if box is None:
        return False
    box = enlarged(box, 1.2)
    if within(gold, box):
        return True
    elements = (enlarged(one, 1.2) for one in answers.all_boxes)
    return any(within(gold, one) and union_share(box, one) > 0.5 for one in elements)


def union_share(one: Edges, other: Edges) -> float:
    """Intersection over union of two boxes; one of no size counts as a square pixel."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    both = max(0.0, across) * max(0.0, down)
    return both / (max(area_of(one), 1.0) + max(area_of(other), 1.0) - both)


_OPPOSED = (("up", "down"), ("down", "up"), ("left", "right"), ("right", "left"))


def curated_line(action: Action, size: Size) -> str:
    """Write the type of an action with its text; a scroll is a swipe of the finger.

    >>> curated_line(Action("scroll", arguments={"direction": "down"}), (1080, 2400))
    'swipe:up'
    """
    if action.name == "scroll":
        return f"swipe:{finger(action, size) or ''}"
    if action.name in ("type", "open_app"):
        name = "input_text" if action.name == "type" else action.name
        return f"{name}:{text_of(action) or ''}"
    return f"navigate_{action.name}" if action.name in ("back", "home") else action.name


def same_line(gold: str, said: str) -> bool:
    """Compare two types with their texts, as the published code does.

    Words are replaced wherever they are in the line, in texts, too; a second colon cuts the text.
    A text that the other holds is right, with its case, else half of the words have to agree.
    """
    one, other = _usual(gold), _usual(said)
    if ":" not in one or ":" not in other:
        return one.lower() == other.lower()
    (name, wanted), (said_name, text) = one.split(":")[:2], other.split(":")[:2]
    return name == said_name and _alike(wanted, text)


def _usual(line: str) -> str:
    line = line.replace("tap", "click")
    if "scroll" in line:
        line = line.replace("scroll", "swipe")
        ways = next((pair for pair in _OPPOSED if pair[0] in line), None)
        line = line.replace(*ways) if ways else line
    return line.replace("press_back", "navigate_back").replace("type", "input_text")


def _alike(one: str, other: str) -> bool:
    one, other = (text.replace("[", "").replace("]", "") for text in (one, other))
    return one in other or other in one or words_alike(one, other)


def same_place(gold: Sequence[float], said: Sequence[float] | None, size: Size) -> bool:
    """Compare a recorded point or box with an answered one, in pixels.

    With a point, the middle of the answer has to lie within 14 % of each side, and two numbers of
    at most 1 are shares. With a box, the middle of the answered box, whose edges lose their
    fractions, has to lie inside; a point never does.
    """
    if said is None:
        return False
    if len(gold) == 4:
        if len(said) != 4:
            return False
        left, top, right, bottom = map(int, said)
        x, y = (left + right) / 2, (top + bottom) / 2
        return gold[0] <= x <= gold[2] and gold[1] <= y <= gold[3]
    if len(said) == 4:
        x, y = (said[0] + said[2]) / 2, (said[1] + said[3]) / 2
    else:
        x, y = said[:2]
        if x <= 1 and y <= 1:
            x, y = x * size[0], y * size[1]
    across, down = (gold[0] - x) / size[0], (gold[1] - y) / size[1]
    return across**2 + down**2 < FAR**2


def curated(part: str) -> Judge:
    """Judge as the files with points (`point`) or boxes (`bbox`) are judged.

    `mended` lets a point be right inside of a box.
    """

    def judge(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
        pointed = gold.name in POINTED
        if said is None:
            return Verdict(False, False if pointed else None, False)
        same = same_line(curated_line(gold, size), curated_line(said, size))
        if not pointed:
            return Verdict(same, None, same)
        there, wanted = box_of(said) or said.point, target_of(gold, answers) or gold.point
        if part == "point":
            wanted = gold.point
        elif part == "mended" and there is not None and len(there) == 2:
            there = (*there, *there)
        hit = wanted is not None and same_place(wanted, there, size)
        return Verdict(same, hit, same and hit)

    return judge
