"""Differences of two runs, against scipy's t test and formulas written out."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from reports.statistics import Effect, effect, paired_difference, success_difference

TASKS = list("aabbbccddddee")
FIRST = [1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0]
SECOND = [1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1]


def _gains() -> dict[str, list[int]]:
    gains: dict[str, list[int]] = {}
    for task, a, b in zip(TASKS, FIRST, SECOND, strict=True):
        gains.setdefault(task, []).append(b - a)
    return gains


def test_macro_is_the_t_interval_of_the_tasks_differences() -> None:
    found = paired_difference(FIRST, SECOND, TASKS)
    means = [sum(own) / len(own) for own in _gains().values()]
    wanted = stats.ttest_1samp(means, 0.0).confidence_interval(0.95)
    assert found is not None and found.low is not None and found.high is not None
    assert math.isclose(found.low, wanted.low)
    assert math.isclose(found.high, wanted.high)
    assert math.isclose(found.difference, found.second - found.first)
    assert math.isclose(found.deviation or 0, stats.tstd(means))
    assert (found.tasks, found.steps, found.few) == (5, 13, True)


@pytest.mark.parametrize(("websites", "few"), [(29, True), (31, False)])
def test_too_few_websites_that_differ_are_marked_however_many_tasks_do(
    websites: int, few: bool
) -> None:
    tasks = list(range(90))
    won = [1, 1, 0] * 30
    found = paired_difference([0] * 90, won, tasks, clusters=[task % websites for task in tasks])
    assert found is not None
    assert (found.tasks, found.clusters, found.few) == (90, websites, few)


def test_micro_is_cluster_robust() -> None:
    found = paired_difference(FIRST, SECOND, TASKS, "micro")
    gains = _gains()
    mean = sum(map(sum, gains.values())) / 13
    squares = sum((sum(own) - mean * len(own)) ** 2 for own in gains.values())
    error = math.sqrt(5 / 4 * squares) / 13
    reach = stats.t.ppf(0.975, 4) * error
    assert found is not None and found.low is not None and found.high is not None
    assert math.isclose(found.difference, mean)
    assert math.isclose(found.low, mean - reach)
    assert math.isclose(found.high, mean + reach)
    assert math.isclose(found.first, sum(FIRST) / 13)


def test_no_interval_where_nothing_varies() -> None:
    alone = paired_difference([0, 0], [1, 0], ["a", "a"])
    equal = paired_difference([0, 1], [0, 1], ["a", "b"])
    assert alone is not None and equal is not None
    assert (alone.low, alone.deviation, alone.difference) == (None, None, 0.5)
    assert (equal.low, equal.high, equal.deviation) == (None, None, 0.0)


def test_nothing_to_compare() -> None:
    assert paired_difference([], [], []) is None
    assert success_difference([], []) is None


def test_sequences_must_match() -> None:
    with pytest.raises(ValueError, match="2 and 1 scores for 2 steps"):
        paired_difference([0, 1], [1], ["a", "b"])


def test_success_never_claims_certainty() -> None:
    found = success_difference([0] * 142, [0] * 142)
    assert found is not None and found.low is not None and found.high is not None
    reach = 1.959963984540054 * math.sqrt(2 / 144 / 144)
    assert math.isclose(found.high, reach)
    assert math.isclose(found.low, -reach)


def test_success_is_right_or_wrong() -> None:
    with pytest.raises(ValueError, match="0 or 1"):
        success_difference([0.5], [1])


def test_effects_count_what_changed() -> None:
    assert effect([0.5, -0.1, 1e-15, 0.0]) == Effect(1, 1, 2)
    assert effect([]).total == 0
