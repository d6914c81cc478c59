"""The error classes of recorded steps, in the order that they apply."""

from __future__ import annotations

from enum import StrEnum

from reports.errors import CUT_OFF, DECLINED, NOT_ANSWERED, ClassInfo


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


class Relation(StrEnum):
    """Relations of a wrongly chosen element to the right one, the closest first."""

    SAME_TEXT = "same text"
    ANCESTOR = "ancestor"
    DESCENDANT = "descendant"
    NEIGHBOUR = "neighbour"
    SAME_ROLE = "same role"
    ELSEWHERE = "elsewhere"
    UNKNOWN_PAGE = "unknown page"


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
