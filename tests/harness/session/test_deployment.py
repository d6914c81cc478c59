"""Runs whose deployment gives no answers: they stop before anything is settled, and go on later."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import harness
from adapters.contract import AdapterInfo, PictureSource, Request, StandIn
from adapters.conversation import Finish, Reply, Usage
from adapters.digests import cache_folder
from harness.engine import NoAnswers, Outcome
from harness.engine.cache import FILE
from harness.session.deployment import Deployment
from harness.settings import Settings
from parsers.records import Prediction, Status
from tests.harness.commands.tool import (
    ONE_TASK,
    TEXT_ONLY,
    at,
    call,
    calls,
    replying,
    steps,
    summary,
)
from tests.numbers import counts
from tests.servers import Answer, Ask, Reaction, WireServer, error

VLLM = (
    "'max_tokens' or 'max_completion_tokens' is too large: 1024. This model's maximum context "
    "length is 4096 tokens and your request has 3500 input tokens (1024 > 4096 - 3500)."
)
WITHOUT: dict[str, tuple[Answer, tuple[str, ...]]] = {
    "reply too long": (error(400, VLLM), ("--max-tokens 596", "4,096", "3,500", "1024 >")),
    "tgi": (
        error(422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3500 and 1024"),
        ("--max-tokens", "4,096"),
    ),
    "prompt too long": (
        error(400, "This model's maximum context length is 2048 tokens", "context_length_exceeded"),
        ("--max-model-len", "--history", "2,048"),
    ),
    "refused": (error(400, "At most 0 image(s) may be provided"), ("At most 0 image(s)",)),
    "filter": (Answer(text="", finish="content_filter"), ("filter",)),
    "empty": (Answer(text=""), ("no text",)),
    "blank": (Answer(text=" \n"), ("no text",)),
    "cut in a thought": (Answer(text="<think>Let me", finish="length"), ("--max-tokens 8192",)),
    "cut before the text": (
        Answer(text="", finish="length", thinking="Let me"),
        ("--max-tokens 8192",),
    ),
}


def constant(answer: Answer) -> Reaction:
    return lambda ask: answer


def settled(run: str) -> list[dict[str, Any]]:
    return [step for step in steps(run) if step["settled"] and step["asked"]]


@pytest.mark.parametrize("concurrency", ["1", "4"])
@pytest.mark.parametrize("kind", WITHOUT)
def test_first_units_without_an_answer_stop_the_run_unsettled(kind: str, concurrency: str) -> None:
    answer, words = WITHOUT[kind]
    with WireServer(constant(answer)) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a")
        called = call(*line, "--concurrency", concurrency)
        asked = server.count
        assert called.code == 2
        assert "none of the first 5 steps got an answer" in called.err
        for word in (*words, "--max-tokens", "score_failures=yes"):
            assert word in called.err.splitlines()[-1]
        assert not settled("a")
        assert not Path("a/summary.json").exists()
        assert server.count == asked
        # The remedy is the server's: nothing that failed is played back.
        server.react = replying()
        assert call(*line).code == 0
    assert counts(summary("a"))["statuses"] == {"answered": 7}
    paid = sum(record["cost"] or 0 for record in calls("a"))
    assert sum(step["cost"] or 0 for step in steps("a")) == pytest.approx(paid)


@pytest.mark.parametrize("kind", WITHOUT)
def test_score_failures_settles_them_and_is_recorded(kind: str) -> None:
    with WireServer(constant(WITHOUT[kind][0])) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a")
        assert call(*line).code == 2
        called = call(*line, "--benchmark-option=score_failures=yes")
        assert called.code == 0, called.err
    assert len(settled("a")) == 7
    ids = [record["id"] for record in calls("a")]
    assert len(ids) == len(set(ids)), "what is on record is not asked again"
    manifest = json.loads(Path("a/manifest.json").read_text())
    assert manifest["sessions"][-1]["settings"]["score_failures"] is True


def test_other_settings_are_refused_once_a_unit_was_answered() -> None:
    good, bad = replying(), error(400, "At most 1 image(s) may be provided")
    with WireServer(lambda ask: good(ask) if server.count < 8 else bad) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a", "--repeats", "4")
        assert call(*line, "--concurrency", "1").code == 2
        refused = call(*line, "--max-tokens", "500")
    assert (refused.code, "other settings" in refused.err) == (2, True)
    assert settled("a")


def test_a_first_call_that_is_too_long_ends_the_run_with_the_remedy() -> None:
    with WireServer(error(400, VLLM)) as server:
        line = at(server, *ONE_TASK, "--out", "a", preflight=True)
        called = call(*line)
        assert (called.code, server.count) == (2, 1)
        assert "--max-tokens 596" in called.err.splitlines()[-1]
        assert call(*line, "--benchmark-option=score_failures=yes").code == 0


@pytest.mark.parametrize("kind", ["refused", "filter", "empty", "cut in a thought"])
def test_a_batch_that_comes_back_without_an_answer_stops_the_run(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.batches.remote.FIRST_WAIT_S", 0.0)
    monkeypatch.setenv("OPENAI_API_KEY", "no-real-key-0123456789")
    answer = WITHOUT[kind][0]

    def react(ask: Ask) -> Answer:
        return Answer(text="ready") if "the word: ready" in str(ask.body) else answer

    def until_it_ends() -> int:
        for _ in range(8):
            called = call(*line)
            if called.code != 3:
                break
        return called.code

    with WireServer(react) as server:
        where = ("--model", "openai:m", "--base-url", server.base_url("openai"), "--out", "a")
        more = ("--progress", "off", "--tier", "batch", "--yes")
        line = (*where, *ONE_TASK, *TEXT_ONLY, *more)
        assert until_it_ends() == 2
        assert not settled("a")
        server.react = replying()
        assert until_it_ends() == 0
    assert counts(summary("a"))["statuses"] == {"answered": 7}


def test_units_held_back_are_settled_after_the_first_answer() -> None:
    """Four units end without a text, the fifth is answered: none is asked again."""
    good, empty = replying(), Answer(text="")
    with WireServer(lambda ask: empty if server.count <= 8 else good(ask)) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a")
        assert call(*line, "--concurrency", "1").code == 0
        assert server.count == 14
    statuses = counts(summary("a"))["statuses"]
    assert statuses == {"answered": 3, "empty": 4}


def test_refusals_in_the_same_words_stop_a_run_that_had_answers_and_are_asked_again() -> None:
    good, bad = replying(), error(400, "At most 1 image(s) may be provided in one prompt.")
    with WireServer(lambda ask: good(ask) if server.count <= 6 else bad) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a", "--repeats", "2")
        called = call(*line, "--concurrency", "1")
        assert called.code == 2
        assert "6 of 9 steps got no answer" in called.err
        assert "At most 1 image(s)" in called.err
        assert len(settled("a")) == 3
        server.react = good
        assert call(*line).code == 0
    assert counts(summary("a"))["statuses"] == {"answered": 14}


class Mine:
    """An adapter of one's own that never answers, and counts how often it is asked."""

    def __init__(self, stand_in: StandIn) -> None:
        self.info = AdapterInfo(
            name="mine", model="mine", provider="my-own", weights_known=True, stand_in=stand_in
        )
        self.asked = 0

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        self.asked += 1
        return Reply("", Finish.STOP, Usage(1, output=1))

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


