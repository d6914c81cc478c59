"""Classify recorded steps, whose target is one of the listed choices.

Pages and replies of round 1 are read for wrong elements only; the step's line has the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import attrgetter
from typing import Any

import pandas as pd
from rapidfuzz.distance import Levenshtein

from harness.runs import CallRecord, DataGone, Run, StepUnit, Unit
from harness.runs.live_steps import behind
from harness.tables import clean
from parsers import ELEMENT_ONLY, MIND2WEB, Declaration, Prediction, Status, in_box, token_f1
from parsers.cleaned_page import PageError
from parsers.records import Choice
from reports.errors import (
    CUT_OFF,
    DECLINED,
    INVALID,
    MISSED,
    NOT_ANSWERED,
    SUCCESS,
    UNMEASURED,
    UNSETTLED,
    ClassInfo,
    UnitError,
    UnitErrors,
    by_outcome,
    short,
)
from reports.frames.units import Column
from reports.kinds.step.described import (
    Box,
    FoundRelation,
    PageNodes,
    Relation,
    described_target,
    listed_text,
    near,
)


class ErrorClass(StrEnum):
    """The classes in order of precedence; `CLASSES` defines them."""

    INVALID = "invalid"
    UNSETTLED = "unanswered"
    SUCCESS = "success"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    NO_ANSWER = "no_answer"
    NO_ACTION = "no_action"
    WRONG_OPERATION = "wrong_operation"
    WRONG_VALUE = "wrong_value"
    NOT_OFFERED = "not_offered"
    NONE_CHOSEN = "none_chosen"
    WRONG_SAME_TEXT = "wrong_same_text"
    WRONG_UNKNOWN_PAGE = "wrong_unknown_page"
    WRONG_ANCESTOR = "wrong_ancestor"
    WRONG_DESCENDANT = "wrong_descendant"
    WRONG_DESCRIBED = "wrong_described"
    WRONG_NEIGHBOUR = "wrong_neighbour"
    WRONG_SAME_ROLE = "wrong_same_role"
    WRONG_ELSEWHERE = "wrong_elsewhere"


def _wrong(error_class: ErrorClass, how: str, meaning: str) -> ClassInfo:
    return ClassInfo(error_class, f"wrong element, {how}", "wrong element", meaning)


CLASSES: tuple[ClassInfo, ...] = (
    ClassInfo(
        ErrorClass.INVALID,
        "invalid row",
        "not counted",
        "the row has no right answer or no screenshot; the detail is the reason",
    ),
    NOT_ANSWERED,
    ClassInfo(
        ErrorClass.SUCCESS,
        "success",
        "success",
        "a success by the run's own rules; if only the element was asked for, the right element",
    ),
    CUT_OFF,
    DECLINED,
    ClassInfo(
        ErrorClass.NO_ANSWER,
        "no answer",
        "no answer",
        "no element could be read; the detail is the parser's status",
    ),
    ClassInfo(
        ErrorClass.NO_ACTION,
        "no action stated",
        "right element",
        "an acceptable element in a reply that states no action",
    ),
    ClassInfo(
        ErrorClass.WRONG_OPERATION,
        "right element, wrong operation",
        "right element",
        "an acceptable element with another operation, an unreadable one, or one the run's rules "
        "do not accept",
    ),
    ClassInfo(
        ErrorClass.WRONG_VALUE,
        "right element and operation, wrong value",
        "right element",
        "near_f1 and near_edit measure how close the value is",
    ),
    ClassInfo(
        ErrorClass.NOT_OFFERED,
        "target not offered",
        "none",
        "none of the acceptable elements was listed, so neither a letter nor None could be right "
        "(candidates of a ranker; cannot happen where the harness chose the distractors)",
    ),
    ClassInfo(
        ErrorClass.NONE_CHOSEN,
        "None chosen, target offered",
        "none",
        "the model said that none of the options is right, and one was",
    ),
    _wrong(
        ErrorClass.WRONG_SAME_TEXT,
        "same text",
        "it has the same text as the target in the list, or shows the same words on the page "
        "without being nested",
    ),
    _wrong(
        ErrorClass.WRONG_UNKNOWN_PAGE,
        "page unknown",
        "the page is missing or was not read, and the two have different texts in the list",
    ),
    _wrong(ErrorClass.WRONG_ANCESTOR, "around the target", "an ancestor of the target"),
    _wrong(ErrorClass.WRONG_DESCENDANT, "inside the target", "a descendant of the target"),
    _wrong(
        ErrorClass.WRONG_DESCRIBED,
        "round 1 described the target",
        "round 1 describes the target, and round 2 picks another element (lost in grounding)",
    ),
    _wrong(
        ErrorClass.WRONG_NEIGHBOUR,
        "neighbour",
        "an adjacent sibling, or at most 40 pixels between the boxes",
    ),
    _wrong(
        ErrorClass.WRONG_SAME_ROLE,
        "same role",
        "both links, both buttons, both text fields and so on",
    ),
    _wrong(ErrorClass.WRONG_ELSEWHERE, "elsewhere", "none of the above"),
)
"""All classes in order of precedence."""

CLASS_OF = {relation: ErrorClass[f"WRONG_{relation.name}"] for relation in Relation}
"""The class of a wrong element whose target round 1 did not describe."""


NEAR_F1, NEAR_EDIT = 0.5, 0.2
"""A wrong value is a near miss with at least this F1, or at most this normalised edit distance."""

DESCRIBED, NEAR_MISS, NO_ACTION = "described_target", "near_miss", "no_action"
_SAID = frozenset(("other_action", "unknown_action", "several_actions", ELEMENT_ONLY))
"""Flags of replies without an operation that state an action, or were not asked for one."""
LONGEST_VALUE = 500

_NUMBER = re.compile(r"([<(][\w:-]+) (?:bn)?id=[^\s<>)]+")
_APART = (Relation.NEIGHBOUR, Relation.SAME_ROLE, Relation.ELSEWHERE)
_PLACES = {relation: place for place, relation in enumerate(Relation)}


@dataclass(frozen=True, slots=True)
class StepError(UnitError):
    """The class of a step.

    near_f1: token F1 of a wrong value and the recorded one, ignoring case.
    near_edit: their normalised edit distance, ignoring case: 0 equal, 1 nothing in common.
    relation: how a wrong element relates to the target, whatever its class.
    flags: `described_target` (round 1 described the target), `near_miss` (of a wrong value) and
        `no_action` (the reply names an element and states no action).
    chosen, target: the chosen and the right element as listed; empty if not listed.
    """

    error_class: ErrorClass
    near_f1: float | None = None
    near_edit: float | None = None
    relation: Relation | None = None
    chosen: str = ""
    target: str = ""


class StepErrors(UnitErrors):
    """The classes of errors of recorded steps."""

    columns = (
        (Column("near_f1", "float64", "F1 of a wrong value"), attrgetter("near_f1")),
        (
            Column("near_edit", "float64", "edit distance of a wrong value, 0 to 1"),
            attrgetter("near_edit"),
        ),
        (
            Column("relation", "category", "relation of a wrong element to the target"),
            lambda error: error.relation and str(error.relation),
        ),
        (
            Column(
                "described_target", "boolean", "wrong element though round 1 described the target"
            ),
            lambda error: error.relation and DESCRIBED in error.flags,
        ),
        (
            Column("no_action", "boolean", "an element without any action stated"),
            lambda error: NO_ACTION in error.flags,
        ),
        (Column("chosen", "str", "the chosen element as listed"), attrgetter("chosen")),
        (Column("target", "str", "the right one as listed"), attrgetter("target")),
    )
    shown = ("chosen", "target")

    def classes(self, declared: Declaration) -> tuple[ClassInfo, ...]:
        return CLASSES

    def classify(
        self, run: Run, records: Sequence[Unit[Any]], *, pages: bool = True
    ) -> list[StepError]:
        """Without `pages`, or if a page is not available, wrong elements whose text differs from
        the target's are `wrong_unknown_page`."""
        manifest = run.manifest
        errors = []
        last: tuple[str, PageNodes | str] = "", ""
        for record in records:
            error = _by_line(record, manifest.declaration)
            if _is_wrong_element(error):
                nodes: PageNodes | str = "the page was not read"
                if pages:
                    if last[0] != record.unit_id:
                        last = record.unit_id, _nodes(run, record.unit_id)
                    nodes = last[1]
                calls = behind(record.prediction, run.calls_of(record.unit_id, record.repeat))
                error = _with_relation(error, record, calls, nodes)
            errors.append(error)
        return errors

    def beside(self, rows: pd.DataFrame) -> tuple[Mapping[str, int], list[str]]:
        """Near misses among wrong values, and wrong elements where round 1 described the target."""
        values = rows[rows["error_class"] == ErrorClass.WRONG_VALUE]
        counts = {
            "wrong_values": len(values),
            "near_by_f1": int((values["near_f1"] >= NEAR_F1).sum()),
            "near_by_edit": int((values["near_edit"] <= NEAR_EDIT).sum()),
            "wrong_elements": int(rows["relation"].notna().sum()),
            "described_target": int(rows["described_target"].fillna(False).sum()),
            "no_action": int(rows["no_action"].sum()),
        }
        said = []
        if counts["wrong_values"]:
            said.append(
                f"of {counts['wrong_values']:,} wrong values {counts['near_by_f1']:,} are close by "
                f"F1 (at least {NEAR_F1}) and {counts['near_by_edit']:,} by edit distance "
                f"(at most {NEAR_EDIT})"
            )
        if counts["wrong_elements"]:
            said.append(
                f"round 1 described the target in {counts['described_target']:,} of "
                f"{counts['wrong_elements']:,} wrong elements"
            )
        if counts["no_action"]:
            said.append(f"{counts['no_action']:,} replies name an element and state no action")
        return counts, said


