"""Several repeats of a step: pooled step measures, task success as a mean over repeats."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean

import pytest

from parsers import MIND2WEB, AggregationRules, Results, mean_interval, results
from parsers.counting import Trial
from parsers.estimates import PARENTS, SD, SD_BETWEEN, SD_WITHIN, SHARE
from parsers.parts import pass_all, pass_at
from tests.numbers import estimate
from tests.parsers.steps import once, step


def over(found: Results, average: str, measure: str = "success") -> float | None:
    return estimate(found, measure, average).number


def test_the_number_of_the_only_repeat_changes_nothing() -> None:
    steps = [step("a", 0, True), step("b", 0, False)]
    found = results(once(steps), MIND2WEB)
    assert found == results([(3, one) for one in steps], MIND2WEB)
    assert {row.average for row in found.rows} == {"macro", "micro", PARENTS}


def test_repeats_are_pooled_and_task_success_is_their_mean() -> None:
    trials = [
        (0, step("a", 0, True)),
        (1, step("a", 0, True)),
        (0, step("b", 0, True)),
        (1, step("b", 0, False)),
    ]
    found = results(trials, MIND2WEB)
    assert found.repeats == 2
    assert estimate(found, "success").number == 0.75
    assert found.counts.behind["valid"] == (2, 4)
    success = estimate(found, "task_success")
    assert success.number == 0.75
    # Four outcomes are those of two tasks.
    assert success.interval == mean_interval([1, 1, 1, 0], "aabb")
    assert success.interval is not None and success.interval.clusters == 2
    assert (success.won, success.complete, success.n) == (3, 4, 4)
    assert over(found, SD) == pytest.approx(0.5 / 2**0.5)


def test_a_task_that_is_cut_short_in_one_repeat_leaves_no_task_success() -> None:
    trials = [(0, step("a", 0, True)), (0, step("a", 1, True)), (1, step("a", 0, True))]
    success = estimate(results(trials, MIND2WEB, lengths={"a": 2}), "task_success")
    assert (success.number, success.complete, success.n) == (None, 1, 2)


def test_groups_that_cut_tasks_apart_have_no_task_success() -> None:
    trials = [(0, step("a", 0, True)), (1, step("a", 0, True))]
    found = results(trials, MIND2WEB, whole="")
    assert not any(row.measure == "task_success" for row in found.rows)


@pytest.mark.parametrize("repeats", [1, 3, 5])
def test_pass_at_and_pass_all_count_the_draws_of_k_repeats(repeats: int) -> None:
    for successes in range(repeats + 1):
        outcomes = [number < successes for number in range(repeats)]
        for k in range(1, repeats + 1):
            draws = list(combinations(outcomes, k))
            assert pass_at(successes, repeats, k) == fmean(map(any, draws))
            assert pass_all(successes, repeats, k) == fmean(map(all, draws))
    for wrong in ((repeats + 1, repeats, 1), (0, repeats, 0), (0, repeats, repeats + 1)):
        with pytest.raises(ValueError, match="repeats"):
            pass_at(*wrong)


def repeated(outcomes: dict[str, str]) -> list[Trial]:
    """Trials of units by name (`task-index`), one for each + or -; ? has no outcome yet."""
    return [
        (repeat, step(name[0], int(name[1]), None if sign == "?" else sign == "+"))
        for name, signs in outcomes.items()
        for repeat, sign in enumerate(signs)
    ]


def test_steps_are_averaged_within_tasks_and_tasks_succeed_as_a_whole() -> None:
    trials = repeated({"a0": "++++", "a1": "+-+-", "b0": "----"})
    found = results(trials, MIND2WEB)
    # Step a1 succeeds in 2 of 4 repeats: one of six pairs has no success, and one only successes.
    assert over(found, SHARE) == pytest.approx(fmean([fmean([1, 0.5]), 0]))
    assert over(found, "pass@2") == pytest.approx(fmean([fmean([1, 5 / 6]), 0]))
    assert over(found, "pass^2") == pytest.approx(fmean([fmean([1, 1 / 6]), 0]))
    assert (over(found, "pass@4"), over(found, "pass^4")) == (0.5, 0.25)
    interval = estimate(found, "success", "pass@2").interval
    assert interval == mean_interval([1, 5 / 6, 0], "aab")
    assert over(found, "pass@2", "task_success") == pytest.approx(fmean([5 / 6, 0]))
    assert over(found, "pass^4", "task_success") == 0
    assert over(found, SHARE, "task_success") == estimate(found, "task_success").number
    shares = {name: row.n for name, row in found.over_repeats(SHARE).items()}
    assert shares == {"success": 3, "task_success": 2}
    drawn = {row.average for row in found.rows if row.average.startswith("pass")}
    assert drawn == {"pass@2", "pass^2", "pass@4", "pass^4"}


def test_the_spread_is_split_into_repeats_of_a_unit_and_units() -> None:
    # Rates 1/2 and 1: within (1/3 + 0) / 2 of variance, between 1/8 less a quarter of that.
    found = results(repeated({"a0": "+-+-", "b0": "++++"}), MIND2WEB)
    assert over(found, SD_WITHIN) == pytest.approx((1 / 6) ** 0.5)
    assert over(found, SD_BETWEEN) == pytest.approx((1 / 8 - 1 / 24) ** 0.5)
    assert over(results(repeated({"a0": "+-", "b0": "-+"}), MIND2WEB), SD_BETWEEN) == 0
    alone = results(repeated({"a0": "+-"}), MIND2WEB)
    assert alone.over_repeats(SD_WITHIN) and not alone.over_repeats(SD_BETWEEN)


def test_units_without_all_repeats_are_left_out_and_tasks_withheld() -> None:
    trials = repeated({"a0": "+?", "b0": "+-"})
    shares = results(trials, MIND2WEB).over_repeats(SHARE)
    assert {name: row.n for name, row in shares.items()} == {"success": 1}
    found = results(trials, MIND2WEB, AggregationRules(unattempted="fail"))
    assert over(found, "pass^2") == 0
    assert over(found, "pass@2", "task_success") == 1


def test_repeats_of_invalid_units_count_by_the_rule_of_the_headline() -> None:
    trials = repeated({"a0": "+-", "b0": "++"})
    trials += [(repeat, step("c", 0, None, invalid="no_positive")) for repeat in (0, 1)]
    valid, strict = (
        results(trials, MIND2WEB, AggregationRules(invalid=rule)) for rule in ("valid", "fail")
    )
    for found, n in ((valid, 2), (strict, 3)):
        for measure in ("success", "task_success"):
            row = estimate(found, measure, SHARE)
            assert (row.number, row.n) == pytest.approx((1.5 / n, n))
        assert over(found, SD) == pytest.approx((1 / n) / 2**0.5)
