"""Prompts that a provider refuses: what settles one unit, and what ends the session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from adapters.contract import Request
from adapters.conversation import Finish, Reply
from harness.engine import Engine, EnginePolicy, Outcome, Stopped
from tests.harness.engine.support import Log, Model, echo, engine, two_rounds

WORDS = "the provider answered 400 (invalid_image): not a picture"


def refusing(is_refused: Callable[[int], bool], log: Log | None = None, **policy: Any) -> Engine:
    """An engine whose provider refuses every prompt of some units (`s0`, `s1`, ...)."""

    def answer(request: Request) -> Reply:
        if is_refused(int(request.unit_id[1:])):
            return Reply("", Finish.PROVIDER_REFUSED, refusal=WORDS)
        return echo(request)

    one_at_a_time = EnginePolicy(open_dialogues=1, **policy)
    return engine(Model(answer), log or Log(), policy=one_at_a_time, concurrency=1)


def ended(driver: Engine, units: int) -> tuple[list[str], str]:
    """The units settled, in order, and why the session stopped ("" if it did not)."""
    outcomes: list[Outcome] = []
    jobs = [two_rounds(f"s{n}") for n in range(units)]
    try:
        asyncio.run(driver.run(jobs, outcomes.append))
    except Stopped as stopped:
        return [outcome.unit_id for outcome in outcomes], str(stopped)
    return [outcome.unit_id for outcome in outcomes], ""


def test_one_refused_prompt_ends_its_own_dialogue_only() -> None:
    log = Log()
    settled, why = ended(refusing(lambda n: n == 3, log), 9)
    assert (settled, why) == ([f"s{n}" for n in range(9)], "")
    assert [record.reply.refusal for record in log.of("s3").values()] == [WORDS, WORDS]


def test_units_refused_before_any_answer_are_settled_once_others_were_answered() -> None:
    settled, why = ended(refusing(lambda n: n < 4), 9)
    assert (settled, why) == ([f"s{n}" for n in (4, 5, 6, 7, 8, 0, 1, 2, 3)], "")


@pytest.mark.parametrize("score_failures", [False, True])
def test_the_first_five_units_refused_alike_stop_the_session(score_failures: bool) -> None:
    log = Log()
    settled, why = ended(refusing(lambda n: True, log, score_failures=score_failures), 50)
    assert why == f"the provider refused the first 5 prompts: {WORDS}"
    assert (settled, log.records) == ([], []), "what may be the run's fault settles no unit"


def test_a_session_without_any_answer_settles_nothing() -> None:
    log = Log()
    settled, why = ended(refusing(lambda n: True, log), 3)
    assert why == f"the provider refused every prompt: {WORDS}"
    assert (settled, log.records) == ([], [])


def test_more_than_five_percent_of_a_hundred_units_stop_the_session() -> None:
    settled, why = ended(refusing(lambda n: n % 16 == 5), 400)
    assert why == f"the provider refused the prompts of 6 out of 100 that were asked: {WORDS}"
    assert len(settled) == 100


def test_five_percent_are_borne() -> None:
    settled, why = ended(refusing(lambda n: n % 20 == 19), 400)
    assert (len(settled), why) == (400, "")