def classify(record: StepUnit, calls: Sequence[CallRecord], page: str | None) -> StepError:
    """Classify one step from its line, its calls and its page as HTML (None if not available)."""
    error = _by_line(record, MIND2WEB)
    if not _is_wrong_element(error):
        return error
    nodes = "the page is gone" if page is None else _parsed(page)
    return _with_relation(error, record, calls, nodes)


def _nodes(run: Run, step_id: str) -> PageNodes | str:
    try:
        return _parsed(run.page(step_id))
    except DataGone as gone:
        return short(gone)


def _parsed(page: str) -> PageNodes | str:
    try:
        return PageNodes(page)
    except PageError as error:
        return short(error)


def _is_wrong_element(error: StepError) -> bool:
    return error.error_class == ErrorClass.WRONG_UNKNOWN_PAGE


def _with_relation(
    error: StepError, record: StepUnit, calls: Sequence[CallRecord], nodes: PageNodes | str
) -> StepError:
    prediction = record.prediction
    assert prediction is not None
    chosen, target = _chosen(record, prediction), _target(record)
    relation = _relation(record, prediction, chosen, nodes)
    described = bool(
        chosen and target and described_target(calls, target, chosen, record.detail.choices)
    )
    error_class = CLASS_OF[relation.relation]
    # Words alone cannot distinguish elements with the same text or nested in each other.
    if described and relation.relation in _APART:
        error_class = ErrorClass.WRONG_DESCRIBED
    return replace(
        error,
        error_class=error_class,
        detail=relation.detail,
        relation=relation.relation,
        flags=(*error.flags, *((DESCRIBED,) if described else ())),
    )


