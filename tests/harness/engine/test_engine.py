from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.contract import Fatal, Fault, Request
from adapters.conversation import Conversation, Finish, Picture, Reply, Usage, system, user
from harness.dialogue import Ask, Dialogue, replies_of, together
from harness.engine import (
    EnginePolicy,
    Job,
    Observer,
    Outcome,
    ProtocolError,
    ReplayMismatch,
    RetryPolicy,
    Stopped,
    TooManyFailures,
)
from harness.runs import CallRecord, RunError
from parsers.records import Prediction, Status
from tests.harness.engine.support import (
    BatchModel,
    Fetched,
    Log,
    Model,
    echo,
    engine,
    rounds,
    run,
    say,
    two_rounds,
)
from tests.harness.engine.virtual import hold


def test_dialogues_hear_their_own_replies_and_predict() -> None:
    outcomes = run(engine(Model()), [two_rounds(f"s{n}") for n in range(30)])
    assert len(outcomes) == 30
    for outcome in outcomes:
        assert outcome.prediction is not None
        own = outcome.unit_id
        assert outcome.prediction.value == f"{own} round-1 / {own} round-2"
        assert outcome.calls == (f"{own}/0/round-1", f"{own}/0/round-2")
        assert outcome.usage == Usage(20, output=4)
        assert outcome.cost is None


@pytest.mark.parametrize("concurrency", [1, 3])
def test_the_second_round_goes_before_any_new_first_one(concurrency: int) -> None:
    model = Model()
    policy = EnginePolicy(open_dialogues=10)
    driver = engine(model, policy=policy, concurrency=concurrency)
    run(driver, [two_rounds(f"s{n}") for n in range(9)])
    for start in range(0, 18, 2 * concurrency):
        group = model.order[start : start + 2 * concurrency]
        assert [place for _, place in group] == [
            *["round-1"] * concurrency,
            *["round-2"] * concurrency,
        ]
        assert len({step for step, _ in group}) == concurrency


def test_no_more_calls_are_under_way_than_allowed() -> None:
    model = Model(concurrency=64)
    run(engine(model, concurrency=5), [two_rounds(f"s{n}") for n in range(50)])
    assert model.most == 5


def test_jobs_are_fetched_as_there_is_room_for_them() -> None:
    fetched = Fetched()
    driver = engine(Model(), policy=EnginePolicy(open_dialogues=7))
    asyncio.run(driver.run(fetched.jobs(200), fetched.settle))
    assert fetched.ended == 200
    assert fetched.most <= 8


def test_calls_asked_together_are_answered_in_their_order() -> None:
    def dialogue() -> Dialogue:
        predictions = yield from together(*(rounds(f"part-{n}")() for n in range(4)))
        return Prediction.of(Status.ANSWERED, value=",".join(p.value for p in predictions))

    async def uneven(request: Request) -> Reply:
        await asyncio.sleep(0.001 * (5 - int(request.place[-1])))
        return echo(request)

    (outcome,) = run(engine(Model(uneven)), [Job("a", dialogue)])
    assert outcome.prediction is not None
    assert outcome.prediction.value == "a part-0,a part-1,a part-2,a part-3"


@pytest.mark.parametrize("concurrency", [1, 3, 8])
@pytest.mark.parametrize("kind", [Model, BatchModel])
def test_a_dialogue_may_ask_more_at_a_time_than_there_are_slots(
    kind: type[Model], concurrency: int
) -> None:
    def dialogue() -> Dialogue:
        parts = (rounds(f"part-{n}", f"part-{n}-again")() for n in range(10))
        predictions = yield from together(*parts)
        return Prediction.of(Status.ANSWERED, value=str(len(predictions)))

    model = kind(concurrency=concurrency)
    driver = engine(model)

    async def hold() -> list[Outcome]:
        outcomes: list[Outcome] = []
        jobs = [Job(f"s{n}", dialogue) for n in range(12)]
        await asyncio.wait_for(driver.run(jobs, outcomes.append), 20)
        return outcomes

    outcomes = asyncio.run(hold())
    assert [o.prediction.value for o in outcomes if o.prediction] == ["10"] * 12
    assert len(set(model.order)) == 240
    if kind is Model:
        assert model.most == concurrency


