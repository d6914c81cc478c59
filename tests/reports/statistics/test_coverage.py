"""What the intervals promise, in a small edition of `benchmarks/interval_coverage.py`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.comparison_errors import claims
from benchmarks.interval_coverage import (
    AVERAGES,
    METHODS,
    TASK_RATES,
    TASKS,
    lone_cell,
    site_cell,
    step_cell,
    task_cell,
)
from benchmarks.simulated_ends import printed_ends
from benchmarks.simulated_steps import MEASURES, clustered, lengths, sites_of_tasks, summed
from parsers import Average, mean_interval


@pytest.mark.parametrize("tasks", TASKS)
@pytest.mark.parametrize("rate", TASK_RATES)
def test_task_success_covers_at_least_95_per_cent(tasks: int, rate: float) -> None:
    assert task_cell(tasks, rate, 50).exact >= 0.95


@pytest.mark.parametrize("rate", [0.4, 0.7])
def test_step_rates_are_covered(rate: float) -> None:
    cell = step_cell(142, rate, 0.15, 1_000, METHODS)
    for average in AVERAGES:
        for method in ("t", "bootstrap-t", "BCa", "printed"):
            # Three standard errors of a thousand simulations are two points.
            assert 0.93 <= cell.coverage[average, method] <= 0.97


@pytest.mark.parametrize(
    ("tasks", "rate", "correlation"),
    [(22, 0.03, 0.3), (22, 0.9, 0.15), (142, 0.1, 0.3), (142, 0.016, 0.15)],
)
def test_few_successes_are_covered_without_absurd_widths(
    tasks: int, rate: float, correlation: float
) -> None:
    cell = step_cell(tasks, rate, correlation, 2_000, ("t", "printed"))
    for average in AVERAGES:
        assert cell.coverage[average, "t"] < cell.coverage[average, "printed"]
        # Two standard errors of two thousand simulations are a point.
        assert cell.coverage[average, "printed"] > 0.93
        assert cell.width[average, "printed"] < 0.02 + 2 * cell.width[average, "t"]


@pytest.mark.parametrize(
    ("sites", "rate"), [((53, 13.0), 0.8), ((64, 2.8), 0.9), ((10, 14.2), 0.1)]
)
def test_rates_with_websites_as_clusters_are_covered(sites: tuple[int, float], rate: float) -> None:
    cell = site_cell(sites, rate, (0.1, 0.15), 1_000)
    assert all(cell.coverage[average, "printed"] > 0.925 for average in AVERAGES)


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("sites", [None, (12, 3.0)])
@pytest.mark.parametrize("lone", [True, False])
@pytest.mark.parametrize("zeros", [0.0, 0.3, 0.97, 1.0])
def test_the_simulated_intervals_of_values_between_0_and_1_are_those_of_the_package(
    average: Average, sites: tuple[int, float] | None, lone: bool, zeros: float
) -> None:
    chance = np.random.default_rng(3)
    of_task = sites_of_tasks(*sites) if sites else None
    tasks = 20 if of_task is None else len(of_task)
    sizes = np.ones((5, tasks), np.int64) if lone else lengths(tasks, 5, chance)
    values = chance.beta(2, 1, sizes.sum()) * (chance.random(sizes.sum()) >= zeros)
    low, high = printed_ends(clustered(summed(values, sizes), average, of_task))
    for place, steps in enumerate(np.split(values, np.cumsum(sizes.sum(-1))[:-1])):
        of = [task for task, size in enumerate(sizes[place]) for _ in range(size)]
        above = None if of_task is None else [int(of_task[task]) for task in of]
        wanted = mean_interval(steps.tolist(), of, average, clusters=above)
        assert wanted is not None
        assert math.isclose(low[place], wanted.low, abs_tol=1e-12)
        assert math.isclose(high[place], wanted.high)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(("tasks", "rate"), [(15, 0.05), (30, 0.1), (30, 0.9), (142, 0.01)])
def test_graded_measures_are_covered_near_0_and_100_per_cent(
    measure: str, tasks: int, rate: float
) -> None:
    # Two standard errors of a thousand simulations are 1.5 points.
    lone = lone_cell(measure, tasks, rate, 1_000)
    assert lone.coverage["micro", "printed"] > 0.925
    steps = step_cell(tasks, rate, 0.3, 1_000, measure=measure)
    assert all(steps.coverage[average, "printed"] > 0.925 for average in AVERAGES)


def test_tests_keep_their_level_and_plain_mcnemar_does_not() -> None:
    shares = claims(142, 0.4, 0.15, 1_000)
    assert shares.pop("McNemar, uncorrected") > 0.12
    assert all(share < 0.075 for share in shares.values())
