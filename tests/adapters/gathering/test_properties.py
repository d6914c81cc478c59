"""Whatever dialogues, devices and failures do: bounds hold, nobody is forgotten."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.contract import Fault, Request
from adapters.conversation import Conversation, Reply, user
from harness.dialogue import Ask, Dialogue, replies_of
from harness.engine import EnginePolicy, Job
from parsers.records import Prediction, Status
from tests.adapters.gathering.virtual import Device, SlowLog, hold
from tests.harness.engine.support import echo, engine, say


def job(number: int, chance: random.Random) -> Job:
    """One to four turns of one to three calls; some go on from an earlier one, some begin anew."""
    turns = [chance.randint(1, 3) for _ in range(chance.randint(0, 4))]

    def dialogue() -> Dialogue:
        said: list[tuple[Conversation, Reply]] = []
        for turn, calls in enumerate(turns):
            asks = []
            for call in range(calls):
                text = "word " * chance.randint(1, 50)
                conversation = say(text)
                if said and chance.random() < 0.7:
                    earlier, reply = chance.choice(said)
                    conversation = earlier.then(reply, user(text))
                asks.append(Ask(conversation, f"{turn}-{call}", chance.random() < 0.7))
            replies = replies_of((yield tuple(asks)))
            said += zip((ask.conversation for ask in asks), replies, strict=True)
        return Prediction.of(Status.ANSWERED)

    return Job(f"s{number}", dialogue)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    size=st.integers(1, 6),
    at_once=st.integers(1, 3),
    dialogues=st.integers(0, 40),
    kept=st.none() | st.integers(1, 20),
    faults=st.sampled_from([0.0, 0.1, 0.6]),
)
def test_every_dialogue_ends_and_no_bound_is_passed(
    seed: int, size: int, at_once: int, dialogues: int, kept: int | None, faults: float
) -> None:
    chance = random.Random(seed)

    def answer(request: Request) -> Reply:
        if chance.random() < faults:
            raise Fault("server", "out of memory")
        return echo(request)

    device = Device(
        answer,
        batch_s=lambda requests: chance.random(),
        prepare_s=lambda request: chance.random() * chance.choice([0.001, 0.1, 2.0]),
        cpus=2,
        batch_size=size,
        batches_at_once=at_once,
        open_dialogues=kept,
    )
    log = SlowLog(lambda call: chance.random() * chance.choice([0.0, 0.01, 1.0]))
    driver = engine(device, log, policy=EnginePolicy(failures_in_a_row=10_000))
    outcomes = hold(driver, [job(number, chance) for number in range(dialogues)])
    assert len(outcomes) == dialogues
    assert faults or all(outcome.settled for outcome in outcomes)
    assert device.most_under_way <= at_once
    for run in device.runs:
        assert 1 <= len(run.calls) <= size
        assert len(run.turns) == 1
    asked = [call for run in device.runs for call in run.calls]
    assert faults or len(asked) == len(set(asked)) == len(log.records)
    starvation = device.starvation
    assert 0 <= starvation.idle_s <= starvation.starved_s + 1e-9
    assert starvation.idle_s <= device.idle_s + 1e-6
