"""An adapter that gathers requests outside sessions, and in one session after another."""

from __future__ import annotations

import asyncio

import pytest

from adapters.contract import Fault, Generation, Request
from adapters.conversation import Reply
from harness.engine import EnginePolicy
from harness.pictures import PictureStore
from tests.adapters.gathering.virtual import Device, hold, virtually
from tests.harness.engine.support import BatchModel, Model, engine, run, say, two_rounds


def request(number: int) -> Request:
    return Request(say("Step?"), Generation(), f"s{number}", "only")


def test_outside_a_session_nothing_is_waited_for() -> None:
    device = Device(linger_s=30)

    async def ask() -> list[float]:
        ends = []
        for number in range(3):
            await device.ask(request(number), PictureStore())
            ends.append(asyncio.get_running_loop().time())
        return ends

    assert virtually(ask()) == pytest.approx([1.0, 2.0, 3.0])


def test_outside_a_session_what_is_asked_at_the_same_time_is_one_batch() -> None:
    device = Device(linger_s=30)

    async def ask() -> list[Reply]:
        pictures = PictureStore()
        return await asyncio.gather(*(device.ask(request(n), pictures) for n in range(4)))

    replies = virtually(ask())
    assert [reply.text for reply in replies] == [f"s{number} only" for number in range(4)]
    assert [len(one.calls) for one in device.runs] == [4]


def test_one_adapter_serves_sessions_in_several_loops_and_measures_the_last() -> None:
    model = BatchModel(batch_size=4)
    for _ in range(2):
        outcomes = run(engine(model), [two_rounds(f"s{number}") for number in range(8)])
        assert all(outcome.settled for outcome in outcomes)
        assert model.starvation.batches == 4
    assert model.closing_line().startswith("batches: 4, 4.0 calls each on average")


def test_the_first_call_of_a_run_waits_for_no_company() -> None:
    device = Device(linger_s=30)

    async def first() -> float:
        await engine(device).preflight(None)
        return asyncio.get_running_loop().time()

    assert virtually(first()) == pytest.approx(1.0)


def test_a_call_may_wait_as_long_as_the_adapter_says() -> None:
    async def late(asked: Request) -> Reply:
        await asyncio.sleep(50)
        return Reply("at last")

    policy = EnginePolicy(call_timeout_s=10)
    (patient,) = hold(engine(Model(late, wait_s=60), policy=policy), [two_rounds("a")])
    (strict,) = hold(engine(Model(late), policy=policy), [two_rounds("a")])
    assert patient.settled and not strict.settled
    assert strict.error is not None and "no reply within 10 s" in strict.error


def test_requests_that_wait_when_the_session_ends_raise_a_fault() -> None:
    device = Device(batch_size=1, batches_at_once=1)

    async def ask() -> list[Reply | BaseException]:
        asyncio.get_running_loop().call_later(0.5, device.interrupt, "interrupted")
        pictures = PictureStore()
        tasks = (device.ask(request(number), pictures) for number in range(3))
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, *others = virtually(ask())
    assert isinstance(first, Reply)
    assert [(type(other), str(other)) for other in others] == [(Fault, "interrupted")] * 2