def test_a_failed_call_cancels_its_siblings_and_leaves_the_step_unsettled() -> None:
    cancelled, closed = [], []

    async def answer(request: Request) -> Reply:
        if request.place == "bad":
            raise Fault("server", "500 oops")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(request.place)
            raise
        return echo(request)

    def dialogue() -> Dialogue:
        try:
            yield Ask(say("x"), "slow"), Ask(say("y"), "bad")
        finally:
            closed.append(True)
        return Prediction.of(Status.ANSWERED)

    (outcome,) = run(engine(Model(answer)), [Job("a", dialogue)])
    assert not outcome.settled
    assert outcome.error == "server after 3 tries: 500 oops"
    assert (cancelled, closed) == (["slow"], [True])


@pytest.mark.parametrize("kind", ["rate_limit", "timeout", "connection", "server", "malformed"])
def test_what_may_pass_is_tried_again(kind: str) -> None:
    failures = iter([True, True, False, False])

    def answer(request: Request) -> Reply:
        if next(failures):
            raise Fault(kind, "not now")  # type: ignore[arg-type]
        return echo(request)

    log = Log()
    (outcome,) = run(engine(Model(answer), log), [two_rounds("a")])
    assert outcome.settled
    assert [record.attempts for record in log.records] == [3, 1]


def test_a_call_that_hangs_is_a_timeout() -> None:
    async def answer(request: Request) -> Reply:
        await asyncio.sleep(60)
        return echo(request)

    policy = EnginePolicy(call_timeout_s=0.01)
    (outcome,) = run(engine(Model(answer), policy=policy), [two_rounds("a")])
    assert outcome.error == "timeout after 3 tries: no reply within 0.01 s"


def test_a_call_may_take_longer_by_what_it_may_wait_in_the_adapter() -> None:
    async def answer(request: Request) -> Reply:
        await asyncio.sleep(0.1)
        return echo(request)

    policy = EnginePolicy(call_timeout_s=0.01)
    (outcome,) = run(engine(Model(answer, wait_s=60), policy=policy), [two_rounds("a")])
    assert outcome.settled


@pytest.mark.parametrize("second", [Finish.STOP, Finish.CONTENT_FILTER])
def test_a_filtered_reply_is_asked_for_once_more(second: Finish) -> None:
    finishes = iter([Finish.CONTENT_FILTER, second])
    model, log = Model(lambda request: Reply("", next(finishes))), Log()
    (outcome,) = run(engine(model, log), [Job("a", rounds("only"))])
    assert outcome.settled
    assert (log.records[0].reply.finish, log.records[0].attempts) == (second, 2)


@pytest.mark.parametrize("finish", [Finish.REFUSAL, Finish.LENGTH, Finish.TOO_LONG])
def test_what_the_model_or_provider_decided_is_not_asked_again(finish: Finish) -> None:
    model = Model(lambda request: Reply("", finish))
    (outcome,) = run(engine(model), [Job("a", rounds("only"))])
    assert outcome.settled
    assert len(model.asked) == 1


def test_a_prompt_over_the_context_is_not_sent() -> None:
    model, log = Model(context_tokens=1000), Log()
    driver = engine(model, log, prompt_tokens=lambda conversation: 1001)
    (outcome,) = run(driver, [Job("a", rounds("only"))])
    assert outcome.prediction is not None
    assert outcome.prediction.value == "too_long"
    assert model.asked == []
    assert (log.records[0].reply.finish, log.records[0].attempts) == (Finish.TOO_LONG, 0)


def test_the_longest_prompt_counts_whether_asked_played_back_or_unanswered() -> None:
    def answer(request: Request) -> Reply:
        if request.unit_id == "lost" and request.place == "round-2":
            raise Fault("server", "down")
        return echo(request)

    def tokens(conversation: Conversation) -> int:
        return len(conversation.messages)

    log = Log()
    jobs = [two_rounds("a"), two_rounds("lost"), Job("silent", rounds())]
    outcomes = run(engine(Model(answer), log, prompt_tokens=tokens), jobs)
    assert [outcome.prompt_tokens for outcome in outcomes] == [3, 3, None]
    resumed = engine(Model(), prompt_tokens=tokens)
    (again,) = run(resumed, [two_rounds("a", recorded=log.of("a"))])
    assert again.prompt_tokens == 3


