"""The rule of AndroidControl-Curated: type and text are one line, the place is a box or a point."""

from __future__ import annotations

from collections.abc import Sequence

from parsers.actions import Action
from parsers.screen import Answers, box_of, text_of
from parsers.screen.verdicts import FAR, POINTED, Judge, Size, Verdict, finger, target_of, token_f1

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

    Words are replaced wherever they stand in the line, in texts, too; a second colon cuts the text.
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
    if one in other or other in one:
        return True
    words = [text.lower().split() for text in (one, other)]
    single = all(len(set(some)) == 1 for some in words)
    if single and (words[0][0] in words[1][0] or words[1][0] in words[0][0]):
        return True
    return token_f1(one, other) >= 0.5


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
