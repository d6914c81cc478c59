"""Batches of one round stay together for the next, and the device never waits for the engine."""

from __future__ import annotations

import asyncio

import pytest

from adapters.contract import Fatal, Fault, Request
from adapters.conversation import Picture, Reply, user
from harness.dialogue import Ask, Dialogue, together
from harness.engine import Job, Stopped
from parsers.records import Prediction, Status
from tests.adapters.gathering.virtual import Device, SlowLog, hold, virtually
from tests.harness.engine.support import Fetched, echo, engine, rounds, say, two_rounds

PATIENT_S = 30


def uneven(number: int) -> Job:
    """A step whose prompt is longer the odder its number is."""
    text = "word " * (17 * number % 41)
    return Job(f"s{number:02}", rounds("round-1", "round-2", text=text))


def test_the_rows_of_a_batch_go_on_together_whatever_runs_between() -> None:
    device = Device(linger_s=PATIENT_S, prepare_s=0.05)
    log = SlowLog(lambda call: 0.01 * (len(call) + ord(call[2]) % 3))
    hold(engine(device, log), [uneven(number) for number in range(40)])
    first = [run.steps for run in device.runs if run.place == "round-1"]
    second = [run.steps for run in device.runs if run.place == "round-2"]
    assert len(first) == len(second) == 10
    assert set(first) == set(second)
    assert device.most_under_way == 2


def test_rows_of_a_cohort_come_in_the_order_they_had() -> None:
    device = Device(linger_s=PATIENT_S)
    log = SlowLog(lambda call: 0.01 * (9 - int(call[2])) if call[2].isdigit() else 0)
    hold(engine(device, log), [uneven(number) for number in range(8)])
    order = {run.steps: [step for step, _ in run.calls] for run in device.runs}
    for run in device.runs:
        assert [step for step, _ in run.calls] == order[run.steps]


def test_the_device_never_waits_when_preparing_is_fast() -> None:
    device = Device(batch_s=2.0, prepare_s=0.02)
    hold(engine(device, SlowLog(lambda call: 0.02)), [uneven(number) for number in range(80)])
    assert device.idle_s == 0
    starvation = device.starvation
    assert starvation.idle_s == 0
    assert starvation.share < 0.02
    assert starvation.batches == len(device.runs) == 40
    assert starvation.rows == 160
    assert starvation.total_s == pytest.approx(device.runs[-1].ended, abs=0.1)
    assert 0 < starvation.first_s < 0.1


def test_waiting_for_slow_preparation_is_counted() -> None:
    device = Device(batch_s=1.0, prepare_s=lambda r: 4.0 if r.place == "round-1" else 0.0, cpus=1)
    hold(engine(device), [uneven(number) for number in range(20)])
    starvation = device.starvation
    assert starvation.idle_s == pytest.approx(device.idle_s, rel=0.05)
    assert starvation.idle_s > 10
    assert starvation.idle_s <= starvation.starved_s


def test_preparing_overlaps_with_the_device() -> None:
    # 40 calls of 0.45 s on two processors are 9 s; 20 batches of 1 s are 20 s.
    device = Device(
        linger_s=PATIENT_S, prepare_s=lambda r: 0.45 if r.place == "round-1" else 0.0, cpus=2
    )
    hold(engine(device), [uneven(number) for number in range(40)])
    assert device.idle_s == 0
    assert device.runs[-1].ended == pytest.approx(20 + 4 * 0.45 / 2)


def test_the_first_batch_waits_while_others_still_join_it() -> None:
    device = Device(prepare_s=lambda r: 0.5 if r.place == "round-1" else 0.0, cpus=1)
    hold(engine(device), [uneven(number) for number in range(16)])
    assert [len(run.calls) for run in device.runs] == [4] * 8
    assert device.runs[0].begun == pytest.approx(4 * 0.5)


def test_what_a_cohort_waits_for_is_prepared_before_newcomers() -> None:
    device = Device(prepare_s=lambda r: 0.5 if r.place == "round-1" else 0.1, cpus=1)
    hold(engine(device), [uneven(number) for number in range(40)])
    assert {len(run.calls) for run in device.runs} == {4}
    order = [place for _, place in device.prepared]
    # Those of the first batch come as soon as it is answered, not behind the 36 that wait.
    assert order.index("round-2") < 16


def test_calls_are_prepared_once_and_a_bounded_number_at_a_time() -> None:
    device = Device(prepare_s=0.1, cpus=100, batch_size=64)
    hold(engine(device), [two_rounds(f"s{number}") for number in range(200)])
    assert sorted(device.prepared) == sorted(set(device.prepared))
    assert device.most_preparing <= 32 + 64


def test_a_dialogue_that_ended_early_is_not_waited_for() -> None:
    def refused() -> Dialogue:
        yield Ask(say("Step?"), "round-1", continues=True)
        return Prediction.of(Status.REFUSAL)

    jobs = [
        Job(f"s{number}", rounds("round-1", "round-2") if number % 4 else refused)
        for number in range(16)
    ]
    device = Device(linger_s=PATIENT_S, batches_at_once=1)
    hold(engine(device), jobs)
    assert device.idle_s == 0
    assert [len(run.calls) for run in device.runs if run.place == "round-2"] == [3, 3, 3, 3]


def test_a_dialogue_that_goes_elsewhere_is_not_waited_for() -> None:
    def elsewhere() -> Dialogue:
        yield Ask(say("one"), "round-1", continues=True)
        yield Ask(say("two"), "other")
        return Prediction.of(Status.ANSWERED)

    jobs = [Job(f"s{n}", elsewhere) if n == 2 else two_rounds(f"s{n}") for n in range(4)]
    device = Device(linger_s=PATIENT_S)
    hold(engine(device), jobs)
    assert [(run.place, len(run.calls)) for run in device.runs] == [
        ("round-1", 4),
        ("round-2", 3),
        ("other", 1),
    ]
    assert device.idle_s == 0