def test_a_permanent_error_ends_the_run_at_once() -> None:
    async def answer(request: Request) -> Reply:
        if request.unit_id == "s1":
            raise Fatal("the key is not accepted")
        await asyncio.sleep(60)
        return echo(request)

    model, outcomes = Model(answer), list[object]()
    with pytest.raises(Fatal, match="the key is not accepted"):
        asyncio.run(engine(model).run([two_rounds(f"s{n}") for n in range(99)], outcomes.append))
    assert len(model.asked) <= 8
    assert outcomes == []


def test_nothing_that_waits_for_its_turn_is_sent_after_a_permanent_error() -> None:
    def answer(request: Request) -> Reply:
        raise Fatal("the key is not accepted")

    model = Model(answer)
    with pytest.raises(Fatal):
        run(engine(model, concurrency=1), [two_rounds(f"s{n}") for n in range(9)])
    assert len(model.asked) == 1


def test_a_log_that_fails_ends_the_run() -> None:
    class Broken(Log):
        async def record_call(self, record: CallRecord, blobs: Sequence[bytes] = ()) -> None:
            raise RunError("the disk is gone")

    with pytest.raises(RunError, match="the disk is gone"):
        run(engine(Model(), Broken()), [two_rounds(f"s{n}") for n in range(9)])


def test_the_run_stops_when_nothing_works_any_more() -> None:
    def answer(request: Request) -> Reply:
        if int(request.unit_id[1:]) >= 10:
            raise Fault("connection", "refused")
        return echo(request)

    outcomes: list[object] = []
    policy = EnginePolicy(failures_in_a_row=5)
    driver = engine(Model(answer), policy=policy)
    with pytest.raises(TooManyFailures, match="5 calls in a row failed: connection after 3 tries"):
        asyncio.run(driver.run([two_rounds(f"s{n}") for n in range(500)], outcomes.append))
    assert 15 <= len(outcomes) < 30


def test_stopping_waits_for_the_calls_under_way_and_records_them() -> None:
    log = Log()

    async def answer(request: Request) -> Reply:
        if request.unit_id == "s3":
            driver.stop("interrupted")
            stopped.set()
        await stopped.wait()
        return echo(request)

    stopped = asyncio.Event()
    model = Model(answer)
    driver = engine(model, log)
    outcomes: list[object] = []
    with pytest.raises(Stopped, match="interrupted"):
        asyncio.run(driver.run([two_rounds(f"s{n}") for n in range(99)], outcomes.append))
    assert len(log.records) == len(model.asked) == 4
    assert outcomes == []


def test_stopping_cuts_waits_short() -> None:
    def answer(request: Request) -> Reply:
        asyncio.get_running_loop().call_later(0.01, driver.stop)
        raise Fault("rate_limit", "later", retry_after_s=120)

    driver = engine(Model(answer), policy=EnginePolicy())
    with pytest.raises(Stopped):
        run(driver, [two_rounds("a")])


@pytest.mark.parametrize("wait_s", [3600.0, 1e300, math.inf, math.nan, -1.0])
def test_a_wait_without_end_holds_the_others_up_for_the_patience_at_most(wait_s: float) -> None:
    late = {"s3"}

    def answer(request: Request) -> Reply:
        if request.unit_id in late:
            late.clear()
            raise Fault("rate_limit", "later", retry_after_s=wait_s, status=429)
        return echo(request)

    policy = EnginePolicy(retry=RetryPolicy(patience_s=0.05, first_wait_s=0.001))
    outcomes = run(
        engine(Model(answer), policy=policy),
        [two_rounds(f"s{n}") for n in range(9)],
    )
    settled = [outcome.unit_id for outcome in outcomes if outcome.settled]
    assert len(settled) == (8 if math.isfinite(wait_s) and wait_s > 0 else 9)


@pytest.mark.parametrize("attempts", [2, 8])
def test_a_reply_that_can_never_be_read_is_bought_three_times_at_most(attempts: int) -> None:
    def answer(request: Request) -> Reply:
        raise Fault("malformed", "not JSON")

    model = Model(answer)
    retry = RetryPolicy(attempts=attempts, first_wait_s=0.0001, longest_wait_s=0.0002)
    (outcome,) = run(engine(model, policy=EnginePolicy(retry=retry)), [two_rounds("a")])
    tries = min(attempts, 3)
    assert len(model.asked) == tries
    assert outcome.error == f"malformed after {tries} tries: not JSON"


