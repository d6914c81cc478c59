"""The scores of one recorded step: its prediction against the recorded action.

Points are products and quotients of measured numbers: one that is meant to lie on a border
may miss it by the last digits. Pixels of a picture or a page that differ by less than `TOLERANCE`
are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from parsers.records import F1_VARIANTS, F1Variant, Gold, Prediction, Scores, Status
from parsers.token_scores import operation_exact, operation_f1

Point = tuple[float, float]

TOLERANCE = 1e-6
"""Largest distance in pixels of a point on a border."""


def within(point: Point, edges: tuple[float, float, float, float]) -> bool:
    """Return True if (x, y) lies between (left, top, right, bottom), the borders included.

    Examples:
        >>> within((10.0000005, 5), (0, 0, 10, 5)), within((10.000002, 5), (0, 0, 10, 5))
        (True, False)
    """
    x, y = point
    left, top, right, bottom = edges
    return (
        left - x <= TOLERANCE
        and x - right <= TOLERANCE
        and top - y <= TOLERANCE
        and y - bottom <= TOLERANCE
    )


def in_box(point: Point, box: tuple[float, float, float, float]) -> bool:
    """Return True if (x, y) lies in (x, y, width, height); a box without area contains no point.

    Examples:
        >>> in_box((10, 5), (0, 0, 10, 5)), in_box((0, 0), (0, 0, 0, 5))
        (True, False)
    """
    x, y, width, height = box
    return width > 0 and height > 0 and within(point, (x, y, x + width, y + height))


_NO_ELEMENT = frozenset(
    {Status.NONE, Status.NO_ELEMENT, Status.OUT_OF_RANGE, Status.AMBIGUOUS, Status.PARSE_ERROR}
)
"""Statuses of replies that name no element, whether on purpose or not."""

# Statuses of steps without an answer that could be scored.
_NO_ANSWER = frozenset(
    {
        Status.PARSE_ERROR,
        Status.REFUSAL,
        Status.OUT_OF_TURNS,
        Status.EMPTY,
        Status.TRUNCATED,
        Status.CONTENT_FILTER,
        Status.PROVIDER_REFUSED,
        Status.TOO_LONG,
        Status.NOT_OFFERED,
        Status.NO_REPLY,
    }
)


PointRule = Literal["box", "smallest", "original"]
"""When a point is correct; see `ScoringRules.point_rule`."""
AS_WRITTEN = "operation_as_written"
"""Operation and value in one string as the reader of a paper takes them, where it is part of
`Prediction.parsed`: compared instead of those of the action."""
StepRule = Literal["f1", "exact"]
"""When the operation of a step is right; see `ScoringRules.step_rule`."""


@dataclass(frozen=True, slots=True)
class ScoringRules:
    """Choices on which published evaluations differ, with our defaults.

    Attributes:
        variant: the operation F1 that decides step success.
        step_rule: success needs F1 = 1 (`f1`, as published) or the same string (`exact`).
        none_zeroes_operation: the operation scores zero if the model answers None.
        no_element_zeroes_operation: it scores zero wherever the reply names no element: None,
            unreadable, ambiguous, beyond the list (the released code of Mind2Web and SeeAct).
        wrong_element_zeroes_operation: it also scores zero if the element is wrong.
        accept_mapped: HOVER, ENTER and PRESS ENTER count as CLICK.
        bag: compare multisets of tokens in the cl100k variant.
        point_rule: a point is correct inside the box of an acceptable element (`box`); if the
            smallest candidate under it is acceptable (`smallest`, comparable to answers that name a
            candidate); or only inside the box of the labelled element (`original`, as in SeeClick's
            evaluation, which has one box per step).
        variants: further variants of operation F1 to compute.
    """

    variant: F1Variant = "mind2web"
    step_rule: StepRule = "f1"
    none_zeroes_operation: bool = False
    no_element_zeroes_operation: bool = False
    wrong_element_zeroes_operation: bool = False
    accept_mapped: bool = True
    bag: bool = False
    point_rule: PointRule = "box"
    variants: tuple[F1Variant, ...] = F1_VARIANTS


DEFAULT_RULES = ScoringRules()


def score(prediction: Prediction, gold: Gold, rules: ScoringRules = DEFAULT_RULES) -> Scores:
    """Return the scores of one step that `parsers.mind2web.MIND2WEB` declares.

    The element is correct if the chosen node is among the positives (Mind2Web, appendix C.1) or,
    for a prediction by coordinates, if the point lies in one of their boxes, borders included (or
    by another `point_rule`); a box without area contains no point. The operation is scored whether
    or not the element is correct, unless the rules say otherwise. Step success needs the correct
    element and an operation F1 of 1 in the headline variant. `operation_exact` is case-sensitive if
    that variant is.

    True if a point lies in an acceptable box, and if the smallest candidate under it is
    acceptable, is scored for every answer by coordinates, whichever of them the rules use for the
    element; it is None for an answer that names an element.

    Examples:
        >>> gold = Gold("CLICK", "", ("8635",))
        >>> score(Prediction.of(Status.ANSWERED, "H", "8635", operation="CLICK"), gold)["success"]
        1.0
    """
    variants = tuple(dict.fromkeys((*rules.variants, rules.variant)))
    no_answer = prediction.status in _NO_ANSWER
    answered = prediction.status is Status.ANSWERED
    element = answered and _element_right(prediction, gold, rules.point_rule)
    in_any = under = None
    if answered and prediction.element is None and prediction.point is not None:
        in_any = _element_right(prediction, gold, "box")
        under = _element_right(prediction, gold, "smallest")
    mapped = "mapped_operation" in prediction.flags and not rules.accept_mapped
    none = prediction.status is Status.NONE and rules.none_zeroes_operation
    none = none or (prediction.status in _NO_ELEMENT and rules.no_element_zeroes_operation)
    missed = not element and rules.wrong_element_zeroes_operation
    said = prediction.parsed.get(AS_WRITTEN)
    written = said if isinstance(said, str) else None
    unsaid = prediction.operation is None and written is None
    if no_answer or mapped or none or missed or unsaid:
        zeros: dict[str, float] = dict.fromkeys(variants, 0.0)
        return _scores(element, zeros, rules.variant, False, False, in_any, under)
    predicted = prediction.operation, prediction.value
    recorded = gold.operation, gold.value
    f1 = operation_f1(*predicted, *recorded, bag=rules.bag, variants=variants, written=written)
    lower = rules.variant.endswith("-lc")
    exact = operation_exact(*predicted, *recorded, lower=lower, written=written)
    success = step_success(element, f1[rules.variant], exact, rules.step_rule)
    return _scores(element, f1, rules.variant, exact, success, in_any, under)


def _scores(
    element: bool,
    operation_f1: Mapping[str, float],
    variant: str,
    operation_exact: bool,
    success: bool,
    in_box: bool | None,
    under: bool | None,
) -> Scores:
    return {
        "element": float(element),
        "operation_f1": operation_f1[variant],
        **{f"operation_f1.{name}": value for name, value in operation_f1.items()},
        "operation_exact": float(operation_exact),
        "success": float(success),
        "element_in_box": None if in_box is None else float(in_box),
        "element_under": None if under is None else float(under),
    }


def step_success(element: bool, f1: float, exact: bool, step_rule: StepRule = "f1") -> bool:
    """Return True if a step succeeds: a correct element, and an operation that is correct by the
    rule.

    Examples:
        >>> step_success(True, 1.0, False), step_success(True, 1.0, False, "exact")
        (True, False)
    """
    return element and (exact if step_rule == "exact" else f1 == 1.0)


def _element_right(prediction: Prediction, gold: Gold, rule: PointRule) -> bool:
    if prediction.element is not None:
        return prediction.element in gold.elements
    if prediction.point is None:
        return False
    if rule == "smallest":
        return prediction.under in gold.elements
    boxes = gold.boxes
    if rule == "original" and gold.original in gold.elements:
        boxes = (gold.boxes[gold.elements.index(gold.original)],) if gold.boxes else ()
    return any(box is not None and in_box(prediction.point, box) for box in boxes)
