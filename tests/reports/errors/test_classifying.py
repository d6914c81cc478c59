"""Every class on a hand-made page, their precedence, and that every row has exactly one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.runs import StepUnit
from parsers import ELEMENT_ONLY, OPERATIONS, Prediction, Status
from reports.kinds.step.described import Relation
from reports.kinds.step.errors import CLASSES, ErrorClass, StepError, classify
from tests.reports.errors.cases import CHOICES, PAGE, TARGET, not_offered, record, rounds
from tests.units import changed

RIGHT_ELEMENT = {ErrorClass.NO_ACTION, ErrorClass.WRONG_OPERATION, ErrorClass.WRONG_VALUE}
SAID_TARGET = 'I click the button "Save address" to keep the town.'


def _class(made: StepUnit, first: str = "", page: str | None = PAGE) -> ErrorClass:
    return classify(made, rounds(made, first), page).error_class


def test_the_list_of_classes_is_complete_and_in_order() -> None:
    assert [info.error_class for info in CLASSES] == list(ErrorClass)


def test_an_invalid_row_is_invalid_whatever_was_answered() -> None:
    made = replace(record("15"), invalid="no_screenshot")
    found = classify(made, [], PAGE)
    assert (found.error_class, found.detail) == (ErrorClass.INVALID, "no_screenshot")


def test_unsettled_steps_carry_their_error() -> None:
    made = replace(record(), settled=False, error="timeout: \x1b[31mno reply", prediction=None)
    found = classify(made, [], PAGE)
    assert found.error_class is ErrorClass.UNSETTLED
    assert found.detail == "timeout: [31mno reply"


def test_a_valid_row_that_was_not_reached_is_unsettled() -> None:
    made = replace(record(), asked=False, prediction=None, scores=None)
    assert classify(made, [], None).detail == "not asked yet"


@pytest.mark.parametrize(
    "status",
    [
        Status.EMPTY,
        Status.PARSE_ERROR,
        Status.NO_ELEMENT,
        Status.AMBIGUOUS,
        Status.OUT_OF_RANGE,
        Status.CONTENT_FILTER,
        Status.TOO_LONG,
        Status.NO_REPLY,
    ],
)
def test_no_answer_names_the_status(status: Status) -> None:
    found = classify(record(None, None, status=status), [], PAGE)
    assert (found.error_class, found.detail) == (ErrorClass.NO_ANSWER, str(status))


def test_wrong_operation() -> None:
    found = classify(record(operation="TYPE", value="x"), [], PAGE)
    assert found.error_class is ErrorClass.WRONG_OPERATION
    assert found.detail == "said TYPE, recorded CLICK"


def test_a_reply_without_an_action_states_none_and_is_not_wrong_about_it() -> None:
    found = classify(record(operation=None), [], PAGE)
    assert (found.error_class, found.flags) == (ErrorClass.NO_ACTION, ("no_action",))
    wrong = classify(record("27", None), [], PAGE)
    assert wrong.error_class in (ErrorClass.WRONG_SAME_ROLE, ErrorClass.WRONG_ELSEWHERE)
    assert "no_action" in wrong.flags
    for flag in ("other_action", "unknown_action", "several_actions"):
        said = Prediction.of(Status.ANSWERED, element=TARGET, flags=(flag,))
        stated = classify(replace(record(operation=None), prediction=said), [], PAGE)
        assert (stated.error_class, stated.flags) == (ErrorClass.WRONG_OPERATION, ())
        assert "no operation" in stated.detail


def test_an_operation_that_nobody_asked_for_is_no_wrong_one() -> None:
    said = Prediction.of(Status.ANSWERED, element=TARGET, flags=(ELEMENT_ONLY,))
    right = replace(record(operation=None), prediction=said)
    assert right.scores is not None
    assert not right.scores["success"]
    assert _class(right) is ErrorClass.SUCCESS
    wrong = replace(
        record("27", None), prediction=Prediction.of(said.status, element="27", flags=said.flags)
    )
    assert _class(wrong) is ErrorClass.WRONG_SAME_ROLE


def test_an_operation_that_the_rules_do_not_accept_is_a_wrong_one() -> None:
    made = record()
    assert made.scores is not None
    strict = replace(made, scores={**made.scores, "success": 0.0})
    assert _class(strict) is ErrorClass.WRONG_OPERATION


def test_wrong_values_say_how_near_they_came() -> None:
    found = classify(record("12", "TYPE", "New York", gold=("TYPE", "New York City")), [], PAGE)
    assert found.error_class is ErrorClass.WRONG_VALUE
    assert found.near_f1 == pytest.approx(0.8)
    assert found.near_edit == pytest.approx(5 / 13)
    assert found.flags == ("near_miss",)
    far = classify(record("12", "TYPE", "abc", gold=("TYPE", "xyz")), [], PAGE)
    assert (far.near_f1, far.near_edit, far.flags) == (0.0, 1.0, ())


@pytest.mark.parametrize(
    ("element", "expected", "detail"),
    [
        ("10", ErrorClass.WRONG_ANCESTOR, "1 above the target"),
        ("13", ErrorClass.WRONG_DESCENDANT, "1 below the target"),
        ("15", ErrorClass.WRONG_NEIGHBOUR, "adjacent sibling"),
        ("27", ErrorClass.WRONG_SAME_ROLE, "both button"),
        ("29", ErrorClass.WRONG_SAME_TEXT, "the same words on the page"),
        ("22", ErrorClass.WRONG_ELSEWHERE, "link, target button"),
        ("25", ErrorClass.WRONG_ELSEWHERE, "p, target button"),
        ("31", ErrorClass.WRONG_UNKNOWN_PAGE, "the element is not on the page"),
        ("99", ErrorClass.WRONG_UNKNOWN_PAGE, "the element is not on the page"),
    ],
)
def test_wrong_elements_by_their_place(element: str, expected: ErrorClass, detail: str) -> None:
    found = classify(record(element), [], PAGE)
    assert (found.error_class, found.detail) == (expected, detail)


def test_boxes_make_neighbours_too() -> None:
    page = PAGE.replace("</body>", '<p backend_node_id="31">Beside</p></body>')
    found = classify(record("31"), [], page)
    assert (found.error_class, found.detail) == (ErrorClass.WRONG_NEIGHBOUR, "30 px away")


def test_what_reads_the_same_in_the_list_is_the_same_text_without_a_page() -> None:
    twin = replace(CHOICES[5], text="<button id=77> <span> Save address </span> </button>")
    made = record("22", choices=(*CHOICES[:5], twin, *CHOICES[6:]))
    assert _class(made, page=None) is ErrorClass.WRONG_SAME_TEXT


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<a bnid=7><text bnid=9>Go</text></a>", "<a bnid=70><text bnid=90>Go</text></a>"),
        ("(a id=7 Go )", "(a id=12 Go )"),
    ],
)
def test_numbers_of_nodes_make_no_difference_in_any_form_of_the_list(one: str, other: str) -> None:
    made = record("22")
    twins = {"12": one, "22": other}
    listed = tuple(replace(c, text=twins.get(c.id, c.text)) for c in made.detail.choices)
    assert _class(changed(made, choices=listed), page=None) is ErrorClass.WRONG_SAME_TEXT


def test_without_a_page_the_relation_is_unknown_and_boxes_are_a_hint() -> None:
    found = classify(record("31"), [], None)
    assert found.error_class is ErrorClass.WRONG_UNKNOWN_PAGE
    assert found.relation is Relation.UNKNOWN_PAGE
    assert found.detail == "the page is gone; 30 px away"
    assert _class(record("15"), SAID_TARGET, None) is ErrorClass.WRONG_UNKNOWN_PAGE


@pytest.mark.parametrize(
    "page", ["", "<html", "no markup", "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>"]
)
def test_a_page_that_cannot_be_read_is_an_unknown_page(page: str) -> None:
    found = classify(record("22"), [], page)
    assert found.error_class is ErrorClass.WRONG_UNKNOWN_PAGE
    assert found.detail.startswith("the page ")


@pytest.mark.parametrize("element", ["15", "22", "25", "27"])
def test_round_1_described_the_target(element: str) -> None:
    made = record(element)
    found = classify(made, rounds(made, SAID_TARGET), PAGE)
    assert found.error_class is ErrorClass.WRONG_DESCRIBED
    assert found.flags == ("described_target",)
    assert found.relation in (Relation.NEIGHBOUR, Relation.SAME_ROLE, Relation.ELSEWHERE)


@pytest.mark.parametrize(
    ("element", "expected"), [("10", ErrorClass.WRONG_ANCESTOR), ("29", ErrorClass.WRONG_SAME_TEXT)]
)
def test_nested_and_equal_elements_come_before_what_round_1_described(
    element: str, expected: ErrorClass
) -> None:
    assert _class(record(element), SAID_TARGET) is expected


def test_a_point_is_taken_for_the_smallest_choice_that_it_lies_in() -> None:
    made = record(None, point=(310.0, 110.0))
    found = classify(made, [], PAGE)
    assert (found.error_class, found.chosen) == (ErrorClass.WRONG_NEIGHBOUR, CHOICES[4].text)


def test_a_point_beside_all_choices_is_near_or_elsewhere() -> None:
    assert (
        classify(record(None, point=(110.0, 220.0)), [], PAGE).detail
        == "a point outside all choices"
    )
    near = classify(not_offered(record(None, point=(120.0, 250.0))), [], None)
    assert near.error_class is ErrorClass.WRONG_ELSEWHERE


def test_texts_are_kept_to_one_harmless_line() -> None:
    evil = replace(CHOICES[5], text="<a> \x1b]0;x\x07\n<script>alert(1)</script> \u202e </a>")
    made = record("22", choices=(*CHOICES[:5], evil, *CHOICES[6:]))
    found = classify(made, [], PAGE)
    assert found.chosen == "<a> ]0;x <script>alert(1)</script>  </a>"


# What each class means, said once more and independently, without an order among them.
def _predicates(made: StepUnit, found: StepError) -> dict[str, bool]:
    said, scores = made.prediction, made.scores
    valid = made.invalid is None
    settled = valid and made.settled and said is not None and scores is not None
    failed = settled and scores is not None and not scores["success"]
    status = said.status if said is not None else None
    offered = bool(made.detail.right)
    answered = failed and status is Status.ANSWERED
    right = answered and scores is not None and scores["element"] == 1
    wrong = answered and scores is not None and scores["element"] == 0
    same = said is not None and said.operation == made.detail.gold.operation
    plain = made.detail.gold.operation == "CLICK"
    silent = failed and status not in (Status.ANSWERED, Status.NONE, Status.NOT_OFFERED)
    return {
        "invalid": not valid,
        "unanswered": valid and not settled,
        "success": settled and not failed,
        "truncated": failed and status is Status.TRUNCATED,
        "refused": failed and status in (Status.REFUSAL, Status.PROVIDER_REFUSED),
        "no_answer": silent
        and status not in (Status.TRUNCATED, Status.REFUSAL, Status.PROVIDER_REFUSED),
        "no_action": right and said is not None and said.operation is None,
        "wrong_operation": right
        and said is not None
        and said.operation is not None
        and (plain or not same),
        "wrong_value": right and same and not plain,
        "none_chosen": failed and status is Status.NONE and offered,
        "not_offered": (failed and status is Status.NOT_OFFERED)
        or ((wrong or (failed and status is Status.NONE)) and not offered),
        "wrong element": wrong and offered,
    }


_records = st.builds(
    record,
    st.sampled_from([*(choice.id for choice in CHOICES), "99"]),
    st.sampled_from([*OPERATIONS, None]),
    st.sampled_from(["", "Ohio", "ohio", "New York"]),
    status=st.sampled_from(Status),
    gold=st.tuples(st.sampled_from(OPERATIONS), st.sampled_from(["", "Ohio", "York"])),
    invalid=st.sampled_from([None, None, None, "no_positive"]),
    settled=st.sampled_from([True, True, True, False]),
    asked=st.booleans(),
)
_pages = st.sampled_from([PAGE, PAGE, None, "<html"])
_replies = st.sampled_from(["", SAID_TARGET, "Click 'Fares'.", "Nothing \udc00 to do"])


def wrong_element(error_class: ErrorClass) -> bool:
    return str(error_class).startswith("wrong_") and error_class not in RIGHT_ELEMENT


@settings(max_examples=300, deadline=None)
@given(_records, _pages, _replies, st.booleans())
def test_every_row_has_exactly_one_class(
    made: StepUnit, page: str | None, first: str, listed: bool
) -> None:
    made = made if listed else not_offered(made)
    found = classify(made, rounds(made, first), page)
    holding = [name for name, holds in _predicates(made, found).items() if holds]
    name: Any = "wrong element" if wrong_element(found.error_class) else str(found.error_class)
    assert holding == [name]
    assert (found.relation is not None) == wrong_element(found.error_class)
    assert (found.near_f1 is not None) == (found.error_class is ErrorClass.WRONG_VALUE)
    assert found == classify(made, rounds(made, first), page)
