"""An adapter that gathers what is asked into batches: who goes with whom, and who waits for what.

Time is virtual, so that waits can be compared exactly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.contract import Fatal, Fault, Generation, PictureSource, Request
from adapters.conversation import Reply
from adapters.local.batching import LINGER_S, PREPARING_S
from harness.dialogue import Ask, Dialogue
from harness.engine import Job, Stopped
from harness.pictures import PictureStore
from parsers.records import Prediction, Status
from tests.harness.engine.support import (
    BatchModel,
    Log,
    Measured,
    echo,
    engine,
    rounds,
    run,
    say,
    two_rounds,
)
from tests.harness.engine.virtual import hold, virtually

Asked = list[Reply | BaseException]


def request(number: int, length: int = 5) -> Request:
    return Request(say("x" * length), Generation(), f"s{number}", "only")


async def together(model: BatchModel, requests: Sequence[Request]) -> Asked:
    pictures = PictureStore()
    asked = (model.ask(one, pictures) for one in requests)
    return await asyncio.gather(*asked, return_exceptions=True)


def sizes(model: BatchModel) -> list[int]:
    return [len(batch) for batch in model.batches]


def test_what_is_asked_at_the_same_time_fills_batches() -> None:
    model = BatchModel(batch_size=4)
    replies = virtually(together(model, [request(n) for n in range(10)]))
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == [
        f"s{n} only" for n in range(10)
    ]
    assert sizes(model) == [4, 4, 2]


def test_a_batch_that_is_not_full_is_sent_once_nothing_more_comes() -> None:
    async def ask() -> tuple[Asked, float]:
        replies = await together(BatchModel(batch_size=4), [request(n) for n in range(3)])
        return replies, asyncio.get_running_loop().time()

    replies, ended = virtually(ask())
    assert len(replies) == 3
    assert ended == pytest.approx(LINGER_S)


def test_a_full_batch_waits_for_nothing() -> None:
    async def ask() -> float:
        await together(BatchModel(batch_size=4), [request(n) for n in range(4)])
        return asyncio.get_running_loop().time()

    assert virtually(ask()) == 0


@pytest.mark.parametrize(("prepare_s", "expected"), [(2.0, [2]), (3 * PREPARING_S, [1, 1])])
def test_a_request_that_is_being_prepared_is_waited_for_but_not_for_ever(
    prepare_s: float, expected: list[int]
) -> None:
    class Slow(BatchModel):
        async def prepare(self, request: Request, pictures: PictureSource) -> Measured:
            await asyncio.sleep(prepare_s if request.unit_id == "s1" else 0)
            return await super().prepare(request, pictures)

    model = Slow(batch_size=4)
    virtually(together(model, [request(n) for n in range(2)]))
    assert sizes(model) == expected


def test_a_request_that_cannot_be_prepared_fails_alone_and_holds_up_nobody() -> None:
    class Refusing(BatchModel):
        async def prepare(self, request: Request, pictures: PictureSource) -> Measured:
            if request.unit_id == "s1":
                raise Fatal("it takes no pictures")
            return await super().prepare(request, pictures)

    model = Refusing(batch_size=4)
    first, second, third = virtually(together(model, [request(n) for n in range(3)]))
    assert isinstance(first, Reply) and isinstance(third, Reply)
    assert str(second) == "it takes no pictures"


@given(st.lists(st.integers(1, 60), min_size=1, max_size=20), st.integers(1, 5))
def test_every_batch_has_the_request_that_waited_longest_and_those_nearest_in_length(
    lengths: list[int], size: int
) -> None:
    model = BatchModel(batch_size=size, batch_s=1.0)
    virtually(together(model, [request(n, length) for n, length in enumerate(lengths)]))
    left = list(range(len(lengths)))
    for batch in model.batches:
        chosen = [int(step[1:]) for step, _ in batch]
        first = left[0]
        assert first in chosen
        far = max(abs(lengths[n] - lengths[first]) for n in chosen)
        assert all(abs(lengths[n] - lengths[first]) >= far for n in left if n not in chosen)
        left = [n for n in left if n not in chosen]
    assert left == []
    assert sum(sizes(model)) == len(lengths)


def test_a_caller_that_gives_up_is_left_out_of_its_batch() -> None:
    async def ask() -> BatchModel:
        model, pictures = BatchModel(batch_size=4), PictureStore()
        calls = [asyncio.ensure_future(model.ask(request(n), pictures)) for n in range(3)]
        await asyncio.sleep(LINGER_S / 2)
        calls[1].cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        return model

    model = virtually(ask())
    assert model.batches == [[("s0", "only"), ("s2", "only")]]


def test_requests_that_wait_when_the_session_ends_raise_a_fault() -> None:
    async def ask() -> Asked:
        model = BatchModel(batch_size=1, batch_s=1.0)
        asyncio.get_running_loop().call_later(0.5, model.interrupt, "interrupted")
        return await together(model, [request(n) for n in range(3)])

    first, *others = virtually(ask())
    assert isinstance(first, Reply)
    assert [(type(other), str(other)) for other in others] == [(Fault, "interrupted")] * 2


def test_a_session_after_an_interrupted_one_asks_again(tmp_path: Path) -> None:
    """In the same loop, as in a notebook."""
    model = BatchModel(batch_size=2, batch_s=1.0)

    async def both() -> list[object]:
        stopped = engine(model)
        asyncio.get_running_loop().call_later(0.5, stopped.stop, "interrupted")
        with pytest.raises(Stopped):
            await stopped.run([two_rounds(f"s{n}") for n in range(9)], lambda outcome: None)
        driver, outcomes = engine(model), list[object]()
        await driver.open(tmp_path, print)
        await driver.run([two_rounds("b")], outcomes.append)
        return outcomes

    assert len(virtually(both())) == 1


def test_one_adapter_serves_sessions_in_several_loops() -> None:
    model = BatchModel(batch_size=4)
    for _ in range(2):
        outcomes = run(engine(model), [two_rounds(f"s{number}") for number in range(8)])
        assert all(outcome.settled for outcome in outcomes)


def test_a_busy_device_finds_a_full_batch_waiting() -> None:
    model = BatchModel(batch_size=4, batch_s=1.0)
    outcomes = hold(engine(model), [two_rounds(f"s{n:02}") for n in range(20)])
    assert len(outcomes) == 20
    assert sum(sizes(model)) == 40
    # Only what is left at the end does not fill a batch.
    assert len(model.batches) <= 12


def test_the_groups_of_a_tournament_share_a_batch() -> None:
    def tournament() -> Dialogue:
        yield tuple(Ask(say(f"Group {n}?"), f"group-{n}") for n in range(4))
        return Prediction.of(Status.NONE)

    model = BatchModel(batch_size=8)
    assert len(run(engine(model), [Job("s", tournament)])) == 1
    assert sizes(model) == [4]


def test_steps_that_ask_nothing_hold_up_nobody() -> None:
    model = BatchModel(batch_size=4)
    jobs = [Job(f"s{n}", rounds(*(["only"] if n % 2 else []))) for n in range(8)]
    assert len(hold(engine(model), jobs)) == 8
    assert sizes(model) == [4]


def test_a_fault_in_a_batch_is_tried_again_alone() -> None:
    failures = iter([True])

    def answer(request: Request) -> Reply:
        if request.unit_id == "s2" and next(failures, False):
            raise Fault("server", "out of memory")
        return echo(request)

    model, log = BatchModel(answer), Log()
    outcomes = run(engine(model, log), [two_rounds(f"s{n}") for n in range(4)])
    assert all(outcome.settled for outcome in outcomes)
    assert model.order.count(("s2", "round-1")) == 2
    assert len(model.asked) == 9


def test_a_permanent_error_in_a_batch_ends_the_run() -> None:
    def answer(request: Request) -> Reply:
        raise Fatal("no such model")

    with pytest.raises(Fatal, match="no such model"):
        run(engine(BatchModel(answer)), [two_rounds(f"s{n}") for n in range(9)])


def test_stopping_finishes_the_batch_under_way() -> None:
    model, log = BatchModel(batch_size=4), Log()
    driver = engine(model, log)

    async def answer(request: Request) -> Reply:
        driver.stop("interrupted")
        return echo(request)

    model.model._answer = answer
    with pytest.raises(Stopped, match="interrupted"):
        asyncio.run(driver.run([two_rounds(f"s{n}") for n in range(99)], lambda outcome: None))
    assert len(log.records) == 4
