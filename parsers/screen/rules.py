"""Published rules that say whether an answered step is right, each on its own terms.

One prediction is judged under every rule that its set allows. A rule has the name of the code
that it follows (docs/screen-steps.md has the sources); `strict` is this project's own. Quirks of
that code are kept where they decide a verdict, and are said in the rule's docstring. What makes it
raise counts as wrong and is marked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parsers.actions import Action
from parsers.scoring import within
from parsers.screen import Answers, Point, parts, text_of, way_of
from parsers.screen.box_rules import (
    FAR,
    NEAR,
    NOTHING,
    POINTED,
    Judge,
    Size,
    Verdict,
    agentcpm,
    area_of,
    clawgui,
    qwen,
    shares,
    stored_way,
    words_alike,
)
from parsers.screen.scripts import guiact, guiact_score, omniact
from parsers.screen.set_rules import (
    aitz,
    atlas_line,
    curated,
    judge_atlas,
    judge_atlas_script,
    judge_odyssey,
    odyssey_line,
    seeclick,
)


@dataclass(frozen=True)
class Rule:
    """A published rule.

    judge: its verdict on an answer (None: nothing could be read), one right action, the step's
        answers and the picture's size.
    meaning: what it demands, in a few words.
    boxes: whether it means nothing in a set that has no boxes.
    raises: whether its published code stops at some answers.
    score: a further, graded score.
    script: whether it judges steps of several actions as they are. Under others every action has to
        be right.
    """

    name: str
    meaning: str
    judge: Judge
    boxes: bool = False
    raises: bool = False
    script: bool = False
    score: Callable[[Action | None, Action, Answers, Size], float] | None = None

    def verdict(self, said: Action | None, gold: Answers, size: Size) -> Verdict:
        """Return the best verdict over the right actions of a step."""
        if self.boxes and not gold.boxed:
            return NOTHING
        found = [self._judged(said, action, gold, size) for action in gold.actions]
        return max(found, key=lambda one: (one.step or 0, bool(one.type), bool(one.grounding)))

    def _judged(self, said: Action | None, right: Action, gold: Answers, size: Size) -> Verdict:
        wanted, given = parts(right), () if said is None else parts(said)
        if self.script or said is None or len(wanted) == len(given) == 1:
            return self.judge(said, right, gold, size)
        if len(wanted) != len(given):
            return Verdict(False, None, False)
        pairs = zip(given, wanted, strict=True)
        found = [self.judge(one, other, gold, size) for one, other in pairs]
        return Verdict(
            _all([one.type for one in found]),
            _all([one.grounding for one in found]),
            _all([one.step for one in found]),
            any(one.raised for one in found),
        )


def _all(values: Sequence[bool | float | None]) -> bool | None:
    known = [value for value in values if value is not None]
    return all(known) if known else None


# strict


def _strict(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
    pointed = gold.name in POINTED
    if said is None or said.name != gold.name:
        return Verdict(False, False if pointed else None, False)
    if pointed:
        hit = gold.point is not None and _strict_hit(said.point, gold.point, answers, size)
        return Verdict(True, hit, hit)
    if gold.name == "scroll":
        return Verdict(True, None, way_of(said) == way_of(gold))
    right = _folded(text_of(said)) == _folded(text_of(gold))
    return Verdict(True, None, right or gold.name in ("answer", "complete", "call_user"))


def _strict_hit(said: Point | None, gold: Point, answers: Answers, size: Size) -> bool:
    if said is None:
        return False
    holding = [box for box in answers.all_boxes if within(gold, box)]
    if holding:
        return within(said, min(holding, key=area_of))
    return math.dist(said, gold) <= NEAR * max(size)


def _folded(text: str | None) -> str:
    return (text or "").casefold().strip()


# OS-Atlas, GUI-Odyssey: lines of text


def _atlas(part: str) -> Judge:
    def judge(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
        line = "" if said is None else atlas_line(said, stored_way(said, answers), size)
        right = atlas_line(gold, stored_way(gold, answers), size)
        return Verdict(*judge_atlas(line, right, part))

    return judge


def _guiact_lines(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
    """The whole answer is one text, whose first words and numbers count."""
    lines = ["\n".join(atlas_lines(one, answers, size)) for one in (said, gold)]
    return Verdict(*judge_atlas(lines[0], lines[1], "guiact"))


def _omniact_lines(*, mended: bool = False) -> Judge:
    def judge(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
        lines = _atlas_actions if mended else atlas_lines
        ours, right = (lines(one, answers, size) for one in (said, gold))
        found = judge_atlas_script(ours, right)
        counted = max(len(ours), len(right)) if mended else len(found)
        if not counted:
            return NOTHING
        places = [place for _, place, _, _ in found if place is not None]
        return Verdict(
            len(found) == counted and all(type_ for type_, _, _, _ in found),
            all(places) if places else None,
            sum(bool(step) for _, _, step, _ in found) / counted,
            any(raised for *_, raised in found),
        )

    return judge


def _atlas_actions(action: Action | None, answers: Answers, size: Size) -> list[str]:
    listed = () if action is None else parts(action)
    return [atlas_line(one, stored_way(one, answers), size) for one in listed]


def atlas_lines(action: Action | None, answers: Answers, size: Size) -> list[str]:
    """Write an answer in OS-Atlas' form, and split it into lines as its scripts do: a line break
    in a text begins another line."""
    return [line for one in _atlas_actions(action, answers, size) for line in one.split("\n")]


def _odyssey(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
    box = next(iter(answers.boxes.get("sam2", ())), None)
    mille = (1000 / size[0], 1000 / size[1]) * 2
    scaled = box and tuple(one * by for one, by in zip(box, mille, strict=True))
    line = "" if said is None else odyssey_line(said, stored_way(said, answers), size)
    right = odyssey_line(gold, stored_way(gold, answers), size)
    return Verdict(*judge_odyssey(line, right, scaled))


# GUI-R1


def _gui_r1(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
    """The step is judged by the argument alone, whatever the type of the answer. An answer without
    a place points at the corner; waits and buttons have no part in the step rate."""
    same = said is not None and said.name == gold.name
    if gold.name in (*POINTED, "double_click", "right_click", "hover") and gold.point is not None:
        across, down = shares((said and said.point) or (0.0, 0.0), size)
        x, y = shares(gold.point, size)
        hit = (x - across) ** 2 + (y - down) ** 2 < FAR**2
        return Verdict(same, hit, hit)
    if gold.name not in ("open_app", "type", "scroll"):
        return Verdict(same, None, None)
    wanted = _argument(gold, answers)
    return Verdict(
        same, None, words_alike(wanted, "" if said is None else _argument(said, answers))
    )


def _argument(action: Action, answers: Answers) -> str:
    """The text field of GUI-R1's answers; it has a default, which is compared like a text."""
    text = stored_way(action, answers) if action.name == "scroll" else text_of(action)
    return "no input text" if text is None else text


