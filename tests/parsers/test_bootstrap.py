"""The bootstrap against resampling written out, task by task."""

from __future__ import annotations

import math
import random
import statistics

import numpy as np
import pytest

from benchmarks.simulated_ends import accelerated
from parsers import Average, t_interval
from parsers.bootstrap import bootstrap, draws, resampled, studentised

TOTALS = [3.0, 0.0, 2.0, 5.0, 1.0, 4.0, 1.0]
SIZES = [4.0, 2.0, 3.0, 5.0, 6.0, 9.0, 2.0]


def _ratio(places: list[int]) -> tuple[float, float]:
    """Mean and error of the tasks drawn, as the formula of `cluster_t` has it."""
    total, size = sum(TOTALS[p] for p in places), sum(SIZES[p] for p in places)
    mean = total / size
    squares = sum((TOTALS[p] - mean * SIZES[p]) ** 2 for p in places)
    m = len(places)
    return mean, math.sqrt(m / (m - 1) * squares) / size


def _written_out() -> tuple[list[list[int]], np.ndarray]:
    drawn = draws(len(TOTALS), 400, 5)
    return [[p for p, n in enumerate(row) for _ in range(int(n))] for row in drawn], drawn


def test_resamples_have_the_mean_and_the_error_of_the_tasks_drawn() -> None:
    resamples, drawn = _written_out()
    deviation, error = resampled(np.array([TOTALS]), np.array([SIZES]), drawn)
    mean, _ = _ratio(list(range(len(TOTALS))))
    for place, resample in enumerate(resamples):
        own, spread = _ratio(resample)
        assert math.isclose(deviation[0, place], own - mean, abs_tol=1e-12)
        assert math.isclose(error[0, place], spread, abs_tol=1e-7)


def test_the_studentised_ends_are_quantiles_of_t() -> None:
    resamples, drawn = _written_out()
    mean, error = _ratio(list(range(len(TOTALS))))
    ts = sorted((own - mean) / spread for own, spread in map(_ratio, resamples) if spread > 1e-9)
    assert len(ts) == 400
    low, high = studentised(np.array([TOTALS]), np.array([SIZES]), drawn)
    below, above = math.floor(0.025 * 399), math.ceil(0.975 * 399)
    assert math.isclose(low[0], mean - ts[above] * error)
    assert math.isclose(high[0], mean - ts[below] * error)


def test_bca_shifts_percentiles_by_bias_and_acceleration() -> None:
    resamples, drawn = _written_out()
    everything = list(range(len(TOTALS)))
    mean, _ = _ratio(everything)
    again = sorted(_ratio(resample)[0] for resample in resamples)
    normal = statistics.NormalDist()
    less = sum(x < mean - 1e-12 for x in again) + sum(abs(x - mean) <= 1e-12 for x in again) / 2
    bias = normal.inv_cdf(less / 400)
    left = [_ratio([p for p in everything if p != out])[0] for out in everything]
    pull = [statistics.fmean(left) - one for one in left]
    acceleration = sum(x**3 for x in pull) / (6 * sum(x**2 for x in pull) ** 1.5)
    low, high = accelerated(np.array([TOTALS]), np.array([SIZES]), drawn)
    for found, tail in ((low, 0.025), (high, 0.975)):
        shifted = bias + normal.inv_cdf(tail)
        place = normal.cdf(bias + shifted / (1 - acceleration * shifted))
        assert math.isclose(found[0], again[math.floor(place * 401) - 1])


def test_bca_of_tasks_without_bias_has_the_ends_of_the_percentiles() -> None:
    # The mean of six tasks, half of them right, is k/6 with the chance C(6, k) / 64: 1/6 is the
    # first value with more than 2.5 % up to it. Many resamples have the very mean of the tasks.
    won = np.array([[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]])
    low, high = accelerated(won, np.ones((1, 6)), draws(6, 4999, 0))
    assert [low[0], high[0]] == pytest.approx([1 / 6, 5 / 6])


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_order_does_not_matter_and_the_seed_does(average: Average) -> None:
    chance = random.Random(0)
    steps = [(float(chance.random() < 0.4), chance.randrange(40)) for _ in range(250)]
    shuffled = random.Random(1).sample(steps, len(steps))

    def found(of: list[tuple[float, int]], seed: int = 0) -> object:
        values, tasks = [v for v, _ in of], [t for _, t in of]
        return bootstrap(values, tasks, average, resamples=499, seed=seed)

    assert found(steps) == found(shuffled)
    assert found(steps) != found(steps, seed=1)


def test_many_even_tasks_give_nearly_the_t_interval() -> None:
    values = [place / 400 for place in range(401)]
    found, wanted = bootstrap(values, list(range(401))), t_interval(values)
    assert found is not None and wanted is not None
    assert abs(found.low - wanted.low) < 0.003
    assert abs(found.high - wanted.high) < 0.003
    assert (found.clusters, found.few, found.method) == (401, False, "bootstrap-t")


def test_one_different_task_of_few_leaves_the_interval_open() -> None:
    found = bootstrap([0, 0, 0, 0, 1], list("abcde"))
    assert found is not None
    assert (found.few, found.high) == (True, 1.0)


def test_differences_have_their_own_bounds() -> None:
    values, tasks = [-1, 0, 0, 0], list("abcd")
    found = bootstrap(values, tasks, kind="difference")
    assert found is not None
    assert found.low == -1


@pytest.mark.parametrize(("values", "tasks"), [([], []), ([1.0], ["a"]), ([1.0, 1.0], ["a", "b"])])
def test_no_interval_without_spread(values: list[float], tasks: list[str]) -> None:
    assert bootstrap(values, tasks) is None


def test_bad_arguments_are_errors() -> None:
    with pytest.raises(ValueError, match="level"):
        bootstrap([0, 1], ["a", "b"], level=95)
    with pytest.raises(ValueError, match="resamples"):
        bootstrap([0, 1], ["a", "b"], resamples=10)
