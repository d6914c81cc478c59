"""Retry, limit and budget: decisions over plain values, without a clock."""

from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from adapters.contract import Fault, FaultKind
from harness.engine import RetryPolicy
from harness.engine.limits import Budget, RateLimit, is_free, wait_before_retry

chances = st.floats(0, 1)
seconds = st.floats(0, 1000)
kinds: st.SearchStrategy[FaultKind] = st.sampled_from(
    ["rate_limit", "timeout", "connection", "server", "malformed"]
)


@given(st.integers(1, 100), seconds, st.none() | seconds, chances)
def test_retries_are_bounded_in_number_and_in_time(
    attempts: int, elapsed: float, retry_after: float | None, chance: float
) -> None:
    policy = RetryPolicy(attempts=5, patience_s=100)
    wait = wait_before_retry(policy, attempts, elapsed, retry_after, chance)
    if wait is not None:
        assert attempts < 5
        assert elapsed + wait <= 100


@given(st.integers(1, 7), st.floats(0.001, 200), chances)
def test_the_server_is_not_asked_before_the_time_it_named(
    attempts: int, retry_after: float, chance: float
) -> None:
    wait = wait_before_retry(RetryPolicy(), attempts, 0, retry_after, chance)
    assert wait is None or wait >= retry_after


@given(st.integers(1, 7), st.floats(0.001, 200), chances)
def test_the_time_it_named_is_passed_by_a_quarter_at_most(
    attempts: int, retry_after: float, chance: float
) -> None:
    wait = wait_before_retry(RetryPolicy(), attempts, 0, retry_after, chance)
    assert wait is None or wait <= 1.25 * retry_after


def test_a_wait_longer_than_the_patience_is_given_up_at_once() -> None:
    assert wait_before_retry(RetryPolicy(patience_s=60), 1, 0, 3600, 0.5) is None


@given(st.integers(1, 2000), chances)
def test_waits_double_up_to_a_bound_and_are_at_least_half_of_it(
    attempts: int, chance: float
) -> None:
    policy = RetryPolicy(attempts=10_000, patience_s=1e9)
    wait = wait_before_retry(policy, attempts, 0, None, chance)
    full = min(60.0, 2.0 ** min(attempts - 1, 50))
    assert wait is not None
    assert full / 2 <= wait <= full


def test_callers_that_failed_together_do_not_come_back_together() -> None:
    waits = {wait_before_retry(RetryPolicy(), 3, 0, 5, chance / 10) for chance in range(10)}
    assert len(waits) == 10


events = st.lists(st.none() | kinds, max_size=200)


@given(st.integers(1, 64), events)
def test_the_limit_stays_between_one_and_the_ceiling(
    ceiling: int, story: list[FaultKind | None]
) -> None:
    limiter = RateLimit(ceiling)
    for event in story:
        ticket = limiter.sent()
        if event is None:
            limiter.succeeded()
        else:
            limiter.failed(ticket, event, None, now=0)
        assert 1 <= limiter.limit <= ceiling
        assert limiter.admits(limiter.limit - 1, now=0)
        assert not limiter.admits(limiter.limit, now=0)


def test_a_crowd_that_is_refused_together_halves_the_limit_once() -> None:
    limiter = RateLimit(64)
    for _ in range(100):
        limiter.sent()
        limiter.succeeded()
    assert limiter.limit == 64
    tickets = [limiter.sent() for _ in range(64)]
    for ticket in tickets:
        limiter.failed(ticket, "rate_limit", None, now=0)
    assert limiter.limit == 32
    limiter.failed(limiter.sent(), "rate_limit", None, now=0)
    assert limiter.limit == 16


def test_after_an_overload_the_limit_grows_by_one_per_round_of_replies() -> None:
    limiter = RateLimit(64)
    for _ in range(60):
        limiter.succeeded()
    limiter.failed(limiter.sent(), "rate_limit", None, now=0)
    for _ in range(31):
        limiter.succeeded()
    assert limiter.limit == 32
    for _ in range(3):
        limiter.succeeded()
    assert limiter.limit == 33


def test_a_wait_that_the_server_names_holds_for_everybody() -> None:
    limiter = RateLimit(8)
    limiter.failed(limiter.sent(), "rate_limit", 5.0, now=100.0)
    limiter.failed(limiter.sent(), "rate_limit", 1.0, now=101.0)
    assert not limiter.admits(0, now=104.9)
    assert limiter.admits(0, now=105.0)


@given(
    st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1) | st.none(), st.booleans()), max_size=60)
)
def test_the_cost_limit_is_never_passed(calls: list[tuple[float, float | None, bool]]) -> None:
    budget = Budget(10.0)
    open_calls: list[tuple[float, float | None]] = []
    true_cost = 0.0
    for upper, part, wait in calls:
        if budget.fits(upper):
            budget.reserve(upper)
            open_calls.append((upper, part))
        if not wait:
            for reserved, share in open_calls:
                cost = None if share is None else reserved * share
                true_cost += reserved if cost is None else cost
                budget.settle(reserved, cost)
            open_calls.clear()
        assert budget.spent + budget.reserved <= 10.0 + 1e-9
        assert true_cost <= 10.0 + 1e-9


def test_failures_that_may_have_been_billed_are_not_free() -> None:
    kinds: tuple[FaultKind, ...] = get_args(FaultKind)
    free = {kind for kind in kinds if is_free(Fault(kind, "", status=500))}
    assert free == {"rate_limit", "unavailable", "server"}
    # A failure in the middle of an answer comes after the model has run.
    assert not any(is_free(Fault(kind, "", status=200)) for kind in kinds)


@given(st.floats(0.001, 1e12))
def test_no_wait_holds_all_calls_for_longer_than_the_patience(retry_after: float) -> None:
    limiter = RateLimit(8, longest_hold_s=300.0)
    limiter.failed(limiter.sent(), "rate_limit", retry_after, now=50.0)
    assert limiter.resumes_at <= 350.0
    assert limiter.admits(0, 350.0)
