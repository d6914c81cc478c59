"""Servers that fail: what is waited for, what ends the run, what stays open, and how to go on."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.engine import EnginePolicy, RetryPolicy
from tests.harness.commands.tool import (
    ONE_TASK,
    TEXT_ONLY,
    at,
    call,
    calls,
    replying,
    steps,
    summary,
    whole_text,
)
from tests.numbers import counts, row
from tests.servers import Answer, Ask, Reaction, WireServer, error
from tests.servers.wire import body_of

FIRST_STEP = "(none yet)"
"""What a prompt says about earlier actions in the first step of a task."""


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = partial(EnginePolicy, retry=RetryPolicy(attempts=2, first_wait_s=0.01))
    monkeypatch.setattr("harness.session.run.EnginePolicy", quick)


def first_step(answer: Answer) -> Reaction:
    """`answer` for the first step, good replies for the others."""
    good = replying()
    return lambda ask: answer if FIRST_STEP in whole_text(ask) else good(ask)


def second_round(answer: Answer) -> Reaction:
    """`answer` to the second round of the first step."""
    good = replying()
    return lambda ask: answer if ask.rounds and FIRST_STEP in whole_text(ask) else good(ask)


def status_of_first() -> tuple[str, bool]:
    line = next(line for line in steps("a") if line["index"] == 0)
    return line["prediction"]["status"], line["settled"]


def test_a_refused_key_ends_the_run_at_once_and_a_good_server_goes_on() -> None:
    with WireServer(error(401, "Incorrect API key provided")) as server:
        called = call(*at(server, *ONE_TASK, *TEXT_ONLY, "--concurrency", "1", "--out", "a"))
        assert server.count <= 2  # one more may have been under way
        assert called.code == 2
        last = called.err.splitlines()[-1]
        assert last.startswith("vlm-eval: ")
        assert "401" in last or "key" in last
        assert "Traceback" not in called.err
        server.react = replying()
        assert call(*at(server, *ONE_TASK, *TEXT_ONLY, "--out", "a")).code == 0
    assert summary("a")["complete"] is True


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (Answer(text="ELEM", finish="length"), "truncated"),
        (Answer(text="", finish="content_filter"), "content_filter"),
        (Answer(text="I will not do that", finish="refusal"), "refusal"),
        (Answer(text="", finish="stop"), "empty"),
        (Answer(text="ELEMENT: Z\nACTION: CLICK\nVALUE: None"), "out_of_range"),
        (Answer(text="Bananas are yellow."), "parse_error"),
    ],
)
def test_what_the_model_itself_says_settles_a_step(answer: Answer, status: str) -> None:
    with WireServer(second_round(answer)) as server:
        called = call(*at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a"))
    assert called.code == 0
    assert status_of_first() == (status, True)
    assert f"replies without an element: 1 {status}" in called.out
    found = counts(summary("a"))
    assert found["statuses"] == {"answered": 6, status: 1}
    assert found["n_unsettled"] == 0


ODD = [
    {"model": 5},
    {"id": 7},
    {"usage": {"prompt_tokens": -5}},
    {"usage": {"prompt_tokens": 100.0, "completion_tokens": "10"}, "service_tier": ["x"]},
]


@pytest.mark.parametrize("odd", ODD)
def test_what_no_score_depends_on_is_paid_for_once(odd: dict[str, object]) -> None:
    good = replying()

    def react(ask: Ask) -> Answer:
        answer = good(ask)
        return replace(answer, raw=json.dumps(body_of(ask, answer) | odd).encode())

    with WireServer(react) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a")
        assert call(*line).code == 0
        assert server.count == 14
    assert summary("a")["complete"] is True


NUMBER: dict[str, object] = {"message": {"content": 5}, "finish_reason": "stop"}
FAILED: dict[str, object] = {"message": {"content": "EL"}, "error": {"code": 502}}


@pytest.mark.parametrize("wrong", [{"choices": []}, {"choices": [NUMBER]}, {"choices": [FAILED]}])
def test_a_malformed_reply_is_asked_for_again_and_the_run_can_be_read(
    wrong: dict[str, object],
) -> None:
    good = replying()
    seen: set[str] = set()

    def react(ask: Ask) -> Answer:
        answer = good(ask)
        if whole_text(ask) in seen:
            return answer
        seen.add(whole_text(ask))
        return replace(answer, raw=json.dumps(body_of(ask, answer) | wrong).encode())

    with WireServer(react) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a")
        assert call(*line).code == 0
        assert server.count == 28
    assert [record["attempts"] for record in calls("a")] == [2] * 14
    assert all(record["reply"]["text"] not in ("", "EL") for record in calls("a"))
    assert call("score", "a").code == 0
    assert summary("a")["complete"] is True


def test_a_step_without_a_reply_stays_open_and_is_all_that_is_asked_next_time() -> None:
    with WireServer(first_step(error(500, "out of order"))) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a")
        called = call(*line)
        assert called.code == 1
        assert "without an answer so far: 1 (server after 2 tries: 1)" in called.out
        assert "not everything is answered" in called.err
        assert (
            "Run the same line again to ask for the rest, or with --benchmark-option "
            "score_failures=yes." in called.err
        )
        assert sum(not step["settled"] for step in steps("a")) == 1
        server.react = replying()
        before = server.count
        again = call(*line)
        assert again.code == 0
        assert server.count - before == 2
        assert all(FIRST_STEP in whole_text(ask) for ask in server.asks[before:])
    assert "without an answer" not in again.out
    assert len(calls("a")) == 14


def test_a_run_with_answers_goes_on_once_a_word_for_the_end_is_declared() -> None:
    good = replying()

    def odd(ask: Ask) -> Answer:
        plain = body_of(ask, good(ask))
        plain["choices"][0]["finish_reason"] = "end_of_answer"
        return Answer(raw=json.dumps(plain).encode())

    with WireServer(lambda ask: odd(ask) if server.count % 5 == 0 else good(ask)) as server:
        line = at(
            server,
            *ONE_TASK,
            *TEXT_ONLY,
            "--no-cache",
            "--adapter-option",
            "attempts=1",
            "--out",
            "a",
        )
        called = call(*line)
        assert called.code == 1, called.err
        assert "--adapter-option 'ends=end_of_answer'" in called.err
        known = {record["id"]: record for record in calls("a")}
        assert known
        server.react, before = odd, server.count
        # A word more, in capitals: those that count are all that were declared.
        again = call(*line, "--adapter-option", "ends=other,END-OF-ANSWER")
        assert again.code == 0, again.err
        assert server.count - before == 14 - len(known)
    assert {r["id"]: r for r in calls("a") if r["id"] in known} == known
    manifest = json.loads(Path("a/manifest.json").read_text())
    assert "ends" not in json.dumps(manifest["config"])
    told = [session["settings"].get("ends") for session in manifest["sessions"]]
    assert told == [None, "other,END-OF-ANSWER"]


def test_failures_are_settled_when_the_user_says_so() -> None:
    with WireServer(first_step(error(500, "out of order"))) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a")
        called = call(*line, "--benchmark-option=score_failures=yes")
    assert called.code == 0
    assert status_of_first() == ("no_reply", True)
    assert "replies without an element: 1 no_reply" in called.out
    found = summary("a")
    assert row(found, "element", "micro")["n"] == 7
    assert found["complete"] is True


def test_a_key_in_the_body_is_sent_and_written_nowhere(place: Path) -> None:
    option = 'extra_body={"api_key": "sk-RECOGNISABLE-0123456789", "top_k": 1}'
    with WireServer(replying()) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--adapter-option", option)
        called = call(*line, "--out", "a")
        assert called.code == 0
        assert all(ask.body["api_key"] == "sk-RECOGNISABLE-0123456789" for ask in server.asks)
        before = server.count
        other = option.replace("RECOGNISABLE", "RECOGNISABLE-2")
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--adapter-option", other)
        assert call(*line, "--out", "a").code == 0, "another key is the same run"
        assert server.count == before
    written = [path.read_bytes() for path in place.rglob("*") if path.is_file()]
    assert b"top_k" in b"".join(written)
    assert b"RECOGNISABLE" not in b"".join(written)
    assert "RECOGNISABLE" not in called.out + called.err


@pytest.mark.parametrize("url", ["http://h/v1?key=RECOGNISABLE", "http://RECOGNISABLE@h/v1"])
def test_an_address_with_a_secret_is_refused_and_not_repeated(url: str, place: Path) -> None:
    called = call("--model", "openai:m", "--base-url", url, *ONE_TASK, "--out", "a")
    assert called.code == 2
    assert "--base-url holds a " in called.err
    assert "RECOGNISABLE" not in called.out + called.err
    assert not (place / "a").exists()
