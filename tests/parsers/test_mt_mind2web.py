"""The two groupings of MT-Mind2Web's measures, by hand."""

from __future__ import annotations

import string
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.benchmarks.conversation.mt_mind2web import MT_MIND2WEB, VARIANTS, mt_score
from parsers import AggregationRules, Gold, Prediction, ScoringRules, Status, results
from parsers.records import F1Variant, ScoredUnit
from parsers.token_scores import token_f1
from tests.numbers import estimate
from tests.parsers.steps import once

GOLD = Gold("CLICK", "", ("right", "also"))
RIGHT = Prediction.of(Status.ANSWERED, "A", "also", operation="CLICK")
WRONG = Prediction.of(Status.ANSWERED, "A", "other", operation="CLICK")


def units(outcomes: dict[str, list[str]]) -> list[ScoredUnit]:
    """Steps of conversations, as turns of 1 (right) and 0 (wrong element)."""
    return [
        ScoredUnit(
            unit_id=f"{conversation}-{turn}-{place}",
            split="test_task",
            parents={
                "task": f"{conversation}-{turn}",
                "conversation": conversation,
                "website": "w",
            },
            labels={"domain": "d", "subdomain": "s", "turn": str(turn + 1), "operation": "CLICK"},
            invalid=None,
            scores=mt_score(RIGHT if won == "1" else WRONG, GOLD),
            status=Status.ANSWERED,
        )
        for conversation, turns in outcomes.items()
        for turn, steps in enumerate(turns)
        for place, won in enumerate(steps)
    ]


EXAMPLE = {"a": ["1", "1", "0011"], "b": ["110"]}
"""By turn, the element is right in (1 + 1 + 1/2 + 2/3) / 4, by conversation in (4/6 + 2/3) / 2;
over all, in 6 of 9 steps. Turns succeed in (2/3 + 0) / 2 by conversation; 2 of 4 are won."""
BY_TURN, BY_CONVERSATION = Fraction(19, 24), Fraction(2, 3)


def test_both_groupings_of_all_four_measures() -> None:
    found = results(once(units(EXAMPLE)), MT_MIND2WEB)

    def macro(name: str) -> float | None:
        return estimate(found, name, "macro").number

    assert macro("element") == pytest.approx(float(BY_TURN))
    assert macro("element_by_conversation") == pytest.approx(float(BY_CONVERSATION))
    assert macro("success") == pytest.approx(float(BY_CONVERSATION))  # SSR
    assert macro("success_by_turn") == pytest.approx(float(BY_TURN))
    assert macro("operation_f1") == macro("operation_f1_by_conversation") == 1.0
    for name in ("element", "success"):
        assert estimate(found, name, "micro").number == pytest.approx(6 / 9)
    by_conversation, by_turn = (
        estimate(found, name) for name in ("turn_success", "turn_success_by_turn")
    )
    assert by_conversation.number == pytest.approx(1 / 3)  # TSR
    assert by_turn.number == pytest.approx(2 / 4)
    assert (by_conversation.won, by_conversation.n) == (2, 4)
    assert MT_MIND2WEB.main.name == "turn_success"


MANY = once(units({f"c{n}": ["1", "0"] if n % 2 else ["1"] for n in range(80)}))


def test_intervals_take_conversations_as_independent() -> None:
    rate = estimate(results(MANY, MT_MIND2WEB), "turn_success")
    assert rate.interval is not None and rate.number == pytest.approx(0.75)
    assert rate.interval.clusters == 80
    assert rate.interval.low < 0.75 < rate.interval.high
    by_site = AggregationRules(cluster="website")
    one = estimate(results(MANY, MT_MIND2WEB, by_site), "turn_success")
    assert one.interval is None  # all on one site


def test_means_over_conversations_never_take_turns_as_independent() -> None:
    by_turn = replace(MT_MIND2WEB, clusters=("task", "conversation"))
    rate = estimate(results(MANY, by_turn), "turn_success")
    assert rate.interval is not None and rate.interval.clusters == 80
    assert rate == estimate(results(MANY, MT_MIND2WEB), "turn_success")
    # The mean over turns may: a conversation has one or two.
    of_turns = estimate(results(MANY, by_turn), "turn_success_by_turn")
    assert of_turns.interval is not None and of_turns.interval.clusters == 120


def test_repeats_are_averaged_within_conversations() -> None:
    first, second = units({"a": ["1", "0"], "b": ["1"]}), units({"a": ["0", "0"], "b": ["1"]})
    trials = [*once(first), *((1, unit) for unit in second)]
    rate = estimate(results(trials, MT_MIND2WEB), "turn_success")
    # (1/2 + 1) / 2 and (0 + 1) / 2
    assert rate.number == pytest.approx((0.75 + 0.5) / 2)


def test_a_step_without_an_acceptable_element_fails_its_turn() -> None:
    nothing = Gold("TYPE", "x", ())
    scores = mt_score(Prediction(Status.NOT_OFFERED), nothing)
    assert set(scores) == set(MT_MIND2WEB.scores)
    assert all(not value for value in scores.values())
    assert mt_score(RIGHT, nothing)["element"] == 0.0


@pytest.mark.parametrize(
    ("said", "recorded", "choice", "generation"),
    [
        ("Aug 5 - 7", "Aug 5 7", 2 * 4 / 9, 1.0),
        ("Aug 5 , 7", "Aug 5 - 7", 2 * 4 / 10, 1.0),
        ("New york", "New York", 2 / 3, 2 / 3),  # case counts
        ("b a a", "a b", 1.0, 1.0),  # sets
        ("5,", "5", 0.5, 0.5),  # the mark is part of a word
        ('!"', "", 2 / 3, 1.0),  # marks in the order of string.punctuation
        ('"!', "", 2 / 3, 2 / 3),
    ],
)
def test_operation_f1_by_the_rules_for_choices_and_for_written_answers(
    said: str, recorded: str, choice: float, generation: float
) -> None:
    gold = Gold("TYPE", recorded, ("right",))
    prediction = Prediction.of(Status.ANSWERED, "A", "right", operation="TYPE", value=said)
    for variant, expected in (("mind2web", choice), ("mind2web-np", generation)):
        scores = mt_score(prediction, gold, rules := rules_of(variant))
        assert scores[f"operation_f1.{variant}"] == pytest.approx(expected)
        assert scores["operation_f1_by_conversation"] == pytest.approx(expected)
        assert scores["success"] == scores["success_by_turn"] == float(expected == 1.0), rules


def rules_of(variant: str) -> ScoringRules:
    (found,) = (one for one in VARIANTS if one == variant)
    return ScoringRules(variant=found)


words = st.lists(st.sampled_from(["a", "B", "-", ",", "+,-", "a,", "5"]), max_size=4).map(" ".join)


@given(words, words)
def test_f1_is_that_of_sets_written_out(one: str, other: str) -> None:
    """Against the definition in precision and recall."""
    written: F1Variant
    for written, drop in (("mind2web", ""), ("mind2web-np", string.punctuation)):
        said, meant = (
            {word for word in text.split() if not (drop and word in drop)} for text in (one, other)
        )
        expected = 1.0 if not said and not meant else 0.0
        if shared := len(said & meant):
            precision, recall = shared / len(said), shared / len(meant)
            expected = 2 * precision * recall / (precision + recall)
        assert token_f1(one, other, written) == pytest.approx(expected)
