"""Several replies to one conversation: each is its own call, whatever else is equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from adapters.contract import Generation, Request
from adapters.conversation import Reply
from harness.dialogue import Ask
from harness.engine import Engine, ProtocolError
from harness.engine.cache import ReplyCache
from tests.harness.engine.support import Log, engine, run, say
from tests.harness.engine.test_equal_calls import Model, asking, with_caches

JUDGE = Ask(say("Is it right?"), "judge", temperature=0.9)
FIVE = tuple(replace(JUDGE, sample=number) for number in range(5))


def numbered() -> Callable[[Request], Reply]:
    numbers = count()
    return lambda request: Reply(f"reply {next(numbers)}", model="m")


def asked(model: Model, replies: ReplyCache, log: Log | None = None) -> Engine:
    return engine(model, log, cache=replies)


def texts(log: Log) -> list[str]:
    return [record.reply.text for record in log.records]


@pytest.mark.parametrize("temperature", [0.9, 0.0])
def test_five_samples_are_five_calls(tmp_path: Path, temperature: float) -> None:
    model, log = Model(numbered()), Log()
    asks = tuple(replace(ask, temperature=temperature) for ask in FIVE)
    jobs = [asking("a", asks)]
    (outcome,) = with_caches(tmp_path, partial(asked, model, log=log), jobs)
    assert sorted(texts(log)) == [f"reply {number}" for number in range(5)]
    assert outcome.calls[1] == f"a/0/judge#1,temperature={temperature:g}"
    assert len({record.request for record in log.records}) == 5
    assert [request.sample for request in model.asked] == [0, 1, 2, 3, 4]
    assert {record.temperature for record in log.records} == {temperature}


def test_equal_asks_of_two_units_are_merged_only_where_decoding_is_greedy(tmp_path: Path) -> None:
    for temperature, made in ((0.9, 2), (None, 1)):
        model = Model(numbered())
        jobs = [asking(unit, replace(JUDGE, temperature=temperature)) for unit in "ab"]
        folder = tmp_path / str(temperature)
        folder.mkdir()
        with_caches(folder, partial(asked, model), jobs)
        assert len(model.asked) == made


def test_asks_of_a_model_that_may_sample_by_itself_are_not_merged(tmp_path: Path) -> None:
    model = Model(numbered(), greedy=lambda generation: generation.temperature == 0)
    jobs = [asking(unit, replace(JUDGE, temperature=None)) for unit in "ab"]
    with_caches(tmp_path, partial(asked, model), jobs)
    assert len(model.asked) == 2


def test_an_equal_later_run_reuses_each_sample_and_says_so(tmp_path: Path) -> None:
    answer, logs = numbered(), (Log(), Log())
    for log in logs:
        jobs = [asking(unit, FIVE) for unit in "ab"]
        with_caches(tmp_path, partial(asked, Model(answer), log=log), jobs)
    first, second = ({r.id: r.reply.text for r in log.records} for log in logs)
    assert first == second
    assert len(set(first.values())) == 10
    assert all(record.from_cache for record in logs[1].records)


def test_a_resumed_dialogue_asks_only_for_the_samples_that_it_lacks() -> None:
    log = Log()
    run(engine(Model(numbered()), log), [asking("a", FIVE)])
    kept = {record.id: record for record in log.records[:3]}
    model, again = Model(numbered()), Log()
    (outcome,) = run(engine(model, again), [asking("a", FIVE, recorded=kept)])
    assert [request.sample for request in model.asked] == [3, 4]
    assert len(outcome.calls) == 5


def test_samples_of_a_shared_call_belong_to_the_parent(tmp_path: Path) -> None:
    asks = tuple(replace(ask, shared="conversation-1") for ask in FIVE)
    model, log = Model(numbered()), Log()
    jobs = [asking(unit, asks) for unit in "abc"]
    with_caches(tmp_path, partial(asked, model, log=log), jobs)
    assert len(model.asked) == len(log.records) == 5
    assert {record.unit_id for record in log.records} == {"shared/conversation-1"}


def test_a_place_is_asked_twice_only_with_another_sample_temperature_or_seed() -> None:
    others = replace(JUDGE, seed=3), replace(JUDGE, temperature=None), JUDGE
    model = Model(numbered())
    run(engine(model), [asking("a", *others)])
    assert len(model.asked) == 3
    with pytest.raises(ProtocolError, match=r"'judge,temperature=0\.9' was asked twice"):
        run(engine(Model()), [asking("a", JUDGE, JUDGE)])


def test_the_seed_that_is_sent_differs_by_sample_and_repeat() -> None:
    model = Model(concurrency=1)
    plain = Ask(say("?"), "one")
    jobs = [
        asking("a", plain, replace(plain, sample=2), replace(plain, seed=1, temperature=1.5)),
        asking("a", plain, repeat=1),
    ]
    run(engine(model, generation=Generation(temperature=0.5, seed=7)), jobs)
    sent = [(r.generation.seed, r.generation.temperature) for r in model.asked]
    assert sorted(sent, key=str) == [(1, 1.5), (1007, 0.5), (7, 0.5), (9, 0.5)]
    # The user's are sent or the run ends; what a protocol asks for by itself may be left out.
    own = {r.generation.seed: sorted(r.by_protocol) for r in model.asked}
    assert own == {1: ["seed", "temperature"], 7: [], 9: [], 1007: []}