_BOXED: Mapping[str, Any] = {"boxes": True, "raises": True}
_SCRIPT: Mapping[str, Any] = {"script": True, "raises": True}
_GRADED: Mapping[str, Any] = {"script": True}

_ALL = (
    Rule("strict", "the smallest box around the recorded point, exact texts", _strict),
    Rule("os-atlas", "14 % of each side, the first word of texts", _atlas("ac"), raises=True),
    Rule("os-atlas-odyssey", "14 % of each side, words of the whole line", _atlas("odyssey")),
    Rule("gui-r1", "14 % of each side, the argument alone", _gui_r1),
    Rule("qwen-ac", "any candidate box x 1.2, or 4 % of the longer side", qwen(), **_BOXED),
    Rule("qwen-ac-any-swipe", "the same with every swipe right", qwen(any_swipe=True), **_BOXED),
    Rule(
        "agentcpm-ac",
        "the five boxes nearest to the recorded point, or 4 % of each side",
        agentcpm(android_control=True),
        boxes=True,
    ),
    Rule("agentcpm", "boxes around the recorded point, or 14 % of each side", agentcpm()),
    Rule("clawgui-ac", "a circle of 368 px on 1080 x 2400, or five boxes", clawgui, boxes=True),
    Rule("seeclick-aitw", "a box x 2.4, or 14 % of each side; any text", seeclick),
    Rule("odyssey-ams", "the segmented box, or 14 % of each side", _odyssey, raises=True),
    Rule("curated-point", "14 % of each side, texts that hold one another", curated("point")),
    Rule("curated-bbox", "the middle of a box in the target's, never a point", curated("bbox")),
    Rule("curated", "the middle of a box or a point in the target's", curated("mended")),
    Rule("aitz", "a box around the recorded point or of its element", aitz()),
    Rule("aitz-coat", "the same, the point of taps is (0, 0)", aitz(as_published=True)),
    Rule("guiact", "the same element, texts by F1", guiact, script=True, score=guiact_score),
    Rule("os-atlas-guiact", "14 % of each side, the first word of texts", _guiact_lines, **_SCRIPT),
    Rule("omniact", "the same sequence, less the penalties of its lines", omniact(), **_GRADED),
    Rule(
        "omniact-mended", "the same with the boxes of all clicks", omniact(mended=True), **_GRADED
    ),
    Rule(
        "os-atlas-omniact",
        "lines within 14 % of each side, as far as both scripts go",
        _omniact_lines(),
        raises=True,
        **_GRADED,
    ),
    Rule(
        "os-atlas-omniact-mended",
        "the same, missing and surplus lines are wrong",
        _omniact_lines(mended=True),
        raises=True,
        **_GRADED,
    ),
)
RULES: Mapping[str, Rule] = {rule.name: rule for rule in _ALL}


def verdicts(
    said: Action | None, gold: Answers, size: Size, rules: Iterable[str]
) -> dict[str, Verdict]:
    """Return the verdict of each rule on one answer; None for one that could not be read."""
    return {name: RULES[name].verdict(said, gold, size) for name in rules}
