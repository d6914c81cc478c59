"""Calls that are made once: shared by the units of a parent, or equal and with a cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from adapters.contract import Fault, Request, unless_sampled
from adapters.conversation import Finish, Reply
from harness.dialogue import Act, Ask, Asks, Dialogue, Embed
from harness.engine import Engine, Job, Outcome, ReplayMismatch
from harness.engine.cache import ReplyCache
from parsers.records import Prediction, Status
from tests.harness.engine.roles import Room, Texts, lanes, opens, priced
from tests.harness.engine.support import Answer, Log, echo, engine, run, say
from tests.harness.engine.support import Model as AnyModel

DONE = Prediction.of(Status.ANSWERED)
WHY = Ask(say("Why?"), "why", shared="conversation-1")


class Model(AnyModel):
    """One that decodes greedily, and whose weights are known."""

    def __init__(self, answer: Answer = echo, **info: Any) -> None:
        super().__init__(answer, **{"greedy": unless_sampled, "weights_known": True, **info})


def asking(step_id: str, *turns: Asks, **more: Any) -> Job:
    def dialogue() -> Dialogue:
        for turn in turns:
            _ = yield turn
        return DONE

    return Job(step_id, dialogue, **more)


def own(step_id: str) -> Ask:
    return Ask(say(step_id), "own")


def test_a_shared_call_is_made_once_and_paid_by_whoever_asked_first() -> None:
    model, log = Model(concurrency=2), Log()
    jobs = [asking(f"s{n}", WHY, own(f"s{n}")) for n in range(6)]
    outcomes = run(engine(model, log, pricing=priced(0.5)), jobs)
    (line,) = [record for record in log.records if record.asked_by]
    assert [place for _, place in model.order].count("why") == 1
    assert (line.unit_id, line.asked_by, line.cost) == ("shared/conversation-1", "s0", 0.5)
    assert all(outcome.calls == (line.id, f"{outcome.unit_id}/0/own") for outcome in outcomes)
    assert [outcome.cost for outcome in outcomes] == [1.0, 0.5, 0.5, 0.5, 0.5, 0.5]
    assert sum(record.cost or 0.0 for record in log.records) == 3.5


def test_parents_and_repeats_share_nothing() -> None:
    model = Model()
    other = Ask(say("Why?"), "why", shared="conversation-2")
    log = Log()
    run(engine(model, log), [asking("a", WHY), asking("a", WHY, repeat=1), asking("b", other)])
    assert (len(log.records), len(model.asked)) == (3, 2)  # Equal calls of a repeat are one.


def test_a_unit_named_as_its_parent_is_not_taken_for_it() -> None:
    log = Log()
    turns = Ask(say("?"), "why"), Ask(say("Why?"), "reason", shared="a")
    run(engine(Model(), log), [asking("a", *turns)])
    assert [record.id for record in log.records] == ["a/0/why", "shared/a/0/reason"]


def test_a_shared_call_on_record_is_not_repeated_and_its_cost_stays_with_who_caused_it() -> None:
    log = Log()
    run(engine(Model(), log, pricing=priced(0.5)), [asking("a", WHY)])
    model = Model()
    driver = engine(
        model, pricing=priced(0.5), shared={record.id: record for record in log.records}
    )
    first, second = run(driver, [asking("a", WHY, own("a")), asking("b", WHY, own("b"))])
    assert [place for _, place in model.order] == ["own", "own"]
    assert (first.cost, second.cost) == (1.0, 0.5)


def test_when_a_shared_call_fails_the_next_who_needs_it_asks() -> None:
    failures = iter([True] * 3)

    def answer(request: Request) -> Reply:
        if request.unit_id == "a" and next(failures, False):
            raise Fault("connection", "refused")
        return echo(request)

    log = Log()
    first, second = run(engine(Model(answer), log), [asking("a", WHY), asking("b", WHY)])
    assert (first.settled, second.settled) == (False, True)
    assert [record.asked_by for record in log.records] == ["b"]


def test_units_that_mean_different_things_by_one_shared_call_end_the_run() -> None:
    other = Ask(say("Why not?"), "why", shared="conversation-1")
    with pytest.raises(ReplayMismatch, match="unit b: 'why' asks something other"):
        run(engine(Model()), [asking("a", WHY), asking("b", other)])


def test_shared_vectors_are_computed_once() -> None:
    texts, log = Texts(), Log()
    turn = Embed(("x", "yy"), "texts", shared="conversation-1")
    run(engine(Model(), log, roles=lanes(Model(), texts)), [asking("a", turn), asking("b", turn)])
    assert (len(texts.asked), len(log.records)) == (1, 1)


def with_caches(
    folder: Path, drive: Callable[[ReplyCache], Engine], jobs: Iterable[Job]
) -> list[Outcome]:
    async def main() -> list[Outcome]:
        outcomes: list[Outcome] = []
        replies = ReplyCache(folder / "r.sqlite", pytest.fail)
        await drive(replies).run(jobs, outcomes.append)
        await replies.close()
        return sorted(outcomes, key=lambda outcome: outcome.unit_id)

    return asyncio.run(main())


SAME = Ask(say("?"), "same")


def test_two_equal_calls_at_the_same_time_are_one_with_the_cache(tmp_path: Path) -> None:
    model, log = Model(), Log()
    jobs = [asking(f"s{n}", SAME) for n in range(5)]
    outcomes = with_caches(
        tmp_path, lambda r: engine(model, log, pricing=priced(0.5), cache=r), jobs
    )
    assert len(model.asked) == 1
    asked, *cached = log.records
    assert (asked.from_cache, asked.cost, asked.work) == (False, 0.5, 0.5)
    assert [(c.from_cache, c.attempts, c.cost, c.work) for c in cached] == [(True, 0, 0.0, 0.5)] * 4
    assert sum(outcome.cost or 0.0 for outcome in outcomes) == 0.5


def test_when_the_first_of_two_equal_calls_fails_the_second_asks_itself(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        if request.unit_id == "a":
            raise Fault("connection", "refused")
        return echo(request)

    model = Model(answer)
    jobs = [asking("a", SAME), asking("b", SAME)]
    first, second = with_caches(tmp_path, lambda r: engine(model, cache=r), jobs)
    assert (first.settled, second.settled) == (False, True)


def test_a_reply_that_is_not_kept_is_asked_for_by_each(tmp_path: Path) -> None:
    model = Model(lambda request: Reply("cut o", Finish.LENGTH))
    jobs = [asking(f"s{n}", SAME) for n in range(3)]
    assert len(with_caches(tmp_path, lambda r: engine(model, cache=r), jobs)) == 3
    assert len(model.asked) == 3


def test_with_one_slot_equal_calls_wait_for_nobody_who_waits_for_them(tmp_path: Path) -> None:
    # `b` holds the only slot when it comes to wait for the call of `a`, which needs one.
    model = Model(concurrency=1)
    first = [asking(f"s{n}", Ask(say(f"{n}"), "one"), SAME) for n in range(8)]
    assert len(with_caches(tmp_path, lambda r: engine(model, cache=r), first)) == 8
    assert [place for _, place in model.order].count("same") == 1


def test_vectors_are_found_by_text_whatever_they_were_sent_with(tmp_path: Path) -> None:
    texts, log = Texts(), Log()
    jobs = [
        asking("a", Embed(("x", "yy"), "one"), Embed(("yy", "zzz"), "two")),
        asking("b", Embed(("x", "yy"), "one")),
    ]

    def drive(replies: ReplyCache) -> Engine:
        return engine(Model(), log, roles=lanes(Model(), texts))

    first, second = with_caches(tmp_path, drive, jobs)
    assert texts.asked == [("x", "yy"), ("zzz",)]
    assert [first.cost, second.cost] == pytest.approx([0.003, 0.0])
    by_id = {record.id: record for record in log.records}
    assert by_id["b/0/one"].from_cache
    assert by_id["a/0/one"].embed == by_id["b/0/one"].embed


def test_a_new_trial_is_not_served_what_an_earlier_one_was_told(tmp_path: Path) -> None:
    turns = SAME, Act({"name": "x"}, "act")
    log, model = Log(), Model()

    def drive(replies: ReplyCache) -> Engine:
        return engine(model, log, cache=replies)

    def job(**more: Any) -> Job:
        return asking("a", *turns, environment=opens(Room([])), **more)

    with_caches(tmp_path, drive, [job()])
    with_caches(tmp_path, drive, [job(recorded={record.id: record for record in log.records})])
    assert len(model.asked) == 2
    assert [record.trial for record in log.records] == [0, 0, 1, 1]
    # But a run that begins anew has the first trial from the cache.
    with_caches(tmp_path, drive, [job()])
    assert len(model.asked) == 2
