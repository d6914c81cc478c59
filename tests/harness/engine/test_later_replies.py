"""Replies that come later: their dialogues are parked, and what they may cost counts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from adapters.contract import Request
from adapters.conversation import Reply
from harness.dialogue import Ask
from harness.engine import Answered, AskLane, Engine, EnginePolicy, Job, Lane, Outcome, Pricing
from harness.engine.lanes import EngineState
from harness.engine.stopping import Parked
from harness.pictures import PictureStore
from tests.harness.engine.support import Log, Model, echo, two_rounds


@dataclass(frozen=True, slots=True)
class Overnight(Lane):
    """Answers calls when told to; each costs a tenth of a dollar of the quarter set aside."""

    waiting: dict[str, Request] = field(default_factory=dict)
    replies: dict[str, Reply] = field(default_factory=dict)

    def opened(self, role: str, session: EngineState) -> AskLane:
        lane = self

        class Open(AskLane):
            async def answer(self, seat: Any, request: Request, retry: Any = None) -> Any:
                if request.id in lane.waiting:
                    raise Parked
                reply = lane.replies.pop(request.id, None)
                if reply is None:
                    session.budget.hold(0.25)
                    lane.waiting[request.id] = request
                    raise Parked
                session.budget.release(0.25, 0.1)
                return Answered(reply, 1, 0.1)

        return Open(role, self, session)

    def answer(self) -> None:
        self.replies.update({id: echo(request) for id, request in self.waiting.items()})
        self.waiting.clear()


def engine(lane: Lane, policy: EnginePolicy | None = None, **more: Any) -> Engine:
    return Engine(lane, PictureStore(), Log(), policy=policy, **more)


def passed(driver: Engine, *jobs: Job) -> tuple[list[Outcome], list[str]]:
    """One pass: the outcomes, and the units that were parked."""
    outcomes: list[Outcome] = []
    parked: list[Job] = []
    asyncio.run(driver.run(jobs, outcomes.append, parked.append))
    return outcomes, [job.unit_id for job in parked]


def test_a_dialogue_parks_until_its_calls_are_answered() -> None:
    lane, log = Overnight(Model()), Log()
    driver = Engine(lane, PictureStore(), log)
    assert passed(driver, two_rounds("a")) == ([], ["a"])
    assert driver.spent == 0.0
    lane.answer()
    assert passed(driver, two_rounds("a")) == ([], ["a"]), "the second round waits"
    assert driver.spent == pytest.approx(0.1)
    assert len(log.records) == 1


def test_calls_side_by_side_are_all_made_before_their_dialogue_parks() -> None:
    def dialogue() -> Any:
        first = two_rounds("a").dialogue()
        ask = next(first)
        assert isinstance(ask, Ask)
        yield (ask, Ask(ask.conversation, "other"), Ask(ask.conversation, "third"))

    lane = Overnight(Model())
    assert passed(engine(lane), Job("a", dialogue)) == ([], ["a"])
    assert len(lane.waiting) == 3


def test_what_is_held_for_replies_to_come_counts_towards_the_limit() -> None:
    pricing = Pricing(cost_of=lambda reply: 0.1, upper_cost=lambda request: 0.1)
    later = Overnight(Model(), pricing=pricing)
    driver = engine(
        later, EnginePolicy(max_cost=0.3), roles={"judge": Lane(Model(), pricing=pricing)}
    )
    assert passed(driver, two_rounds("a")) == ([], ["a"])

    def judged() -> Any:
        ask = next(two_rounds("b").dialogue())
        assert isinstance(ask, Ask)
        yield Ask(ask.conversation, "judged", role="judge")

    with pytest.raises(Exception, match=r"cost limit reached.*reserved for replies to come"):
        passed(driver, Job("b", judged))
