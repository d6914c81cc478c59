"""Sums by task, against the intervals of `parsers` that are computed step by step."""

from __future__ import annotations

import math
import random

import pytest

from parsers import Average, t_interval
from parsers.rates import clustered, mean_and_error, t_quantile


def _steps(seed: int, tasks: int = 25) -> tuple[list[float], list[int]]:
    chance = random.Random(seed)
    values: list[float] = []
    names: list[int] = []
    for task in range(tasks):
        own = chance.random()
        for _ in range(chance.randint(1, 12)):
            values.append(float(chance.random() < own))
            names.append(task)
    return values, names


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_the_error_is_that_of_the_intervals_of_a_single_run(average: Average) -> None:
    values, names = _steps(1)
    data = clustered(values, names, average)
    mean, error = mean_and_error(data.totals, data.sizes)
    reach = t_quantile(0.95, len(data)) * float(error)
    by_task: dict[int, list[float]] = {}
    for value, name in zip(values, names, strict=True):
        by_task.setdefault(name, []).append(value)
    means = [sum(own) / len(own) for own in by_task.values()]
    wanted = t_interval(means) if average == "macro" else t_interval(values, names)
    assert wanted is not None
    assert math.isclose(float(mean) - reach, wanted.low, rel_tol=1e-12)
    assert math.isclose(float(mean) + reach, wanted.high, rel_tol=1e-12)


def test_neither_order_nor_names_matter() -> None:
    values, names = _steps(2)
    places = list(range(len(values)))
    random.Random(3).shuffle(places)
    one = clustered(values, names, "micro")
    other = clustered([values[p] for p in places], [f"t{-names[p]}" for p in places], "micro")
    assert one.totals.tolist() == other.totals.tolist()
    assert one.sizes.tolist() == other.sizes.tolist()


def test_a_value_that_is_no_number_is_an_error() -> None:
    with pytest.raises(ValueError, match="task b"):
        clustered([1.0, math.nan], ["a", "b"])


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_that_is_none_is_an_error(level: float) -> None:
    with pytest.raises(ValueError, match="confidence level"):
        t_quantile(level, 10)
