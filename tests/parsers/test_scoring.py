from __future__ import annotations

import math

import pytest

from parsers import F1_VARIANTS, Gold, Prediction, ScoringRules, Status, score
from tests.units import step_scores

CLICK = Gold("CLICK", "", ("1", "2"), ((10.0, 20.0, 30.0, 40.0), (0.0, 0.0, 0.0, 5.0)))
TYPE = Gold("TYPE", "wedding photographer", ("1",), (None,))
ZERO: dict[str, float] = dict.fromkeys(F1_VARIANTS, 0.0)
ONE: dict[str, float] = dict.fromkeys(F1_VARIANTS, 1.0)


def test_every_positive_is_right() -> None:
    for element in CLICK.elements:
        scores = score(Prediction.of(Status.ANSWERED, element=element, operation="CLICK"), CLICK)
        assert scores == step_scores(True, ONE, True, True)
    wrong = score(Prediction.of(Status.ANSWERED, element="3", operation="CLICK"), CLICK)
    assert wrong == step_scores(False, ONE, True, False)


def test_success_needs_the_operation_too() -> None:
    half = score(
        Prediction.of(Status.ANSWERED, element="1", operation="TYPE", value="wedding"), TYPE
    )
    assert (half["element"], half["operation_f1.mind2web"], half["success"]) == (True, 0.8, False)


@pytest.mark.parametrize(
    "status", [Status.NONE, Status.AMBIGUOUS, Status.NO_ELEMENT, Status.OUT_OF_RANGE]
)
def test_operation_is_scored_when_the_element_is_none_or_unreadable(status: Status) -> None:
    assert score(Prediction.of(status, operation="CLICK"), CLICK) == step_scores(
        False, ONE, True, False
    )


@pytest.mark.parametrize(
    "status",
    [
        Status.PARSE_ERROR,
        Status.REFUSAL,
        Status.EMPTY,
        Status.TRUNCATED,
        Status.CONTENT_FILTER,
        Status.TOO_LONG,
        Status.NO_REPLY,
    ],
)
def test_settled_without_an_answer_is_zero(status: Status) -> None:
    # Even a prediction that carries more than its status should.
    full = Prediction.of(status, element="1", operation="CLICK")
    assert score(full, CLICK) == step_scores(False, ZERO, False, False)


def test_none_can_zero_the_operation() -> None:
    rules = ScoringRules(none_zeroes_operation=True)
    none = score(Prediction.of(Status.NONE, operation="CLICK"), CLICK, rules)
    assert none == step_scores(False, ZERO, False, False)
    wrong = Prediction.of(Status.ANSWERED, element="3", operation="CLICK")
    assert score(wrong, CLICK, rules)["operation_f1.mind2web"] == 1.0


def test_the_operation_can_be_zero_wherever_there_is_no_element() -> None:
    # Mind2Web and SeeAct set operation F1 to 0 there (protocol.md 3.1 and row 13 of 4.3): of five
    # such replies with the right operation, none scores; a wrong element keeps its operation.
    rules = ScoringRules(no_element_zeroes_operation=True)
    without = (
        *(Status.NONE, Status.NO_ELEMENT, Status.OUT_OF_RANGE),
        *(Status.AMBIGUOUS, Status.PARSE_ERROR),
    )
    for status in without:
        prediction = Prediction.of(status, operation="CLICK")
        assert score(prediction, CLICK, rules) == step_scores(False, ZERO, False, False)
    wrong = Prediction.of(Status.ANSWERED, element="3", operation="CLICK")
    assert score(wrong, CLICK, rules) == step_scores(False, ONE, True, False)
    point = Prediction.of(Status.ANSWERED, point=(25.0, 40.0), operation="CLICK")
    assert score(point, CLICK, rules)["success"]


def test_any_wrong_element_can_zero_the_operation() -> None:
    rules = ScoringRules(wrong_element_zeroes_operation=True)
    for prediction in (
        Prediction.of(Status.ANSWERED, element="3", operation="CLICK"),
        Prediction.of(Status.AMBIGUOUS, operation="CLICK"),
    ):
        assert score(prediction, CLICK, rules) == step_scores(False, ZERO, False, False)
    right = Prediction.of(Status.ANSWERED, element="1", operation="CLICK")
    assert score(right, CLICK, rules)["success"]