def _by_line(record: StepUnit, declared: Declaration) -> StepError:
    """Classify from the step's line alone, every wrong element as if its page were missing."""
    found = by_outcome(record, declared)
    prediction, target = record.prediction, _target(record)
    chosen = _chosen(record, prediction) if prediction is not None and record.settled else None
    if found.error_class == UNMEASURED:
        found = replace(found, error_class=UNSETTLED, detail="its outcome was not measured")
    known = found.error_class in set(ErrorClass)
    named = ErrorClass(found.error_class) if known else ErrorClass.WRONG_UNKNOWN_PAGE
    bare = StepError(
        found.unit_id,
        found.repeat,
        named,
        found.detail,
        chosen=clean(listed_text(chosen)) if chosen else "",
        target=clean(listed_text(target)) if target else "",
    )
    if found.error_class == SUCCESS and found.detail:
        return replace(bare, detail="only the element was asked for")
    if found.error_class in (INVALID, UNSETTLED, SUCCESS) or prediction is None:
        return bare
    if prediction.status is Status.NONE:
        offered = target is not None
        error_class = ErrorClass.NONE_CHOSEN if offered else ErrorClass.NOT_OFFERED
        return replace(bare, error_class=error_class, detail="" if offered else "None chosen")
    if prediction.status is Status.NOT_OFFERED:
        return replace(bare, error_class=ErrorClass.NOT_OFFERED, detail="no model was asked")
    if prediction.status is not Status.ANSWERED:
        return bare
    if prediction.operation is None and _SAID.isdisjoint(prediction.flags):
        bare = replace(bare, flags=(NO_ACTION,))
    if not _misses_element(record, found, declared):
        return _right_element(bare, record, prediction)
    if target is None and prediction.point is None:
        return replace(bare, error_class=ErrorClass.NOT_OFFERED, detail="another was chosen")
    return replace(bare, error_class=ErrorClass.WRONG_UNKNOWN_PAGE, relation=Relation.UNKNOWN_PAGE)


def _misses_element(record: StepUnit, found: UnitError, declared: Declaration) -> bool:
    """Return True if the element is wrong, which is the first measure that success needs."""
    needed = declared.main_of_units.needs
    if needed:
        return found.error_class == f"{MISSED}.{needed[0]}"
    said = record.prediction
    return said is not None and said.element not in record.detail.gold.elements


