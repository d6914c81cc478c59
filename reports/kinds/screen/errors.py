"""Classes of errors of steps on screens."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.runs import Run, Unit
from parsers import Declaration, Status
from parsers.actions import Action
from parsers.screen import OPPOSITE, Answers, ScreenDetail, parts, text_of
from parsers.screen.rules import RULES
from parsers.screen.verdicts import shares
from reports.errors.classes import FAILED, SUCCESS, ClassInfo, general_classes
from reports.errors.classifying import UnitError, UnitErrors, by_outcome

ScreenRecord = Unit[ScreenDetail]

RANGE, TYPE, NEAR, SWAPPED, FAR = "out_of_range", "wrong_action", "near", "swapped", "far"
OPPOSED, ACROSS, FIRST, CASE, TEXT, ICON = (
    *("opposite_scroll", "other_scroll", "first_word", "text_case", "wrong_text", "icon"),
)
CLOSE = 0.14

_CLASSES = (
    ClassInfo(RANGE, "outside of the picture", "no answer", "the numbers name no point of it"),
    ClassInfo(ICON, "tapped an icon", "wrong", "an app was to be opened, and a place was tapped"),
    ClassInfo(TYPE, "another action", "wrong", "the detail names the answered and the right one"),
    ClassInfo(OPPOSED, "opposite scroll", "wrong", "the other way along the same axis"),
    ClassInfo(
        ACROSS, "scroll along the other axis", "wrong", "up or down where it is left or right"
    ),
    ClassInfo(SWAPPED, "x and y swapped", "wrong", "with x and y exchanged it would be right"),
    ClassInfo(NEAR, "near miss", "wrong", "within 0.14 of the picture's sides"),
    ClassInfo(FAR, "elsewhere", "wrong", "more than 0.14 of the picture's sides away"),
    ClassInfo(CASE, "only case or blanks differ", "wrong", "the text but for case and blanks"),
    ClassInfo(FIRST, "only the first word is right", "wrong", "the rest of the text differs"),
    ClassInfo(TEXT, "another text", "wrong", "the typed text or the name of the app"),
)


class ScreenErrors(UnitErrors):
    """The general classes, with wrong steps classified by what differs."""

    def classes(self, declared: Declaration) -> tuple[ClassInfo, ...]:
        """Return all classes, in order of precedence."""
        general = [one for one in general_classes(declared) if one.error_class != FAILED]
        return (*general, *_CLASSES)

    def classify(
        self, run: Run, records: Sequence[ScreenRecord], *, pages: bool = True
    ) -> Sequence[UnitError]:
        """Return the class of each record, from its line alone."""
        declared, config = run.manifest.declaration, run.manifest.config
        return [_class(one, declared, config) for one in records]


def _class(record: ScreenRecord, declared: Declaration, config: Mapping[str, Any]) -> UnitError:
    found, said = by_outcome(record, declared, config), record.prediction
    if said is None or not record.settled or record.invalid or found.error_class == SUCCESS:
        return found
    if said.status is Status.OUT_OF_RANGE:
        return replace(found, error_class=RANGE)
    if found.error_class != FAILED or said.action is None:
        return found
    error_class, detail = _difference(said.action, record.detail, declared.main.name)
    return replace(found, error_class=error_class, detail=detail)


def _difference(said: Action, detail: ScreenDetail, rule: str) -> tuple[str, str]:
    """What is different in an answer: in the first wrong one of several actions."""
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
    return (NEAR if away <= CLOSE else FAR), text
