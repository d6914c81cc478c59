"""Servers that fail: what is waited for, what ends the run, what stays open, and how to go on."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.engine import EnginePolicy, RetryPolicy
from harness.runs import open_run
from harness.session.summary import RunningScores
from harness.settings import read_settings
from tests.harness.commands.tool import (
    CLICK_A,
    DEV,
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
from tests.servers import Answer, Ask, Reaction, WireServer, error, html
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


def test_too_fast_once_is_waited_for_and_then_answered() -> None:
    seen: list[int] = []

    def react(ask: Ask) -> Answer:
        seen.append(ask.number)
        return error(429, "slow down", retry_after="0.05") if len(seen) == 1 else replying()(ask)

    with WireServer(react) as server:
        called = call(*at(server, *ONE_TASK, *TEXT_ONLY, "--out", "a"))
        assert server.count == 15
    assert called.code == 0
    assert sorted(record["attempts"] for record in calls("a")) == [1] * 13 + [2]
    assert "without an answer" not in called.out


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


def test_the_call_beforehand_finds_a_mistake_before_any_step_is_asked() -> None:
    with WireServer(error(404, "The model `m` does not exist")) as server:
        line = [arg for arg in at(server, *ONE_TASK, "--out", "a") if arg != "--no-preflight"]
        called = call(*line)
        assert (called.code, server.count) == (2, 1)
        assert "ready" in server.asks[0].text
        assert "does not exist" in called.err.splitlines()[-1]
    assert not Path("a").exists()


def test_a_page_instead_of_an_answer_is_told_in_one_line() -> None:
    with WireServer(html()) as server:
        line = [arg for arg in at(server, *ONE_TASK, "--out", "a") if arg != "--no-preflight"]
        called = call(*line)
    assert called.code == 2
    assert len(called.err.splitlines()) == 6  # five of the heading
    assert "Traceback" not in called.err


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


def test_what_can_never_be_read_is_not_bought_eight_times() -> None:
    good = replying()
    with WireServer(good) as server:
        line = at(
            server,
            *ONE_TASK,
            *TEXT_ONLY,
            "--no-cache",
            "--out",
            "a",
            "--adapter-option",
            "attempts=8",
        )
        server.react = lambda ask: (
            Answer(raw=json.dumps(body_of(ask, good(ask)) | {"choices": [NUMBER]}).encode())
            if ask.number == 1 or whole_text(ask) == whole_text(server.asks[0])
            else good(ask)
        )
        assert call(*line).code == 1
        assert sum(whole_text(ask) == whole_text(server.asks[0]) for ask in server.asks) == 3


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
            "Run the same line again to ask for the rest, or with --score-failures." in called.err
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


def test_a_dialogue_that_broke_off_is_taken_up_with_its_second_round() -> None:
    with WireServer(second_round(error(500, "out of order"))) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a")
        assert call(*line).code == 1
        server.react = replying()
        before = server.count
        assert call(*line).code == 0
        assert [ask.rounds for ask in server.asks[before:]] == [1]


def test_failures_are_settled_when_the_user_says_so() -> None:
    with WireServer(first_step(error(500, "out of order"))) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a")
        called = call(*line, "--score-failures")
    assert called.code == 0
    assert status_of_first() == ("no_reply", True)
    assert "replies without an element: 1 no_reply" in called.out
    found = summary("a")
    assert row(found, "element", "micro")["n"] == 7
    assert found["complete"] is True


def test_what_was_left_open_is_settled_by_a_later_line() -> None:
    with WireServer(first_step(error(500, "out of order"))) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a")
        assert call(*line).code == 1
        assert call(*line, "--score-failures").code == 0
    assert status_of_first() == ("no_reply", True)


def test_a_prompt_that_the_server_finds_too_long_is_the_model_s_own_failure() -> None:
    refusal = error(
        400, "This model's maximum context length is 10 tokens", "context_length_exceeded"
    )
    with WireServer(first_step(refusal)) as server:
        assert call(*at(server, *ONE_TASK, *TEXT_ONLY, "--out", "a")).code == 0
    assert status_of_first() == ("too_long", True)


@pytest.mark.parametrize("name", ["anthropic", "google"])
def test_the_other_providers_are_asked_by_the_same_line(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, key = {
        "anthropic": ("claude-sonnet-5-5", "ANTHROPIC_API_KEY"),
        "google": ("gemini-3.8-flash", "GEMINI_API_KEY"),
    }[name]
    monkeypatch.setenv(key, "no-real-key-0123456789")
    with WireServer(lambda ask: Answer(text=CLICK_A)) as server:
        url = server.base_url("anthropic")
        line = ("--model", model, "--base-url", url, *ONE_TASK, "--workers", "1", "--out", "a")
        called = call(*line, "--progress", "off")
        assert called.code == 0, called.err
        assert {ask.provider for ask in server.asks} == {name}
        assert server.count == 15  # the call beforehand among them
        assert all(ask.pictures == 1 for ask in server.asks)
    assert counts(summary("a"))["statuses"] == {"answered": 7}


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


def test_the_first_call_is_tried_as_often_as_attempts_says() -> None:
    with WireServer(error(500, "down")) as server:
        line = [arg for arg in at(server, *ONE_TASK, "--out", "a") if arg != "--no-preflight"]
        called = call(*line, "--adapter-option", "attempts=1")
        assert (called.code, server.count) == (2, 1)
    assert "the model does not answer: server after 1 try" in called.err


def test_the_last_line_of_progress_has_the_scores_of_all_steps() -> None:
    running = RunningScores(read_settings({"benchmark": "sample"}))
    assert call("--model", "lexical", *DEV, "--out", "a").code == 0
    for record in open_run("a").records():
        running.add(record)
        running.results()
    whole = [one for one in open_run("a").records() if one.scores is not None]
    last = running.results(whole=True)
    assert last is not None and last.counts == running.results_of(whole).counts