def test_mapped_operations_can_count_as_wrong() -> None:
    hover = Prediction.of(
        Status.ANSWERED, element="1", operation="CLICK", flags=("mapped_operation",)
    )
    assert score(hover, CLICK)["success"]
    assert score(hover, CLICK, ScoringRules(accept_mapped=False)) == step_scores(
        True, ZERO, False, False
    )


def test_value_of_a_click_does_not_matter() -> None:
    prediction = Prediction.of(Status.ANSWERED, element="1", operation="CLICK", value="None")
    assert score(prediction, CLICK)["success"]


def test_step_criterion_f1_or_exact() -> None:
    turned = Prediction.of(
        Status.ANSWERED, element="1", operation="TYPE", value="photographer wedding"
    )
    assert score(turned, TYPE)["success"]
    assert not score(turned, TYPE)["operation_exact"]
    assert not score(turned, TYPE, ScoringRules(step_rule="exact"))["success"]


def test_headline_variant_decides_success_and_case() -> None:
    upper = Prediction.of(
        Status.ANSWERED, element="1", operation="TYPE", value="Wedding Photographer"
    )
    assert not score(upper, TYPE)["success"]
    assert not score(upper, TYPE)["operation_exact"]
    for variant in ("mind2web-lc", "cl100k-lc"):
        scores = score(upper, TYPE, ScoringRules(variant=variant))
        assert scores["success"]
        assert scores["operation_exact"]


def test_other_action_is_a_wrong_operation() -> None:
    scroll = Prediction.of(Status.ANSWERED, element="1", flags=("other_action",))
    assert score(scroll, CLICK) == step_scores(True, ZERO, False, False)


@pytest.mark.parametrize(
    ("point", "inside"),
    [
        ((10, 20), True),
        ((40, 60), True),
        ((25, 40), True),
        ((40.1, 60), False),
        ((9.9, 20), False),
        ((0, 0), False),
        ((0, 2), False),
        ((math.nan, 30), False),
        ((math.inf, 30), False),
    ],
)
def test_point_in_a_box_border_included_empty_box_never(
    point: tuple[float, float], inside: bool
) -> None:
    prediction = Prediction.of(Status.ANSWERED, point=point, operation="CLICK")
    assert score(prediction, CLICK)["element"] == inside


def test_a_point_cannot_hit_an_unknown_box() -> None:
    prediction = Prediction.of(Status.ANSWERED, point=(1, 1), operation="TYPE")
    assert not score(prediction, TYPE)["element"]


def test_without_positives_nothing_is_right() -> None:
    scores = score(
        Prediction.of(Status.ANSWERED, element="1", operation="CLICK"), Gold("CLICK", "", ())
    )
    assert scores == step_scores(False, ONE, True, False)


NESTED = Gold(
    "CLICK",
    "",
    ("outer", "inner"),
    ((0.0, 0.0, 100.0, 50.0), (10.0, 10.0, 20.0, 20.0)),
    original="inner",
)


@pytest.mark.parametrize(
    ("point", "under", "box", "smallest", "original"),
    [
        ((15, 15), "inner", True, True, True),
        ((30, 30), "inner", True, True, True),
        ((80, 40), "outer", True, True, False),
        ((80, 40), "icon", True, False, False),
        ((80, 40), None, True, False, False),
        ((200, 40), "else", False, False, False),
        # An acceptable candidate may lie under the point without a box on record.
        ((200, 40), "outer", False, True, False),
    ],
)
def test_a_point_is_right_by_box_by_smallest_candidate_or_by_the_labelled_box(
    point: tuple[float, float], under: str | None, box: bool, smallest: bool, original: bool
) -> None:
    prediction = Prediction.of(Status.ANSWERED, point=point, operation="CLICK", under=under)
    for rule, right in (("box", box), ("smallest", smallest), ("original", original)):
        scores = score(prediction, NESTED, ScoringRules(point_rule=rule))  # type: ignore[arg-type]
        assert scores["element"] == scores["success"] == right
        assert (scores["element_in_box"], scores["element_under"]) == (box, smallest)


def test_an_answer_that_names_an_element_has_no_point_to_score() -> None:
    scores = score(Prediction.of(Status.ANSWERED, element="inner", operation="CLICK"), NESTED)
    assert (scores["element"], scores["element_in_box"], scores["element_under"]) == (
        True,
        None,
        None,
    )
