"""Calls on a tier that has no capacity: waited for, or given up.

The clock of the loop jumps from timer to timer, so that hours pass in no time.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from adapters.contract import Fault, Request
from adapters.conversation import Reply, Tier, Usage
from harness.engine import (
    Engine,
    EnginePolicy,
    Job,
    Outcome,
    Pricing,
    RetryPolicy,
    Stopped,
    TooManyFailures,
)
from harness.engine.limits import RateLimit
from tests.harness.engine.support import Log, Model, echo, engine, rounds, two_rounds
from tests.harness.engine.virtual import hold, virtually

FLEX = RetryPolicy(attempts=40, patience_s=3600.0)


def full(request: Request) -> Fault:
    return Fault("unavailable", "openai answered 429: Resource Unavailable", None, 429)


def capacity(
    has_room: Callable[[float], bool], asked: list[tuple[float, str]]
) -> Callable[[Request], Reply]:
    """Answers on flex while there is room, and at any time on other tiers."""

    def answer(request: Request) -> Reply:
        now = asyncio.get_running_loop().time()
        asked.append((now, request.tier))
        if request.tier == "flex" and not has_room(now):
            raise full(request)
        return Reply(echo(request).text, usage=Usage(10, output=2), tier=request.tier)

    return answer


def driver(model: Model, tier: Tier, log: Log | None = None) -> Engine:
    return engine(model, log or Log(), policy=EnginePolicy(retry=FLEX, tier=tier))


def one(step: str) -> Job:
    return Job(step, rounds("round-1"))


def test_calls_are_sent_on_the_tier_asked_for() -> None:
    model, log = Model(lambda request: Reply("x", usage=Usage(1), tier=request.tier)), Log()
    [outcome] = hold(driver(model, "priority", log=log), [two_rounds("a")])
    assert [request.tier for request in model.asked] == ["priority"] * 2
    assert [record.reply.tier for record in log.records] == ["priority"] * 2
    assert outcome.tiers == {"priority": 2}


def test_capacity_is_waited_for_as_long_as_the_patience_lasts() -> None:
    asked: list[tuple[float, str]] = []
    model = Model(capacity(lambda now: now > 1000, asked), concurrency=8)
    outcomes = hold(driver(model, "flex"), [one(f"s{n}") for n in range(8)])
    assert all(outcome.settled for outcome in outcomes)
    assert {tier for _, tier in asked} == {"flex"}
    # Backing off: a try every minute or so by the end, not a hail of them.
    assert Counter(tier for now, tier in asked if now > 200)["flex"] < 8 * 35


def test_calls_without_capacity_are_given_up_but_end_no_session() -> None:
    asked: list[tuple[float, str]] = []
    model = Model(capacity(lambda now: False, asked), concurrency=40)
    outcomes = hold(driver(model, "flex"), [one(f"s{n:02}") for n in range(60)])
    assert len(outcomes) == 60
    assert not any(outcome.settled for outcome in outcomes)
    assert {str(outcome.error).partition(":")[0] for outcome in outcomes} == {
        "unavailable after 40 tries"
    }


def test_other_failures_in_a_row_do_end_it_on_flex() -> None:
    def limited(request: Request) -> Reply:
        raise Fault("rate_limit", "slow down", None, 429)

    with pytest.raises(TooManyFailures):
        hold(driver(Model(limited, concurrency=8), "flex"), [one(f"s{n}") for n in range(60)])


def test_no_capacity_halves_the_calls_in_flight() -> None:
    limit = RateLimit(8)
    for _ in range(8):
        limit.succeeded()
    assert limit.limit == 8
    ticket = limit.sent()
    limit.failed(ticket, "unavailable", 30.0, now=1.0)
    assert limit.limit == 4
    # The wait that the server asks for is that of the tier's calls, not of all.
    assert limit.admits(0, now=1.0)


def test_the_first_call_waits_for_capacity_and_tells_a_wrong_address_soon() -> None:
    asked: list[tuple[float, str]] = []
    model = Model(capacity(lambda now: now > 900, asked))
    reply = virtually(driver(model, "flex").preflight(None))
    assert reply.tier == "flex"

    never = Model(capacity(lambda now: False, asked))
    with pytest.raises(Stopped, match="unavailable after 40 tries"):
        virtually(driver(never, "flex").preflight(None))

    def nobody(request: Request) -> Reply:
        raise Fault("connection", "nobody there")

    async def failing() -> float:
        with pytest.raises(Exception, match="nobody there"):
            await driver(Model(nobody), "flex").preflight(None)
        return asyncio.get_running_loop().time()

    assert virtually(failing()) < 60


def test_calls_without_capacity_cost_nothing() -> None:
    asked: list[tuple[float, str]] = []
    model = Model(capacity(lambda now: now > 300, asked))
    pricing = Pricing(lambda reply: 0.1, lambda request: 1.0)
    policy = EnginePolicy(retry=FLEX, tier="flex", max_cost=1.05)
    run = engine(model, Log(), policy=policy, pricing=pricing)
    outcomes: list[Outcome] = hold(run, [one("a")])
    assert outcomes[0].settled
    assert run.spent == pytest.approx(0.1)
