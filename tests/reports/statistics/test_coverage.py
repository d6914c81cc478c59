"""What the intervals promise, in a small edition of `benchmarks/interval_coverage.py`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.comparison_errors import claims
from benchmarks.interval_coverage import (
    AVERAGES,
    TASK_RATES,
    TASKS,
    lengths,
    missed,
    step_cell,
    step_table,
    successes,
    t_ends,
    task_cell,
    task_table,
)
from parsers import clopper_pearson, cluster_t


@pytest.mark.parametrize("tasks", TASKS)
@pytest.mark.parametrize("rate", TASK_RATES)
def test_task_success_covers_at_least_95_per_cent(tasks: int, rate: float) -> None:
    assert task_cell(tasks, rate, 50).exact >= 0.95


def test_the_percentile_bootstrap_fails_where_success_is_rare() -> None:
    cell = task_cell(142, 0.01, 500)
    assert cell.clopper_pearson > 0.95
    assert cell.percentile < 0.8


@pytest.mark.parametrize("rate", [0.4, 0.7])
def test_step_rates_are_covered(rate: float) -> None:
    cell = step_cell(142, rate, 0.15, 1_000)
    for average in AVERAGES:
        for method in ("t", "bootstrap-t", "BCa"):
            # Three standard errors of a thousand simulations are two points.
            assert 0.93 <= cell.coverage[average, method] <= 0.97


def test_few_tasks_make_t_too_narrow_and_bootstrap_t_not() -> None:
    cell = step_cell(15, 0.1, 0.15, 1_000)
    assert cell.coverage["macro", "t"] < 0.93
    assert cell.coverage["macro", "bootstrap-t"] > 0.95


def test_lengths_are_like_those_of_the_benchmark() -> None:
    drawn = lengths(1_000, 10, np.random.default_rng(0))
    assert (int(drawn.min()), int(drawn.max()), float(np.median(drawn))) == (2, 28, 6.0)


def test_steps_of_a_task_are_correlated_as_asked() -> None:
    chance = np.random.default_rng(0)
    sizes = np.full((1, 200_000), 8)
    won = successes(sizes, 0.4, 0.15, chance)
    # The variance of a beta-binomial: n p (1-p) (1 + (n-1) rho).
    assert math.isclose(won.var(), 8 * 0.24 * (1 + 7 * 0.15), rel_tol=0.02)


def test_the_simulated_intervals_are_those_of_the_package() -> None:
    chance = np.random.default_rng(1)
    sizes = lengths(20, 5, chance)
    won = successes(sizes, 0.4, 0.15, chance)
    low, high = t_ends(won, sizes.astype(float))
    for place in range(5):
        steps, tasks = [], []
        for task, (size, right) in enumerate(zip(sizes[place], won[place], strict=True)):
            steps += [1.0] * int(right) + [0.0] * int(size - right)
            tasks += [task] * int(size)
        wanted = cluster_t(steps, tasks)
        assert wanted is not None
        assert math.isclose(low[place], wanted.low)
        assert math.isclose(high[place], wanted.high)


def test_tables_and_misses_are_told() -> None:
    good, bad = task_cell(30, 0.1, 50), task_cell(30, 0.1, 50)
    bad = type(bad)(30, 0.1, 0.99, 0.9, 0.5)
    steps = step_cell(142, 0.4, 0.03, 50)
    off = type(steps)(142, 0.4, 0.03, {**steps.coverage, ("macro", "t"): 0.9, ("micro", "t"): 0.95})
    assert missed([good], []) == []
    assert len(missed([bad], [off])) == 2
    assert task_table([good]).splitlines()[2].startswith("| 30 | 10 % |")
    assert step_table([steps]).splitlines()[2].startswith("| 142 | 40 % | 0.03 |")


def test_tests_keep_their_level_and_plain_mcnemar_does_not() -> None:
    shares = claims(142, 0.4, 0.15, 1_000)
    assert shares.pop("McNemar, uncorrected") > 0.12
    assert all(share < 0.075 for share in shares.values())


def test_an_interval_of_no_success_reaches_zero() -> None:
    interval = clopper_pearson(0, 142)
    assert interval is not None
    assert (interval.low, round(interval.high, 4)) == (0.0, 0.0256)
