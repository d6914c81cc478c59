"""Reports on steps on screens: classes of errors, and the page of a step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from harness.runs import CallRecord, Run, Unit
from parsers import Status
from parsers.actions import Action
from parsers.screen import OPPOSITE, Answers, ScreenDetail, parts, text_of, told
from parsers.screen.box_rules import NEAR, shares
from parsers.screen.rules import RULES
from reports.errors import FAILED, SUCCESS, ClassInfo, UnitError, UnitErrors
from reports.kind import KindReports
from reports.view.parts import (
    ComparedCell,
    ComparedLine,
    DrawnBox,
    UnitPage,
    UnitPart,
    box_of,
)

ScreenRecord = Unit[ScreenDetail]

RANGE, TYPE, NEAR_MISS, SWAPPED, FAR = "out_of_range", "wrong_action", "near", "swapped", "far"
OPPOSED, ACROSS, FIRST, CASE, TEXT, ICON = (
    *("opposite_scroll", "other_scroll", "first_word", "text_case", "wrong_text", "icon"),
)
CLOSE = 0.14

_WRONG = (
    ClassInfo(RANGE, "outside of the picture", "no answer", "the numbers name no point of it"),
    ClassInfo(ICON, "tapped an icon", "wrong", "an app was to be opened, and a place was tapped"),
    ClassInfo(TYPE, "another action", "wrong", "the detail names the answered and the right one"),
    ClassInfo(OPPOSED, "opposite scroll", "wrong", "the other way along the same axis"),
    ClassInfo(
        ACROSS, "scroll along the other axis", "wrong", "up or down where it is left or right"
    ),
    ClassInfo(SWAPPED, "x and y swapped", "wrong", "with x and y exchanged it would be right"),
    ClassInfo(NEAR_MISS, "near miss", "wrong", "within 0.14 of the picture's sides"),
    ClassInfo(FAR, "elsewhere", "wrong", "more than 0.14 of the picture's sides away"),
    ClassInfo(CASE, "only case or blanks differ", "wrong", "the text but for case and blanks"),
    ClassInfo(FIRST, "only the first word is right", "wrong", "the rest of the text differs"),
    ClassInfo(TEXT, "another text", "wrong", "the typed text or the name of the app"),
)


class ScreenErrors(UnitErrors):
    """The general classes, with wrong steps classified by what differs."""

    wrong = _WRONG

    def refined(self, run: Run, record: ScreenRecord, found: UnitError) -> UnitError:
        said = record.prediction
        if said is None or not record.settled or record.invalid or found.error_class == SUCCESS:
            return found
        if said.status is Status.OUT_OF_RANGE:
            return replace(found, error_class=RANGE)
        if found.error_class != FAILED or said.action is None:
            return found
        rule = run.manifest.declaration.main.name
        error_class, detail = _difference(said.action, record.detail, rule)
        return replace(found, error_class=error_class, detail=detail)


def _difference(said: Action, detail: ScreenDetail, rule: str) -> tuple[str, str]:
    """Difference of an answer: in the first wrong one of several actions."""
    given, wanted = parts(said), parts(detail.gold.action)
    if len(given) != len(wanted):
        return TYPE, f"{len(given)} actions, not {len(wanted)}"
    if len(wanted) > 1:
        single = [replace(detail, gold=replace(detail.gold, actions=(one,))) for one in wanted]
        pairs = list(zip(given, single, strict=True))
        strict = RULES["strict"].verdict
        wrong = (pair for pair in pairs if not strict(pair[0], pair[1].gold, detail.size).step)
        said, detail = next(wrong, pairs[0])
        rule = "strict"
    gold = detail.gold.action
    if said.name != gold.name:
        icon = gold.name == "open_app" and said.name == "click"
        return (ICON if icon else TYPE), f"{said.name}, not {gold.name}"
    if gold.name == "scroll":
        ours, right = said.arguments.get("direction"), str(gold.arguments.get("direction"))
        return (OPPOSED if ours == OPPOSITE.get(right) else ACROSS), f"{ours}, not {right}"
    if gold.point is not None and said.point is not None:
        return _place(said, gold, detail, rule)
    ours, right = text_of(said) or "", text_of(gold) or ""
    if " ".join(ours.casefold().split()) == " ".join(right.casefold().split()):
        return CASE, ""
    same = ours.split()[:1] == right.split()[:1] != []
    return (FIRST if same else TEXT), ""


def _place(said: Action, gold: Action, detail: ScreenDetail, rule: str) -> tuple[str, str]:
    assert said.point is not None and gold.point is not None
    size = detail.size
    away = math.dist(shares(said.point, size), shares(gold.point, size))
    text = f"{math.dist(said.point, gold.point):,.0f} px"
    across, down = shares(said.point, size)
    turned = replace(said, point=(down * size[0], across * size[1]))
    alone = Answers(actions=(gold,), boxes=detail.gold.boxes, boxed=detail.gold.boxed)
    if away > CLOSE and RULES[rule].verdict(turned, alone, size).step:
        return SWAPPED, text
    return (NEAR_MISS if away <= CLOSE else FAR), text


class ScreenPage(UnitPage):
    """Steps with their whole picture."""

    pictured = True
    searched = "task, sentence, id"
    same = "gave the same action"

    def answer(self, record: ScreenRecord) -> str | None:
        """Return the action in words, or that there is none."""
        said = record.prediction
        if said is None or said.action is None:
            return str(said.status) if said else None
        return told(said.action)

    def part(self, record: ScreenRecord, calls: Sequence[CallRecord]) -> UnitPart:
        """Return the marks on the picture, and the answer against the recorded action."""
        detail, said = record.detail, record.prediction
        action, sentence = detail.gold.action, detail.asked.instruction
        lines = [
            ComparedLine(
                "action", (ComparedCell(told(action)), ComparedCell(self.answer(record) or "–"))
            )
        ]
        if sentence:
            lines.append(ComparedLine("sentence", (ComparedCell(sentence), ComparedCell(""))))
        return UnitPart(
            page=detail.size,
            boxes=list(_drawn(record)),
            point=said.point if said else None,
            focus=None if action.point is None else (*action.point, 0.0, 0.0),
            heads=("recorded", "answered"),
            lines=lines,
            actual=True,
        )


def _drawn(record: ScreenRecord) -> Iterator[DrawnBox]:
    gold, (width, height) = record.detail.gold, record.detail.size
    for origin, boxes in gold.boxes.items():
        yield from (DrawnBox("target", box_of(box), f"{origin} box") for box in boxes)
    if gold.action.point is not None:
        x, y = gold.action.point
        reach = NEAR * max(width, height)
        around = box_of((x - reach, y - reach, x + reach, y + reach))
        yield DrawnBox("target", around, "recorded place ± 4 %")


def screen_keys(run: Run, values: Mapping[str, object]) -> dict[str, str]:
    """Return what a published result must share: the rule, and how the steps were asked about."""
    options = run.manifest.options_of("protocol")
    return {
        "rule": run.manifest.declaration.main.name,
        "level": str(options.get("level") or "high"),
    }


SCREEN_REPORTS = KindReports(
    errors=ScreenErrors(),
    published_keys=screen_keys,
    page=ScreenPage(),
    status_note="What cannot be read is wrong under every rule.",
)
