"""Dialogues that ask several models, embed and act, in one session."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.contract import Fault, Request
from adapters.conversation import Reply
from adapters.embedding import Embedded
from harness.dialogue import Act, Ask, Asks, Call, Dialogue, Embed, Observation
from harness.engine import (
    EnginePolicy,
    Environment,
    Job,
    Lane,
    Pricing,
    ProtocolError,
    TooManyFailures,
)
from harness.runs import CallRecord
from parsers.records import Prediction, Status
from tests.harness.engine.roles import (
    PLACES,
    Room,
    Texts,
    every_kind,
    lanes,
    opens,
    priced,
    vector_of,
)
from tests.harness.engine.support import BatchModel, Log, Model, echo, engine, run, say
from tests.harness.engine.virtual import hold, virtually

DONE = Prediction.of(Status.ANSWERED)


def job(step_id: str, dialogue: Callable[[], Dialogue] | None = None, **more: Any) -> Job:
    return Job(step_id, dialogue or every_kind(step_id), environment=opens(Room([])), **more)


def yielding(*turns: Asks) -> Callable[[], Dialogue]:
    def dialogue() -> Dialogue:
        for turn in turns:
            _ = yield turn
        return DONE

    return dialogue


def test_every_role_is_answered_by_its_own_model_and_costs_are_told_apart() -> None:
    main, planner, texts, log = Model(), Model(), Texts(), Log()
    roles = lanes(planner, texts)
    (outcome,) = run(engine(main, log, pricing=priced(0.5), roles=roles), [job("a")])
    assert [place for _, place in planner.order] == ["plan"]
    assert [place for _, place in main.order] == ["round-1", "round-2"]
    assert texts.asked == [("a round-1", "another")]
    assert [record.place for record in log.records] == list(PLACES)
    # Two rounds of $0.50, a plan of $0.25, two texts of $0.001, and an action, which is free.
    assert outcome.cost == pytest.approx(1.252)
    assert {role: spent.calls for role, spent in outcome.roles.items()} == {
        "": 2,
        "planner": 1,
        "embedding": 1,
    }
    costs = {role: spent.cost for role, spent in outcome.roles.items()}
    assert costs == pytest.approx({"": 1.0, "planner": 0.25, "embedding": 0.002})
    assert outcome.calls == tuple(f"a/0/{place}" for place in PLACES)


def test_calls_of_all_kinds_may_be_made_at_the_same_time() -> None:
    received: list[object] = []

    def dialogue() -> Dialogue:
        asks = Ask(say("?"), "ask"), Embed(("one", "three"), "texts"), Act({"name": "x"}, "act")
        received.extend((yield asks))  # type: ignore[arg-type]
        return DONE

    run(engine(Model(), roles=lanes(Model(), Texts())), [job("a", dialogue)])
    reply, embedded, seen = received
    assert isinstance(reply, Reply) and reply.text == "a ask"
    assert isinstance(embedded, Embedded)
    assert embedded.vectors == (vector_of("one"), vector_of("three"))
    # As it is read from the record: JSON has no tuples.
    assert isinstance(seen, Observation) and seen.content == {"seen": ["x", 1]}
    assert dict(seen.blobs) == {"shot": b"\x89PNG"}


@pytest.mark.parametrize(
    ("turn", "message"),
    [
        (Ask(say("?"), "x", role="judge"), "asks the role 'judge', and there are '', 'planner'"),
        (Ask(say("?"), "x", role="embedding"), "asks 'embedding', which only embeds"),
        (Embed(("a",), "x", role="planner"), "embeds by 'planner', which does not embed"),
        (Act({"name": float("nan")}, "x"), "'x' has no form in JSON"),
        ((Act({"name": "a"}, "x"), Act({"name": "b"}, "y")), "two actions at the same time"),
    ],
)
def test_a_call_that_nothing_can_answer_names_the_step(turn: Asks, message: str) -> None:
    driver = engine(Model(), roles=lanes(Model(), Texts()))
    with pytest.raises(ProtocolError, match=f"unit a: .*{message}"):
        run(driver, [job("a", yielding(turn))])


def test_acting_without_an_environment_names_the_step() -> None:
    with pytest.raises(ProtocolError, match=r"unit a: .*nothing to act in"):
        run(engine(Model()), [Job("a", yielding(Act({}, "x")))])


def test_half_a_character_in_an_observation_is_replaced() -> None:
    class Half(Room):
        async def act(self, action: Any) -> Observation:
            return Observation({"title": ["a\ud83d", 1]})

    received: list[Any] = []

    def dialogue() -> Dialogue:
        received.append((yield Act({}, "x")))
        return DONE

    run(engine(Model()), [Job("a", dialogue, environment=opens(Half([])))])
    assert received[0].content == {"title": ["a\N{REPLACEMENT CHARACTER}", 1]}


@pytest.mark.parametrize(
    "seen",
    ["text", Observation(object()), Observation({}, {"shot": "text"})],  # type: ignore[dict-item]
)
def test_an_observation_that_cannot_be_recorded_ends_the_run(seen: Any) -> None:
    class Odd(Room):
        async def act(self, action: Any) -> Observation:
            return seen  # type: ignore[no-any-return]

    odd = Odd([])
    with pytest.raises(ProtocolError, match="unit a: what was observed at 'x'"):
        run(engine(Model()), [Job("a", yielding(Act({}, "x")), environment=opens(odd))])
    assert odd.closed


@pytest.mark.parametrize("failures", [1, 2])
def test_a_dialogue_whose_environment_fails_begins_anew_once_and_then_does_not_count(
    failures: int,
) -> None:
    class Gone(Room):
        async def act(self, action: Any) -> Observation:
            if len(rooms) <= failures and action["name"] == "y":
                raise Fault("connection", "the browser is gone")
            return await super().act(action)

    rooms: list[Room] = []

    def environment() -> Environment:
        rooms.append(Gone([]))
        return rooms[-1]

    turns = Act({"name": "x"}, "x"), Act({"name": "y"}, "y")
    model, log = Model(), Log()
    driver = engine(model, log, policy=EnginePolicy(score_failures=True))
    asking = yielding(turns[0], Ask(say("a"), "ask"), turns[1])
    (outcome,) = run(driver, [Job("a", asking, environment=opens(environment))])
    assert outcome.settled and outcome.trial == 1 and len(model.asked) == 2
    assert [room.closed for room in rooms] == [True, True]
    if failures == 2:
        assert (outcome.prediction, outcome.invalid) == (None, "environment_error")
        assert outcome.error == "connection after 1 try: the browser is gone"
    else:
        assert outcome.prediction is not None and outcome.invalid is outcome.error is None
        assert [call.place for call in log.records if call.trial == 1] == ["x", "ask", "y"]


def test_environments_that_all_fail_end_the_session() -> None:
    class Gone(Room):
        async def act(self, action: Any) -> Observation:
            raise Fault("connection", "no browser starts")

    jobs = [
        Job(str(number), yielding(Act({"name": "x"}, "x")), environment=opens(Gone([])))
        for number in range(20)
    ]
    driver = engine(Model(), policy=EnginePolicy(failures_in_a_row=6, open_dialogues=1))
    with pytest.raises(TooManyFailures, match=r"6 environments in a row failed: .*no browser"):
        run(driver, jobs)


def test_texts_are_sent_as_the_embedder_takes_them_and_each_once() -> None:
    texts, log = Texts(texts_per_call=2), Log()
    turn = Embed(("a", "bb", "a", "ccc"), "texts")
    run(engine(Model(), log, roles=lanes(Model(), texts)), [Job("a", yielding(turn))])
    assert sorted(texts.asked) == [("a", "bb"), ("ccc",)]
    (record,) = log.records
    assert record.embed is not None
    assert (record.embed.count, record.embed.dimensions) == (4, 2)
    assert record.attempts == 2
    assert record.reply.usage is not None and record.reply.usage.input == 3


def test_no_slot_is_held_during_an_act() -> None:
    # Each of two dialogues asks, acts for ten seconds, and asks again, with one slot for both.
    def asking_and_acting(name: str) -> Job:
        turns = Ask(say(name), "one"), Act({"name": "x"}, "act"), Ask(say(name, name), "two")
        return Job(name, yielding(*turns), environment=opens(Room([], seconds=10.0)))

    model = Model(concurrency=1)
    loop_times: list[float] = []
    driver = engine(model)

    async def timed() -> None:
        await driver.run([asking_and_acting("a"), asking_and_acting("b")], lambda outcome: None)
        loop_times.append(asyncio.get_running_loop().time())

    virtually(timed())
    assert loop_times[0] < 11
    assert [place for _, place in model.order] == ["one", "one", "two", "two"]


def test_the_cost_limit_holds_over_all_roles() -> None:
    # $0.30 for the plan, $0.30 for the first round; the second might cost as much again.
    price = Pricing(lambda usage: 0.3, lambda request: 0.3)
    planner = Model()
    turns = [Ask(say(str(n)), str(n), role="planner" if n % 2 else "") for n in range(4)]
    driver = engine(
        Model(),
        pricing=price,
        roles={"planner": Lane(planner, pricing=price)},
        policy=EnginePolicy(max_cost=0.8),
    )
    with pytest.raises(Exception, match=r"cost limit reached: \$0.6000 of \$0.8000"):
        run(driver, [Job("a", yielding(*turns))])
    assert len(planner.asked) == 1


def test_money_that_another_role_frees_is_used() -> None:
    # While the planner's call is in flight, its upper bound leaves nothing for the other model.
    slow = asyncio.Event()

    async def plan(request: Request) -> Reply:
        await slow.wait()
        return echo(request)

    cheap = Pricing(lambda usage: 0.1, lambda request: 0.9)
    driver = engine(
        Model(),
        pricing=cheap,
        roles={"planner": Lane(Model(plan), pricing=cheap)},
        policy=EnginePolicy(max_cost=1.2),
    )

    async def go() -> list[object]:
        outcomes: list[object] = []
        both = Ask(say("p"), "p", role="planner"), Ask(say("m"), "m")
        asyncio.get_running_loop().call_later(1.0, slow.set)
        await driver.run([Job("a", yielding(both))], outcomes.append)
        return outcomes

    assert len(virtually(go())) == 1
    assert driver.spent == pytest.approx(0.2)


def any_turn(chance: random.Random, number: int) -> Asks:
    """A call, or several at a time, of any kind; some are shared by all dialogues."""

    def call(place: str) -> Call:
        shared = "parent" if chance.random() < 0.3 else ""
        place = f"{place}-{chance.randint(0, 2)}" if shared else place
        kind = chance.choice(["main", "planner", "embed"])
        if kind == "embed":
            return Embed((f"text {place}",), f"{kind}-{place}", shared=shared)
        role = "" if kind == "main" else kind
        return Ask(say(f"{kind} {place}"), f"{kind}-{place}", role=role, shared=shared)

    calls = {
        made.place: made for made in (call(f"{number}-{n}") for n in range(chance.randint(1, 4)))
    }
    turn = list(calls.values())
    if chance.random() < 0.3:
        turn.append(Act({"name": "x"}, f"act-{number}"))
    return turn[0] if len(turn) == 1 else tuple(turn)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.booleans())
def test_whatever_dialogues_wait_for_none_waits_for_ever(seed: int, batches: bool) -> None:
    # The loop of these tests fails as soon as nothing is going to happen any more.
    chance = random.Random(seed)

    async def slowly(request: Request) -> Reply:
        await asyncio.sleep(chance.random())
        if chance.random() < 0.1:
            raise Fault("server", "again")
        return echo(request)

    main = BatchModel(echo, batch_size=2) if batches else Model(slowly, concurrency=1)
    texts = Texts(concurrency=1)
    texts.wait = lambda: asyncio.sleep(chance.random())
    roles = lanes(Model(slowly, concurrency=1), texts)
    jobs = []
    for number in range(8):
        turns = [any_turn(chance, turn) for turn in range(4)]
        room = Room([], seconds=chance.random())
        jobs.append(Job(f"s{number}", yielding(*turns), environment=opens(room)))
    driver = engine(main, roles=roles, policy=EnginePolicy(open_dialogues=4))
    assert len(hold(driver, jobs)) == 8


def test_a_hundred_dialogues_at_concurrency_two_end() -> None:
    main, planner, texts = Model(concurrency=2), Model(concurrency=2), Texts(concurrency=2)
    driver = engine(main, pricing=priced(0.5), roles=lanes(planner, texts))

    async def all_of_them() -> list[Any]:
        outcomes: list[Any] = []
        async with asyncio.timeout(120):
            await driver.run([job(f"s{n:02}") for n in range(100)], outcomes.append)
        return outcomes

    outcomes = asyncio.run(all_of_them())
    assert len(outcomes) == 100 and all(outcome.settled for outcome in outcomes)
    assert (main.most, planner.most) == (2, 2)
    assert (len(main.asked), len(planner.asked), len(texts.asked)) == (200, 100, 100)
    # Texts that dialogues have in common are embedded once.
    embedded = 0.001 * sum(map(len, texts.asked))
    assert sum(outcome.cost for outcome in outcomes) == pytest.approx(100 * 1.25 + embedded)


def recorded(log: Log, unit_id: str = "a") -> dict[str, CallRecord]:
    return {record.id: record for record in log.records if record.unit_id == unit_id}


def test_a_dialogue_that_has_not_acted_goes_on_where_it_was() -> None:
    main, texts, log = Model(), Texts(), Log()
    roles = lanes(Model(), texts)
    run(engine(main, log, pricing=priced(0.5), roles=roles), [job("a")])
    before = {id: call for id, call in recorded(log).items() if call.place in PLACES[:3]}
    again, planner, more = Model(), Model(), Texts()
    resumed = Log(blobs=log.blobs)
    (outcome,) = run(
        engine(again, resumed, pricing=priced(0.5), roles=lanes(planner, more)),
        [job("a", recorded=before)],
    )
    assert [record.id for record in resumed.records] == ["a/0/act-1", "a/0/round-2"]
    assert (planner.asked, more.asked) == ([], [])
    assert outcome.trial == 0
    assert outcome.cost == pytest.approx(1.252)


def test_a_dialogue_that_has_acted_begins_a_new_trial_and_its_cost_counts() -> None:
    log = Log()
    run(engine(Model(), log, pricing=priced(0.5), roles=lanes(Model(), Texts())), [job("a")])
    before = {id: call for id, call in recorded(log).items() if call.place in PLACES[:4]}
    main, log_2 = Model(), Log()
    (outcome,) = run(
        engine(main, log_2, pricing=priced(0.5), roles=lanes(Model(), Texts())),
        [job("a", recorded=before)],
    )
    assert outcome.trial == 1
    assert [record.id for record in log_2.records] == [f"a/0/trial-1/{p}" for p in PLACES]
    assert outcome.calls == tuple(f"a/0/trial-1/{place}" for place in PLACES)
    # The first trial was a plan, a round and two texts.
    assert outcome.cost == pytest.approx(1.252 + 0.5 + 0.25 + 0.002)
    assert outcome.roles["planner"].calls == 2
    requests = {record.place: record.request for record in log.records}
    asks = [record for record in log_2.records if record.is_ask]
    assert all(record.request != requests[record.place] for record in asks)


def test_a_failed_call_among_others_leaves_nothing_held() -> None:
    def answer(request: Request) -> Reply:
        if request.place == "bad":
            raise Fault("connection", "refused")
        return echo(request)

    bad = Ask(say("b"), "bad", role="planner"), Ask(say("m"), "m"), Act({"name": "x"}, "act")
    roles = lanes(Model(answer, concurrency=1), Texts())
    jobs = [job("a", yielding(bad)), *(job(f"b{n}") for n in range(5))]
    outcomes = run(engine(Model(concurrency=1), roles=roles), jobs)
    assert [outcome.settled for outcome in outcomes] == [False, True, True, True, True, True]
