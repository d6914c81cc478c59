from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec import UNSET

from adapters.contract import Fatal, Fault, Request
from adapters.conversation import Finish, Reply, Usage
from harness.engine import (
    CostLimitReached,
    EnginePolicy,
    Job,
    Outcome,
    Pricing,
)
from harness.engine.cache import ReplyCache
from tests.harness.engine.support import (
    BatchModel,
    Log,
    Model,
    echo,
    engine,
    rounds,
    run,
    two_rounds,
)

PRICING = Pricing(cost_of=lambda reply: reply.usage.input * 0.01, upper_cost=lambda request: 0.3)
"""A reply of `echo` costs 0.10, and 0.30 are reserved for it."""


@pytest.mark.parametrize("kind", [Model, BatchModel])
def test_the_limit_is_never_passed_and_used_as_far_as_it_goes(kind: type[Model]) -> None:
    model, log, outcomes = kind(concurrency=8), Log(), list[object]()
    driver = engine(model, log, pricing=PRICING, policy=EnginePolicy(max_cost=2.0))
    with pytest.raises(CostLimitReached, match=r"^cost limit reached: \$1\.\d+ of \$2\.0000 "):
        asyncio.run(driver.run([two_rounds(f"s{n}") for n in range(99)], outcomes.append))
    assert 1.7 <= driver.spent <= 2.0
    assert len(log.records) == len(model.asked) == round(driver.spent / 0.1)
    assert outcomes


def test_calls_that_cost_more_than_they_may_raise_what_is_set_aside_for_the_next() -> None:
    """Thoughts that a provider does not count against the limit of tokens."""
    dear = Pricing(cost_of=lambda reply: 1.0, upper_cost=lambda request: 0.3)
    model = Model(concurrency=8)
    driver = engine(model, pricing=dear, policy=EnginePolicy(max_cost=6.5))
    with pytest.raises(CostLimitReached, match=r"may cost up to \$1\.0000"):
        run(driver, [two_rounds(f"s{n}") for n in range(30)])
    assert driver.spent == len(model.asked) == 6


def test_calls_wait_for_money_that_is_only_reserved() -> None:
    model = Model(concurrency=8)
    policy = EnginePolicy(max_cost=3.0)
    outcomes = run(
        engine(model, pricing=PRICING, policy=policy), [two_rounds(f"s{n}") for n in range(10)]
    )
    assert len(outcomes) == 10
    assert sum(outcome.cost or 0 for outcome in outcomes) == pytest.approx(2.0)


def test_earlier_sessions_count() -> None:
    policy = EnginePolicy(max_cost=2.0)
    model = Model()
    with pytest.raises(CostLimitReached):
        run(engine(model, pricing=PRICING, policy=policy, spent=1.8), [two_rounds("a")])
    assert model.asked == []


def test_a_limit_without_a_price_is_refused() -> None:
    with pytest.raises(Fatal, match="a cost limit needs prices"):
        engine(Model(), policy=EnginePolicy(max_cost=2.0))


def test_without_usage_the_most_is_counted_towards_the_limit_and_no_cost_recorded() -> None:
    log = Log()
    driver = engine(
        Model(lambda request: Reply("x")), log, pricing=PRICING, policy=EnginePolicy(max_cost=2.0)
    )
    (outcome,) = run(driver, [two_rounds("a")])
    assert driver.spent == pytest.approx(0.6)
    assert outcome.cost is None


def test_a_step_is_priced_if_all_its_calls_are() -> None:
    # The second of two replies says nothing of its tokens.
    usages = iter([Usage(10), None])
    model = Model(lambda request: Reply("x", usage=next(usages)))
    (outcome,) = run(engine(model, pricing=PRICING), [two_rounds("a")])
    assert outcome.cost is None
    # A reply that the provider filtered, and its repetition, are one call.
    replies = iter([Reply("", Finish.CONTENT_FILTER), Reply("x", usage=Usage(10))])
    model = Model(lambda request: next(replies))
    (outcome,) = run(engine(model, pricing=PRICING), [Job("a", rounds("only"))])
    assert outcome.cost is None


def test_what_a_reply_from_the_cache_would_have_cost_is_on_record(tmp_path: Path) -> None:
    # Two replies of 0.10 each, asked for in one run and found by the next.
    async def hold(log: Log) -> list[Outcome]:
        cache = ReplyCache(tmp_path / "cache.sqlite", pytest.fail)
        outcomes: list[Outcome] = []
        driver = engine(Model(weights_known=True), log, pricing=PRICING, cache=cache)
        await driver.run([two_rounds("a")], outcomes.append)
        await cache.close()
        return outcomes

    first, second = Log(), Log()
    (asked,), (found,) = asyncio.run(hold(first)), asyncio.run(hold(second))
    assert asked.cost == pytest.approx(0.2)
    assert found.cost == 0.0
    assert [call.price for call in first.records] == [UNSET, UNSET]
    assert [call.price for call in second.records] == [pytest.approx(0.1)] * 2
    assert [call.work for call in first.records] == [call.work for call in second.records]


def test_a_call_that_is_broken_off_counts_at_its_most() -> None:
    async def never(request: Request) -> Reply:
        asked.set()
        await asyncio.sleep(3600)
        raise AssertionError

    async def broken_off() -> None:
        running = asyncio.ensure_future(driver.run([two_rounds("a")], lambda outcome: None))
        await asked.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asked = asyncio.Event()
    driver = engine(Model(never), pricing=PRICING)
    asyncio.run(broken_off())
    assert driver.spent == pytest.approx(0.3), "it may have been answered and billed"


def test_calls_that_failed_unbilled_leave_the_money_to_others() -> None:
    failures = iter([True, True])

    def answer(request: Request) -> Reply:
        if next(failures, False):
            raise Fault("rate_limit", "slow down")
        return echo(request)

    driver = engine(Model(answer), pricing=PRICING, policy=EnginePolicy(max_cost=0.41))
    (outcome,) = run(driver, [two_rounds("a")])
    assert outcome.settled
    assert driver.spent == pytest.approx(0.2)
