"""The baselines that know nothing, and the one that knows everything."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from adapters.entry_points import EntryPoint
from adapters.registry import Entry, UnknownName
from harness.benchmarks.episode.miniwob.policy import Scripted
from harness.policies import (
    POLICIES,
    AlwaysClick,
    ItemPolicy,
    Oracle,
    RandomPolicy,
    Secret,
    answers,
    chance_for,
    is_policy,
    policies_for,
    policy_named,
)
from harness.records import Choice, Step
from harness.views import ItemView, LiveView, PlaceView, StepView
from parsers.grounding import Target
from parsers.records import OPERATIONS, Gold, Prediction, Status
from tests.harness.protocols.examples import choices, step

LISTED = choices(None, *(f"<a id={i}> {i} </a>" for i in range(10)))
STEPS = [step(step_id=f"task_{number}") for number in range(2000)]


def draw(about: Step, seed: int = 42, repeat: int = 0) -> random.Random:
    return chance_for(seed, repeat, about.step_id, "policy")


def distance(counts: Counter[str], names: list[str], total: int) -> float:
    """Pearson's chi-square against equal shares."""
    expected = total / len(names)
    assert set(counts) <= set(names)
    return sum((counts[name] - expected) ** 2 / expected for name in names)


def test_random_is_uniform_over_choices_and_operations_and_never_none() -> None:
    answers = [
        RandomPolicy().predict(StepView(about, LISTED), draw(about), None) for about in STEPS
    ]
    assert {answer.status for answer in answers} == {Status.ANSWERED}
    assert {answer.value for answer in answers} == {""}
    elements = Counter(str(answer.element) for answer in answers)
    operations = Counter(str(answer.operation) for answer in answers)
    # 99.9th percentiles of chi-square with 9 and 2 degrees of freedom.
    assert distance(elements, [choice.id for choice in LISTED], len(STEPS)) < 27.9
    assert distance(operations, list(OPERATIONS), len(STEPS)) < 13.8


def test_letter_and_element_belong_together() -> None:
    known = {choice.letter: choice.id for choice in LISTED}
    for policy in (RandomPolicy(), AlwaysClick()):
        for about in STEPS[:50]:
            answer = policy.predict(StepView(about, LISTED), draw(about), None)
            assert answer.letter is not None
            assert known[answer.letter] == answer.element


def test_each_use_and_each_sample_has_draws_of_its_own() -> None:
    drawn = [
        chance_for(42, 0, "step-1", label, sample).random()
        for label in ("policy", "oracle")
        for sample in (0, 1)
    ]
    assert len(set(drawn)) == 4


def test_always_click_clicks_the_element_that_random_picks() -> None:
    for about in STEPS[:200]:
        clicked = AlwaysClick().predict(StepView(about, LISTED), draw(about), None)
        picked = RandomPolicy().predict(StepView(about, LISTED), draw(about), None)
        assert (clicked.element, clicked.operation) == (picked.element, "CLICK")


def test_the_oracle_gives_a_listed_positive_with_operation_and_value() -> None:
    secret = Secret(Gold("TYPE", "Ada Lovelace", ("elsewhere", "n7")), "n7")
    answer = Oracle().predict(StepView(STEPS[0], LISTED), draw(STEPS[0]), secret)
    assert (answer.status, answer.letter, answer.element) == (Status.ANSWERED, "H", "n7")
    assert (answer.operation, answer.value) == ("TYPE", "Ada Lovelace")


def test_the_oracle_says_none_where_no_positive_is_listed() -> None:
    secret = Secret(Gold("SELECT", "2", ("elsewhere",)), None)
    answer = Oracle().predict(StepView(STEPS[0], LISTED), draw(STEPS[0]), secret)
    assert (answer.status, answer.element) == (Status.NONE, None)
    assert (answer.operation, answer.value) == ("SELECT", "2")


def test_the_oracle_does_not_guess() -> None:
    with pytest.raises(ValueError, match="needs the recorded answer"):
        Oracle().predict(StepView(STEPS[0], LISTED), draw(STEPS[0]), None)


def test_every_shipped_policy_answers_and_only_the_oracle_asks_for_the_answer() -> None:
    listed: tuple[Choice, ...] = LISTED[:1]
    for name in policies_for(StepView):
        policy = policy_named(name, StepView)
        assert policy.name == name
        assert policy.needs_gold is (name == "oracle")
        secret = Secret(Gold("CLICK", "", ("n0",)), "n0")
        answer = policy.predict(StepView(STEPS[0], listed), draw(STEPS[0]), secret)
        assert answer.element == "n0"


def test_where_nothing_is_to_be_done_the_oracle_declines() -> None:
    secret = Secret(Target("absent"))
    assert Oracle().predict(STEPS[0], draw(STEPS[0]), secret).status is Status.NONE
    answer = Oracle().predict(STEPS[0], draw(STEPS[0]), Secret(Target("box", (0, 0, 4, 2))))
    assert (answer.status, answer.point) == (Status.ANSWERED, (2, 1))


class CoinView(ItemView[str]):
    """A coin."""


class LostView(CoinView):
    """A coin of which nobody knows how it fell."""

    recorded = False


HEADS = ItemPolicy("random", CoinView, lambda *_: Prediction(Status.NONE))
PEEKS = replace(HEADS, name="oracle", View=LostView, needs_gold=True)


@pytest.fixture
def coins(monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[Any] = [Entry("oracle", PEEKS)]
    monkeypatch.setattr(POLICIES, "_further", [*POLICIES._further, *added])
    points = {name: EntryPoint(f"{__name__}:HEADS") for name in ("random", "toss")}
    monkeypatch.setattr(POLICIES, "_foreign", points)


def test_a_name_stands_for_the_policy_that_answers_what_is_shown(coins: None) -> None:
    assert type(policy_named("random", StepView)) is RandomPolicy
    assert type(policy_named("random", LiveView)) is RandomPolicy
    assert policy_named("random", CoinView) is HEADS
    assert policy_named("toss", StepView) is HEADS  # its `View` says that it answers no step
    assert is_policy("toss") and not is_policy("dice")
    assert policies_for(CoinView) == ["oracle", "random", "toss"]
    with pytest.raises(UnknownName, match="unknown policy 'dice'"):
        policy_named("dice", CoinView)


def test_who_needs_an_answer_that_is_not_on_record_has_to_name_the_very_view(coins: None) -> None:
    assert answers(Oracle(), CoinView) and not answers(Oracle(), LostView)
    assert answers(HEADS, LostView) and answers(PEEKS, LostView)
    assert policy_named("oracle", LostView) is PEEKS
    assert type(policy_named("oracle", CoinView)) is Oracle
    assert not answers(Oracle(), LiveView) and type(policy_named("oracle", LiveView)) is Scripted


def test_a_policy_of_a_missing_package_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    gone: Any = Entry("random", "no.such.package:Policy")
    monkeypatch.setattr(POLICIES, "_further", [gone, *POLICIES._further])
    assert policy_named("random", PlaceView).View is PlaceView
    assert "random" in policies_for(StepView)