def _right_element(bare: StepError, record: StepUnit, prediction: Prediction) -> StepError:
    gold = record.detail.gold
    if NO_ACTION in bare.flags:
        said = f"recorded {gold.operation}"
        return replace(bare, error_class=ErrorClass.NO_ACTION, detail=said)
    if prediction.operation != gold.operation or gold.operation == "CLICK":
        named: str = prediction.operation or "no operation"
        if prediction.operation == gold.operation:
            named = f"an operation that was read as {named}"
        return replace(
            bare,
            error_class=ErrorClass.WRONG_OPERATION,
            detail=f"said {named}, recorded {gold.operation}",
        )
    f1 = token_f1(prediction.value, gold.value, "mind2web-lc")
    edit = edit_distance(prediction.value, gold.value)
    return replace(
        bare,
        error_class=ErrorClass.WRONG_VALUE,
        detail=f"said {_quote(prediction.value)}, recorded {_quote(gold.value)}",
        near_f1=f1,
        near_edit=edit,
        flags=(NEAR_MISS,) if f1 >= NEAR_F1 or edit <= NEAR_EDIT else (),
    )


def edit_distance(first: str, second: str) -> float:
    """Levenshtein distance divided by the longer length: 0 for equal texts, 1 for disjoint ones.

    Case and the amount of white space are ignored, as is everything after `LONGEST_VALUE`
    characters.

    >>> edit_distance("10204", "10203"), edit_distance("New  York", "new york")
    (0.2, 0.0)
    """
    a, b = (" ".join(text.casefold().split())[:LONGEST_VALUE] for text in (first, second))
    return Levenshtein.normalized_distance(a, b)


def _relation(
    record: StepUnit, prediction: Prediction, chosen: Choice | None, nodes: PageNodes | str
) -> FoundRelation:
    """Return the closest relation to any acceptable element."""
    texts = [_without_ids(listed_text(choice)) for choice in record.detail.right]
    if chosen is not None and listed_text(chosen) and _without_ids(listed_text(chosen)) in texts:
        return FoundRelation(Relation.SAME_TEXT, "reads the same in the list")
    box: Box | None = chosen.box if chosen else None
    if chosen is None and prediction.point is not None:
        box = (*prediction.point, 0.0, 0.0)
    element = chosen.id if chosen else prediction.element
    by_box = [near(box, target_box) for target_box in record.detail.gold.boxes]
    if element is None:
        # The point lies in none of the choices: nothing to compare.
        return _closest(by_box) or FoundRelation(Relation.ELSEWHERE, "a point outside all choices")
    if isinstance(nodes, str):
        guess = _closest(by_box)
        return FoundRelation(Relation.UNKNOWN_PAGE, f"{nodes}; {guess.detail}" if guess else nodes)
    targets = [element_id for element_id in record.detail.gold.elements if element_id in nodes]
    targets.sort(key=lambda element_id: element_id != record.detail.gold.shown)
    if element not in nodes or not targets:
        return FoundRelation(Relation.UNKNOWN_PAGE, "the element is not on the page")
    by_tree = [nodes.relation(element, target) for target in targets]
    closest = _closest([*by_tree, *by_box])
    if closest is not None:
        return closest
    roles = [nodes.roles(element, target) for target in targets]
    for own, right in roles:
        if own == right:
            return FoundRelation(Relation.SAME_ROLE, short(f"both {own}"))
    own, right = roles[0]
    return FoundRelation(Relation.ELSEWHERE, short(f"{own}, target {right}"))


def _closest(relations: Sequence[FoundRelation | None]) -> FoundRelation | None:
    candidates = [one for one in relations if one is not None]
    return min(candidates, key=lambda one: _PLACES[one.relation]) if candidates else None


def _without_ids(choice_text: str) -> str:
    """Return a choice as listed, without node ids. Its tags tell a button from its label."""
    return " ".join(_NUMBER.sub("", choice_text).split())


def _target(record: StepUnit) -> Choice | None:
    """Return the listed acceptable element, preferably the one the list was made for."""
    right, shown = record.detail.right, record.detail.gold.shown
    return next((c for c in right if c.id == shown), right[0] if right else None)


def _chosen(record: StepUnit, prediction: Prediction) -> Choice | None:
    """Return the listed choice that was picked; for a point, the smallest one around it."""
    if prediction.element is not None:
        return next((c for c in record.detail.choices if c.id == prediction.element), None)
    if prediction.point is None:
        return None
    point = prediction.point
    hit = [
        (c.box[2] * c.box[3], c) for c in record.detail.choices if c.box and in_box(point, c.box)
    ]
    return min(hit, key=lambda pair: pair[0])[1] if hit else None


def _quote(text: str) -> str:
    return f"'{short(text)}'"


STEP_ERRORS = StepErrors()
