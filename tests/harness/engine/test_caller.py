"""A caller of one's own: calls that are handed over park their dialogues, and keep to the limit."""

from __future__ import annotations

import asyncio

import pytest

from adapters.contract import Request
from adapters.conversation import Reply
from harness.engine import EnginePolicy, Job, Outcome
from harness.engine.lanes import Answered
from harness.engine.limits import Budget, Pricing
from harness.engine.stopping import Parked
from tests.harness.engine.support import Model, echo, engine, two_rounds


class Overnight:
    """Answers calls when told to; each costs a tenth of a dollar of the quarter set aside."""

    def __init__(self, takes: bool = True) -> None:
        self.takes = takes
        self.waiting: dict[str, Request] = {}
        self.replies: dict[str, Reply] = {}

    def begin(self, budget: Budget) -> None:
        self.budget = budget

    async def arrived(self, request: Request) -> Answered[Reply] | None:
        if request.id in self.waiting:
            raise Parked
        reply = self.replies.pop(request.id, None)
        if reply is None:
            return None
        self.budget.release(0.25, 0.1)
        return Answered(reply, 1, 0.1)

    async def prepare(self) -> None:
        return None

    async def hand_over(self, request: Request, tokens: int, *, shares: bool) -> None:
        if not self.takes:
            return
        self.budget.hold(0.25)
        self.waiting[request.id] = request
        raise Parked

    def answer(self) -> None:
        self.replies |= {id: echo(request) for id, request in self.waiting.items()}
        self.waiting.clear()


def test_a_dialogue_parks_until_its_calls_are_answered() -> None:
    model, caller = Model(), Overnight()
    driver = engine(model, caller=caller)
    outcomes: list[Outcome] = []
    parked: list[Job] = []
    asyncio.run(driver.run([two_rounds("a")], outcomes.append, parked.append))
    assert [job.unit_id for job in parked] == ["a"]
    assert (outcomes, driver.spent, caller.budget.held) == ([], 0.0, 0.25)
    caller.answer()
    again: list[Job] = []
    asyncio.run(driver.run([two_rounds("a")], outcomes.append, again.append))
    assert len(again) == 1 and not outcomes
    assert driver.spent == pytest.approx(0.1)


def test_what_is_set_aside_for_calls_handed_over_counts_towards_the_limit() -> None:
    caller = Overnight(takes=False)
    pricing = Pricing(cost_of=lambda reply: 0.1, upper_cost=lambda request: 0.1)
    policy = EnginePolicy(max_cost=0.3)
    driver = engine(Model(), caller=caller, policy=policy, pricing=pricing)
    caller.budget.hold(0.25)
    outcomes: list[Outcome] = []
    with pytest.raises(Exception, match="cost limit reached"):
        asyncio.run(driver.run([two_rounds("a")], outcomes.append))
    assert outcomes == []
