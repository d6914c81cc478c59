"""The baselines that know nothing, and the one that knows everything."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import pytest

from adapters.registry import Entry, UnknownName
from harness.policies import (
    POLICIES,
    AlwaysClick,
    Oracle,
    RandomPolicy,
    Secret,
    chance_for,
    is_policy,
    policies_for,
    policy_named,
)
from harness.records import Choice, Step
from parsers.grounding import Target
from parsers.records import OPERATIONS, Gold, Status
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
    answers = [RandomPolicy().predict(about, LISTED, draw(about), None) for about in STEPS]
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
            answer = policy.predict(about, LISTED, draw(about), None)
            assert answer.letter is not None
            assert known[answer.letter] == answer.element


def test_the_same_seed_gives_the_same_answers_in_any_order() -> None:
    policy = RandomPolicy()
    forwards = {s.step_id: policy.predict(s, LISTED, draw(s), None) for s in STEPS[:200]}
    backwards = {s.step_id: policy.predict(s, LISTED, draw(s), None) for s in STEPS[199::-1]}
    assert forwards == backwards


@pytest.mark.parametrize("changed", [{"seed": 43}, {"repeat": 1}])
def test_another_seed_or_repeat_gives_other_answers(changed: dict[str, int]) -> None:
    policy = RandomPolicy()
    same = sum(
        policy.predict(s, LISTED, draw(s), None)
        == policy.predict(s, LISTED, draw(s, **changed), None)
        for s in STEPS[:300]
    )
    assert same < 30


def test_each_use_and_each_sample_has_draws_of_its_own() -> None:
    drawn = [
        chance_for(42, 0, "step-1", label, sample).random()
        for label in ("policy", "oracle")
        for sample in (0, 1)
    ]
    assert len(set(drawn)) == 4


def test_always_click_clicks_the_element_that_random_picks() -> None:
    for about in STEPS[:200]:
        clicked = AlwaysClick().predict(about, LISTED, draw(about), None)
        picked = RandomPolicy().predict(about, LISTED, draw(about), None)
        assert (clicked.element, clicked.operation) == (picked.element, "CLICK")


def test_the_oracle_gives_a_listed_positive_with_operation_and_value() -> None:
    secret = Secret(Gold("TYPE", "Ada Lovelace", ("elsewhere", "n7")), "n7")
    answer = Oracle().predict(STEPS[0], LISTED, draw(STEPS[0]), secret)
    assert (answer.status, answer.letter, answer.element) == (Status.ANSWERED, "H", "n7")
    assert (answer.operation, answer.value) == ("TYPE", "Ada Lovelace")


def test_the_oracle_says_none_where_no_positive_is_listed() -> None:
    secret = Secret(Gold("SELECT", "2", ("elsewhere",)), None)
    answer = Oracle().predict(STEPS[0], LISTED, draw(STEPS[0]), secret)
    assert (answer.status, answer.element) == (Status.NONE, None)
    assert (answer.operation, answer.value) == ("SELECT", "2")


def test_the_oracle_does_not_guess() -> None:
    with pytest.raises(ValueError, match="needs the recorded answer"):
        Oracle().predict(STEPS[0], LISTED, draw(STEPS[0]), None)


def test_every_shipped_policy_answers_and_only_the_oracle_asks_for_the_answer() -> None:
    listed: tuple[Choice, ...] = LISTED[:1]
    for name in POLICIES.names():
        policy = POLICIES.make(name)
        if getattr(policy, "kind", "step") not in ("", "step"):
            continue
        assert policy.name == name
        assert policy.needs_gold is (name == "oracle")
        secret = Secret(Gold("CLICK", "", ("n0",)), "n0")
        answer = policy.predict(STEPS[0], listed, draw(STEPS[0]), secret)
        assert answer.element == "n0"


def test_where_nothing_is_to_be_done_the_oracle_declines() -> None:
    secret = Secret(Target("absent"))
    assert Oracle().predict(STEPS[0], draw(STEPS[0]), secret).status is Status.NONE
    answer = Oracle().predict(STEPS[0], draw(STEPS[0]), Secret(Target("box", (0, 0, 4, 2))))
    assert (answer.status, answer.point) == (Status.ANSWERED, (2, 1))


@dataclass(frozen=True)
class Heads(RandomPolicy):
    kind: str = "coin"


def test_a_name_stands_for_the_policy_of_the_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POLICIES._entries, "coin/random", Entry("coin/random", Heads))
    monkeypatch.setitem(POLICIES._entries, "coin/toss", Entry("coin/toss", Heads))
    assert isinstance(policy_named("random", "coin"), Heads)
    assert type(policy_named("random", "step")) is RandomPolicy
    assert type(policy_named("always-click", "coin")) is AlwaysClick
    assert is_policy("toss") and not is_policy("coin/toss")
    assert isinstance(policy_named("toss", "step"), Heads)
    assert policies_for("coin") == ["oracle", "random", "toss"]
    with pytest.raises(UnknownName, match="unknown policy 'dice'"):
        policy_named("dice", "coin")