def test_dialogues_are_closed_when_the_run_is_cancelled() -> None:
    closed: list[str] = []

    def dialogue() -> Dialogue:
        try:
            yield Ask(say("x"), "only")
        finally:
            closed.append("yes")
        return Prediction.of(Status.ANSWERED)

    async def main() -> None:
        asked = asyncio.Semaphore(0)

        async def answer(request: Request) -> Reply:
            asked.release()
            await asyncio.Event().wait()
            return echo(request)

        jobs = [Job(f"s{n}", dialogue) for n in range(3)]
        running = asyncio.ensure_future(engine(Model(answer)).run(jobs, lambda outcome: None))
        for _ in jobs:
            await asked.acquire()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())
    assert closed == ["yes"] * 3


def recorded(job: Job, model: Model | None = None) -> dict[str, CallRecord]:
    log = Log()
    run(engine(model or Model(), log), [job])
    return log.of(job.unit_id)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.data())
def test_a_dialogue_cut_anywhere_ends_as_if_it_had_not_been(
    widths: list[int], data: st.DataObject
) -> None:
    def dialogue() -> Dialogue:
        said: list[str] = []
        for number, width in enumerate(widths):
            text = "".join(said) + "?"
            asks = tuple(Ask(say(f"{text} {n}"), f"{number}-{n}") for n in range(width))
            said += [reply.text for reply in replies_of((yield asks))]
        return Prediction.of(Status.ANSWERED, value="|".join(said))

    log = Log()
    (whole,) = run(engine(Model(), log), [Job("a", dialogue)])
    last = data.draw(st.integers(0, len(widths) - 1))
    parallel = data.draw(st.sets(st.integers(0, widths[last] - 1)))
    known = {
        place: record
        for place, record in log.of("a").items()
        if int(place[0]) < last or (int(place[0]) == last and int(place[2]) in parallel)
    }
    model, rest = Model(), Log()
    (resumed,) = run(engine(model, rest), [Job("a", dialogue, recorded=known)])
    assert resumed == whole
    assert {place for _, place in model.order} == set(log.of("a")) - set(known)
    assert {**known, **rest.of("a")} == log.of("a")


def test_played_back_replies_are_what_the_dialogue_heard_before() -> None:
    reply = Reply("x", Finish.LENGTH, Usage(1, 2, 3, 4, 5), "m", 0.5, {"k": [1]}, "id", {"p": 1})
    on_record = recorded(Job("a", rounds("only")), Model(lambda request: reply))
    heard = []

    def dialogue() -> Dialogue:
        heard.append((yield Ask(say("Step?"), "only")))
        return Prediction.of(Status.ANSWERED)

    run(engine(Model()), [Job("a", dialogue, recorded=on_record)])
    assert heard == [reply]


def test_a_dialogue_that_asks_something_else_than_on_record_is_an_error_with_its_name() -> None:
    on_record = recorded(two_rounds("a"))
    changed = Job("a", rounds("round-1", "round-2", text="Changed?"), recorded=on_record)
    with pytest.raises(ReplayMismatch, match="unit a: 'round-1' asks something other"):
        run(engine(Model()), [changed])


def raising() -> Dialogue:
    yield Ask(say("x"), "only")
    raise ValueError("bad protocol")


def asking_twice() -> Dialogue:
    yield Ask(say("x"), "same")
    yield Ask(say("y"), "same")
    return Prediction.of(Status.ANSWERED)


def yielding_rubbish() -> Dialogue:
    yield "what?"  # type: ignore[misc]
    return Prediction.of(Status.ANSWERED)