def test_a_row_that_takes_long_to_record_is_waited_for_while_the_device_is_busy() -> None:
    log = SlowLog(lambda call: 0.9 if call == "s1/0/round-1" else 0.0)
    device = Device()
    hold(engine(device, log), [two_rounds(f"s{number}") for number in range(8)])
    assert sorted(len(run.calls) for run in device.runs) == [4, 4, 4, 4]
    assert device.idle_s == 0


def test_an_idle_device_does_not_wait_for_a_straggler() -> None:
    log = SlowLog(lambda call: 60.0 if call == "s1/0/round-1" else 0.0)
    device = Device()
    hold(engine(device, log), [two_rounds(f"s{number}") for number in range(4)])
    assert [len(run.calls) for run in device.runs] == [4, 3, 1]
    assert device.runs[1].begun == pytest.approx(device.runs[0].ended + 0.25)


def test_no_more_dialogues_are_begun_than_the_adapter_can_keep() -> None:
    device = Device(open_dialogues=9)
    hold(engine(device), [uneven(number) for number in range(60)])
    begun: set[str] = set()
    for run in device.runs:
        begun = begun | run.steps if run.place == "round-1" else begun - run.steps
        assert len(begun) <= 9


@pytest.mark.parametrize("at_once", [1, 2, 4])
def test_prepared_pixels_are_bounded_however_much_the_adapter_could_keep(at_once: int) -> None:
    fetched = Fetched()
    device = Device(open_dialogues=10_000, batches_at_once=at_once)
    virtually(engine(device).run(fetched.jobs(200), fetched.settle))
    assert fetched.ended == 200
    assert fetched.most <= (at_once + 2) * 4 + 1
    assert device.most_under_way == at_once


def test_a_row_that_fails_is_tried_again_while_the_others_go_on() -> None:
    failures = iter([True])

    def answer(request: Request) -> Reply:
        if (request.unit_id, request.place) == ("s1", "round-2") and next(failures, False):
            raise Fault("server", "out of memory")
        return echo(request)

    device = Device(answer)
    outcomes = hold(engine(device), [two_rounds(f"s{number}") for number in range(100)])
    assert all(outcome.settled for outcome in outcomes)
    tries = [run for run in device.runs if ("s1", "round-2") in run.calls]
    assert [len(run.calls) for run in tries] == [4, 1]
    # Newcomers fill batches all the time; it must not have to wait for the last of them.
    assert device.runs.index(tries[1]) < 20
    assert device.idle_s == 0


def test_a_call_that_cannot_be_prepared_fails_alone() -> None:
    def seconds(request: Request) -> float:
        if request.unit_id == "s3":
            raise Fault("malformed", "no such picture")
        return 0.0

    outcomes = hold(engine(Device(prepare_s=seconds)), [two_rounds(f"s{n}") for n in range(9)])
    assert [o.unit_id for o in outcomes if not o.settled] == ["s3"]
    assert outcomes[3].error == "malformed after 3 tries: no such picture"


def test_a_permanent_error_in_preparing_ends_the_run() -> None:
    def seconds(request: Request) -> float:
        if request.unit_id == "s7":
            raise Fatal("this model takes one picture")
        return 0.1

    device = Device(prepare_s=seconds)
    with pytest.raises(Fatal, match="one picture"):
        hold(engine(device), [two_rounds(f"s{number}") for number in range(50)])


def test_stopping_sends_nothing_that_is_still_being_prepared() -> None:
    device = Device(prepare_s=0.3, cpus=4)
    driver = engine(device)

    async def main() -> None:
        asyncio.get_running_loop().call_later(0.7, driver.stop, "interrupted")
        await driver.run([two_rounds(f"s{number}") for number in range(99)], lambda outcome: None)

    with pytest.raises(Stopped, match="interrupted"):
        virtually(main())
    assert {run.place for run in device.runs} == {"round-1"}
    assert len(device.runs) <= 2
    assert len(device.prepared) <= 12


def test_dialogues_side_by_side_go_on_in_the_batches_they_came_in() -> None:
    def parts(number: int) -> Job:
        def dialogue() -> Dialogue:
            def part(which: int) -> Dialogue:
                conversation = say(f"step {number} part {which}")
                reply = yield Ask(conversation, f"round-1-{which}", continues=True)
                assert isinstance(reply, Reply)
                yield Ask(conversation.then(reply, user("and?")), f"round-2-{which}")
                return Prediction.of(Status.ANSWERED)

            yield from together(*(part(which) for which in range(3)))
            return Prediction.of(Status.ANSWERED)

        return Job(f"s{number}", dialogue)

    device = Device(linger_s=PATIENT_S, batch_size=4)
    outcomes = hold(engine(device), [parts(number) for number in range(8)])
    assert all(outcome.settled for outcome in outcomes)
    parts_of = [{(step, place[-1]) for step, place in run.calls} for run in device.runs]
    first = [parts for parts, run in zip(parts_of, device.runs, strict=True) if run.turns == {1}]
    second = [parts for parts, run in zip(parts_of, device.runs, strict=True) if run.turns == {3}]
    assert sorted(map(sorted, first)) == sorted(map(sorted, second))
    assert device.idle_s == 0


def test_pictures_are_left_to_the_model_which_knows_what_is_urgent() -> None:
    ahead: list[Picture] = []
    job = Job("s", rounds("round-1", "round-2", picture=Picture("d" * 64, "full", 10, 10)))
    hold(engine(Device(), prepare_picture=ahead.append), [job])
    assert ahead == []