@pytest.mark.parametrize("stand_in", ["policy", "code", ""])
def test_what_stands_in_for_a_model_says_so_itself(place: Path, stand_in: StandIn) -> None:
    mine = Mine(stand_in)
    task: dict[str, Any] = {"benchmark": "sample", "split": "dev", "limit": 1, "progress": "off"}
    settings = {**task, "image_policy": "none", "out": "a"}
    if not stand_in:
        assert not harness.evaluate(mine, **settings).complete
        assert mine.asked > len(calls("a"))
        assert (cache_folder() / FILE).exists()
        return
    run = harness.evaluate(mine, **settings)
    assert run.complete
    assert mine.asked == len(calls("a")), "it is not tried out before"
    assert not (cache_folder() / FILE).exists(), "its replies are kept for nobody"
    assert run.manifest.model["stand_in"] == stand_in
    assert run.manifest.of_policy is (stand_in == "policy")


class Session:
    """What a session tells `Deployment` of, for units that end as they are told to."""

    def __init__(self, stand_in: StandIn = "", **settings: Any) -> None:
        self.stopped: list[str] = []
        self.said: list[str] = []
        self.settled: list[int] = []
        self.number = 0
        info = AdapterInfo(name="m", model="m", provider="test", stand_in=stand_in)
        plan: Any = SimpleNamespace(
            model=SimpleNamespace(info=info),
            settings=Settings(model="m", **settings),
            dataset=SimpleNamespace(unit="step", units="steps"),
        )
        self.deployment = Deployment(plan, (), self.stop, self.said.append)

    def stop(self, reason: NoAnswers) -> None:
        self.stopped.append(str(reason))

    def ends(self, status: Status, words: str = "", text: str = "") -> None:
        reply = Reply(text, Finish.STOP, refusal=words)
        outcome = Outcome(
            str(self.number), 0, Prediction(status), None, ("c",), None, 0, last=reply
        )
        record: Any = self.number
        self.number += 1
        self.settled += self.deployment.take(record, outcome)  # type: ignore[arg-type]


@pytest.mark.parametrize("status", [Status.TOO_LONG, Status.PROVIDER_REFUSED])
def test_more_than_five_percent_of_a_hundred_units_stop_the_session(status: Status) -> None:
    session = Session()
    for number in range(99):
        session.ends(status if number % 14 == 3 else Status.ANSWERED, f"word{'x' * number}")
    assert not session.stopped
    session.ends(Status.ANSWERED)
    [why] = session.stopped
    assert "7 of 100 steps got no answer" in why
    assert list(session.deployment.rest()) == [], "what the run is at fault for is not settled"


def test_too_long_prompts_below_a_hundred_units_are_those_of_the_units() -> None:
    session = Session()
    for number in range(90):
        session.ends(Status.TOO_LONG if number % 2 else Status.ANSWERED, "too long")
    assert not session.stopped


@pytest.mark.parametrize("stand_in", ["policy", "code"])
@pytest.mark.parametrize("status", list(Status))
def test_what_answers_without_a_deployment_never_stops_a_run(
    status: Status, stand_in: StandIn
) -> None:
    session = Session(stand_in)
    for _ in range(120):
        session.ends(status, text="hm")
    assert not session.stopped
    assert session.settled == list(range(120))