def returning_nothing() -> Dialogue:
    yield Ask(say("x"), "only")
    return None  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("dialogue", "said"),
    [
        (raising, "unit a: the protocol raised ValueError: bad protocol"),
        (asking_twice, "unit a: 'same' was asked twice"),
        (yielding_rubbish, "unit a: the protocol yielded str, not an Ask"),
        (returning_nothing, "unit a: the protocol returned NoneType, not a Prediction"),
    ],
)
def test_a_protocol_that_misbehaves_is_an_error_with_the_step(dialogue: object, said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        run(engine(Model()), [Job("a", dialogue)])  # type: ignore[arg-type]


def test_a_protocol_may_answer_without_asking() -> None:
    def dialogue() -> Dialogue:
        yield ()
        return Prediction.of(Status.NONE)

    (outcome,) = run(engine(Model()), [Job("a", dialogue)])
    assert outcome.prediction == Prediction.of(Status.NONE)
    assert outcome.calls == ()


def test_each_call_is_recorded_with_what_it_added() -> None:
    log = Log()

    def dialogue() -> Dialogue:
        first = Conversation((system("Rules."), user(Picture("d", "r", 8, 9), "Which?")))
        reply = yield Ask(first, "one")
        assert isinstance(reply, Reply)
        yield Ask(first.then(reply, user("And?")), "two")
        return Prediction.of(Status.ANSWERED)

    run(engine(Model(), log), [Job("a", dialogue)])
    one, two = log.records
    assert [message.role for message in one.messages] == ["system", "user"]
    assert [message.role for message in two.messages] == ["assistant", "user"]
    assert (one.earlier, two.earlier) == (None, one.conversation)


def test_half_a_surrogate_pair_in_a_reply_does_not_end_the_run(tmp_path: object) -> None:
    log = Log()
    (outcome,) = run(engine(Model(lambda r: Reply("a\ud83d b")), log), [two_rounds("a")])
    assert outcome.settled
    assert log.records[0].reply.text == "a\ufffd b"


def test_half_a_surrogate_pair_in_an_error_is_replaced_on_record() -> None:
    def fail(request: Request) -> Reply:
        raise Fault("server", "down \ud83d\x1b[2J")

    (outcome,) = run(engine(Model(fail)), [two_rounds("a")])
    assert outcome.error == "server after 3 tries: down \ufffd\ufffd[2J"


NO_REPLIES = [
    None,
    "a text",
    Reply(None),  # type: ignore[arg-type]
    Reply("x", model=7),  # type: ignore[arg-type]
    Reply("x", request_id=7),  # type: ignore[arg-type]
    Reply("x", usage=Usage(-1)),
    Reply("x", usage={"input": "1"}),  # type: ignore[arg-type]
    Reply("x", native=object()),
]


@pytest.mark.parametrize("kind", [Model, BatchModel])
@pytest.mark.parametrize("reply", NO_REPLIES, ids=range(len(NO_REPLIES)))
def test_an_adapter_that_returns_something_else_ends_the_run_in_one_line(
    kind: type[Model], reply: Reply
) -> None:
    log = Log()
    with pytest.raises(Fatal, match=r"the adapter of test returned a reply that a run cannot rec"):
        run(engine(kind(lambda _: reply), log), [two_rounds("a")])
    assert log.records == []


def test_a_batch_with_too_few_replies_ends_the_run_in_one_line() -> None:
    class Few(BatchModel):
        async def answer(self, batch: object) -> list[Reply | Fault]:
            return []

    with pytest.raises(Fatal, match="0 replies came for a batch of 1 requests"):
        run(engine(Few()), [two_rounds("a")])


def test_a_model_on_this_machine_is_asked_as_much_as_it_takes_from_the_start() -> None:
    """Servers are asked little at first; see `RateLimit`."""
    most = []
    for provider in ("local", "test"):
        seen: list[int] = []
        model = Model(provider=provider, concurrency=16)

        async def answer(request: Request, seen: list[int] = seen, model: Model = model) -> Reply:
            await asyncio.sleep(1)
            seen.append(model.most)
            return echo(request)

        model._answer = answer
        hold(engine(model), [two_rounds(f"s{n}") for n in range(30)])
        most.append(seen[0])
    assert most == [16, 4]


def test_pictures_are_asked_for_ahead_only_when_they_will_be_sent() -> None:
    picture = Picture("d", "r", 8, 9)
    job = Job("a", rounds("one", "two", picture=picture))
    log, ahead = Log(), list[Picture]()
    run(engine(Model(), log, prepare_picture=ahead.append), [job])
    assert ahead == [picture, picture]
    again = Job("a", job.dialogue, recorded=log.of("a"))
    run(engine(Model(), prepare_picture=ahead.append), [again])
    assert len(ahead) == 2


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault("server", "http://h answered 500: oops", status=500), "HTTP 500"),
        (Fault("connection", "no connection (refused)"), "no connection (refused)"),
    ],
)
def test_an_observer_hears_what_an_attempt_ran_into(fault: Fault, said: str) -> None:
    class Ears(Observer):
        heard: ClassVar[list[str]] = []

        def retrying(self, *args: Any) -> None:
            self.heard.append(args[-1])

    def fail(request: Request) -> Reply:
        raise fault

    run(engine(Model(fail), observer=Ears()), [two_rounds("a")])
    assert Ears.heard == [said, said]
