from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.contract import Fatal, Fault, Generation, Request
from adapters.conversation import Conversation, Reply, user
from adapters.local.waiting import Waiting, choose
from harness.dialogue import Ask, Dialogue
from harness.engine import Job, Stopped
from harness.pictures import PictureStore
from parsers.records import Prediction, Status
from tests.harness.engine.support import (
    BatchModel,
    Log,
    echo,
    engine,
    rounds,
    run,
    say,
    two_rounds,
)

PATIENT_S = 30


def test_full_batches_of_one_round_the_second_right_after_the_first() -> None:
    model = BatchModel(linger_s=PATIENT_S, batch_size=4, open_dialogues=8)
    outcomes = run(engine(model), [two_rounds(f"s{n}") for n in range(16)])
    assert all(outcome.settled for outcome in outcomes)
    assert [len(batch) for batch in model.batches] == [4] * 8
    places = [{place for _, place in batch} for batch in model.batches]
    assert places == [{"round-1"}, {"round-2"}] * 4


def test_the_last_batch_goes_unfilled_without_waiting() -> None:
    model = BatchModel(linger_s=PATIENT_S, batch_size=4)
    run(engine(model), [two_rounds(f"s{n}") for n in range(5)])
    assert sorted(len(batch) for batch in model.batches) == [1, 1, 4, 4]


def test_no_more_dialogues_are_open_than_the_adapter_can_keep() -> None:
    model = BatchModel(linger_s=PATIENT_S, batch_size=4, open_dialogues=3)
    run(engine(model), [two_rounds(f"s{n}") for n in range(9)])
    assert max(len(batch) for batch in model.batches) == 3
    begun: set[str] = set()
    for batch in model.batches:
        begun |= {step for step, place in batch if place == "round-1"}
        begun -= {step for step, place in batch if place == "round-2"}
        assert len(begun) <= 3


def test_every_step_is_released_once_when_its_last_repeat_is_over() -> None:
    model = BatchModel()
    jobs = [two_rounds(f"s{n}", repeat=repeat) for n in range(5) for repeat in range(2)]
    run(engine(model), jobs)
    assert sorted(model.released) == [f"s{n}" for n in range(5)]


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


def test_steps_that_ask_nothing_hold_up_nobody() -> None:
    model = BatchModel(linger_s=PATIENT_S, batch_size=4)
    jobs = [Job(f"s{n}", rounds(*(["only"] if n % 2 else []))) for n in range(8)]
    assert len(run(engine(model), jobs)) == 8
    assert [len(batch) for batch in model.batches] == [4]


calls = st.lists(
    st.tuples(st.integers(0, 50), st.sampled_from([1, 3]), st.integers(0, 1000)),
    min_size=1,
    max_size=30,
)


@given(calls, st.integers(1, 10))
def test_a_batch_is_of_one_round_and_holds_the_oldest_call_of_it(
    waiting: list[tuple[int, int, int]], size: int
) -> None:
    loop = asyncio.new_event_loop()
    queue = [
        Waiting(
            number,
            Request(Conversation((user("x"),) * turns), Generation(), "s", f"group-{n}"),
            PictureStore(),
            length,
            loop.create_future(),
        )
        for n, (number, turns, length) in enumerate(waiting)
    ]
    loop.close()
    chosen, full = choose(queue, size)
    (turns,) = {len(call.request.conversation.messages) for call in chosen}
    group = [call for call in queue if len(call.request.conversation.messages) == turns]
    assert min(call.number for call in group) in {call.number for call in chosen}
    assert full == (len(chosen) == size) == (len(group) >= size)
    assert len({id(call) for call in chosen}) == len(chosen)


def test_calls_with_pictures_of_one_size_go_together() -> None:
    loop = asyncio.new_event_loop()
    large_and_small = (1196, 16_384, 2691)
    waiting = [
        Waiting(
            n,
            Request(say("x"), Generation(), f"s{n}", "only"),
            PictureStore(),
            length,
            loop.create_future(),
        )
        for n, length in enumerate(large_and_small * 4)
    ]
    loop.close()
    batches = []
    while waiting:
        chosen, _ = choose(waiting, 4)
        batches.append({call.length for call in chosen})
        waiting = [call for call in waiting if call not in chosen]
    assert batches == [{length} for length in large_and_small]


def test_the_groups_of_a_tournament_share_a_batch() -> None:
    def tournament() -> Dialogue:
        yield tuple(Ask(say(f"Group {n}?"), f"group-{n}") for n in range(4))
        return Prediction.of(Status.NONE)

    model = BatchModel(linger_s=PATIENT_S, batch_size=8)
    assert len(run(engine(model), [Job("s", tournament)])) == 1
    assert [len(batch) for batch in model.batches] == [4]
