"""The tests of significance, against scipy and against counting."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from scipy import stats

from parsers import Average
from reports.statistics.significance import clustered_mcnemar, exact_mcnemar, holm, permutation_test

TASKS = list("aabbbccddddee")
FIRST = [1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0]
SECOND = [1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1]
# By task: a +1 of 2, b +1 of 3, c +1 of 2, d 0 of 4 (one won, one lost), e +1 of 2.


def test_obuchowski_by_hand() -> None:
    found = clustered_mcnemar(FIRST, SECOND, TASKS, "micro")
    assert math.isclose(found, stats.chi2.sf(4**2 / (5 / 4 * 4), 1))


def test_durkalski_by_hand() -> None:
    found = clustered_mcnemar(FIRST, SECOND, TASKS, "macro")
    total, squares = 1 / 2 + 1 / 3 + 1 / 2 + 1 / 2, 1 / 4 + 1 / 9 + 1 / 4 + 1 / 4
    assert math.isclose(found, stats.chi2.sf(total**2 / squares, 1))


def test_with_one_step_per_task_the_correction_is_the_plain_test() -> None:
    first = [0] * 9 + [1] * 3 + [1] * 8
    second = [1] * 9 + [0] * 3 + [1] * 8
    found = clustered_mcnemar(first, second, list(range(20)))
    assert math.isclose(found, stats.chi2.sf((9 - 3) ** 2 / (9 + 3), 1))


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_runs_that_agree_have_p_one(average: Average) -> None:
    assert clustered_mcnemar([1, 0], [1, 0], ["a", "b"], average) == 1.0
    assert permutation_test([1, 0], [1, 0], ["a", "b"], average).p == 1.0


def test_a_single_task_does_not_break() -> None:
    assert clustered_mcnemar([0, 0], [1, 1], ["a", "a"], "micro") > 0.3


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (3, 1), (9, 1), (4, 4), (0, 11)])
def test_the_exact_test_is_the_binomial_one(gained: int, lost: int) -> None:
    first = [0] * gained + [1] * lost + [1, 0]
    second = [1] * gained + [0] * lost + [1, 0]
    found = exact_mcnemar(first, second)
    n = gained + lost
    wanted = stats.binomtest(gained, n, 0.5).pvalue if n else 1.0
    assert math.isclose(found, min(1.0, wanted))


def test_shares_are_not_for_mcnemar() -> None:
    with pytest.raises(ValueError, match="0 and 1"):
        clustered_mcnemar([0.5], [1], ["a"])
    with pytest.raises(ValueError, match="0 and 1"):
        exact_mcnemar([0.5], [1])


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_the_exact_permutation_counts_all_patterns(average: Average) -> None:
    found = permutation_test(FIRST, SECOND, TASKS, average)
    gains = [1.0, 1.0, 1.0, 1.0] if average == "micro" else [1 / 2, 1 / 3, 1 / 2, 1 / 2]
    sums = [
        abs(sum(s * g for s, g in zip(signs, gains, strict=True)))
        for signs in itertools.product([1, -1], repeat=4)
    ]
    assert found.p == sum(x >= sum(gains) - 1e-12 for x in sums) / 16
    assert found.exact


def test_drawn_patterns_come_near_the_exact_p() -> None:
    chance = random.Random(4)
    first = [chance.random() for _ in range(60)]
    second = [value + chance.gauss(0.02, 0.08) for value in first]
    tasks = list(range(60))
    found = permutation_test(first, second, tasks)
    wanted = stats.permutation_test(
        (np.subtract(second, first),),
        np.mean,
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    ).pvalue
    assert not found.exact
    assert abs(found.p - wanted) < 0.015


def test_drawn_patterns_know_neither_order_nor_side_and_never_give_zero() -> None:
    tasks = list(range(40))
    first, second = [0.0] * 40, [1 - place / 100 for place in tasks]
    found = permutation_test(first, second, tasks)
    assert found.p == 1 / 20_000
    assert permutation_test(second, first, tasks) == found
    assert permutation_test(first, second[::-1], tasks) == found


def test_holm_by_hand() -> None:
    assert holm([0.04, 0.01, 0.5, 0.01]) == pytest.approx([0.08, 0.04, 0.5, 0.04])
    assert (holm([0.03]), holm([])) == ([0.03], [])
