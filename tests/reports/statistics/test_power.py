"""Power, against scipy's distributions summed without shortcuts."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from reports.statistics.paired import (
    mcnemar_power,
    smallest_difference,
    smallest_success_difference,
    t_power,
    tasks_needed,
    tasks_needed_for_success,
)


@pytest.mark.parametrize(("tasks", "difference", "deviation"), [(22, 0.1, 0.2), (142, 0.03, 0.3)])
def test_t_power_is_the_noncentral_t(tasks: int, difference: float, deviation: float) -> None:
    limit = stats.t.ppf(0.975, tasks - 1)
    wanted = stats.nct.sf(limit, tasks - 1, difference / deviation * math.sqrt(tasks))
    assert math.isclose(t_power(tasks, difference, deviation), wanted, rel_tol=1e-9)
    assert math.isclose(t_power(tasks, -difference, deviation), wanted, rel_tol=1e-9)


def test_cohens_textbook_cases() -> None:
    # d = 0.2, 0.5, 0.8 for one sample, two-sided 5 %, power 80 %.
    assert [tasks_needed(d, 1.0) for d in (0.2, 0.5, 0.8)] == [199, 34, 15]


def test_the_smallest_difference_is_the_inverse() -> None:
    found = smallest_difference(142, 0.25)
    assert found is not None
    assert math.isclose(t_power(142, found, 0.25), 0.8, rel_tol=1e-6)
    assert tasks_needed(found * 1.0001, 0.25) == 142


def test_no_difference_needs_more_than_can_be_counted() -> None:
    assert tasks_needed(0.0, 0.2) is None
    assert tasks_needed(1e-6, 0.5) is None
    assert tasks_needed_for_success(0.0, 0.1) is None
    assert smallest_difference(1, 0.2) is None


def _brute_force(tasks: int, difference: float, discordant: float) -> float:
    total = 0.0
    share = (discordant + difference) / 2 / discordant
    for n in range(1, tasks + 1):
        own = sum(
            stats.binom.pmf(k, n, share)
            for k in range(n + 1)
            if 2 * stats.binom.cdf(min(k, n - k), n, 0.5) <= 0.05
        )
        total += stats.binom.pmf(n, tasks, discordant) * own
    return total


@pytest.mark.parametrize(
    ("tasks", "difference", "discordant"), [(22, 0.3, 0.4), (40, 0.1, 0.5), (50, 0.2, 0.2)]
)
def test_mcnemar_power_is_the_double_sum(tasks: int, difference: float, discordant: float) -> None:
    wanted = _brute_force(tasks, difference, discordant)
    assert math.isclose(mcnemar_power(tasks, difference, discordant), wanted, rel_tol=1e-8)


def test_five_discordant_tasks_can_show_nothing() -> None:
    assert mcnemar_power(5, 1.0, 1.0) == 0.0
    assert smallest_success_difference(5, 0.5) is None
    assert tasks_needed_for_success(1.0, 1.0) == 6


def test_tasks_for_success_come_near_connors_formula() -> None:
    # Connor 1987: (z_a sqrt(psi) + z_b sqrt(psi - d^2))^2 / d^2; the exact test needs some more.
    difference, discordant = 0.03, 0.1
    za, zb = stats.norm.ppf([0.975, 0.8])
    connor = (
        za * math.sqrt(discordant) + zb * math.sqrt(discordant - difference**2)
    ) ** 2 / difference**2
    found = tasks_needed_for_success(difference, discordant)
    assert found is not None
    assert connor <= found < 1.1 * connor


def test_the_smallest_success_difference_is_seen() -> None:
    found = smallest_success_difference(142, 0.05)
    assert found is not None
    assert mcnemar_power(142, found, 0.05) >= 0.8
    assert mcnemar_power(142, found - 0.002, 0.05) < 0.8
