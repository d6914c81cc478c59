"""Runs whose provider refuses the prompt of one step, or of all."""

from __future__ import annotations

import json

import pytest

from tests.harness.commands.tool import (
    ONE_TASK,
    TEXT_ONLY,
    at,
    call,
    calls,
    replying,
    summary,
)
from tests.harness.session.test_failing_servers import FIRST_STEP, status_of_first
from tests.numbers import counts, row
from tests.servers import Answer, Ask, Provider, WireServer, error

REFUSAL = error(400, "Could not process image", "invalid_image")
MODELS: dict[Provider, str] = {
    "openai": "openai:m",
    "anthropic": "claude-sonnet-5-5",
    "google": "gemini-3.8-flash",
}


def refuse_first_step(ask: Ask) -> Answer:
    """Refuse the prompts of the first step, in the format of any provider."""
    return REFUSAL if FIRST_STEP in json.dumps(ask.body) else replying()(ask)


@pytest.mark.parametrize("provider", MODELS)
def test_a_refused_prompt_settles_its_step_and_counts_like_a_refusal(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(key, "no-real-key-0123456789")
    with WireServer(refuse_first_step) as server:
        url = server.base_url("openai" if provider == "openai" else "anthropic")
        where = ("--model", MODELS[provider], "--base-url", url)
        line = (*where, *ONE_TASK, *TEXT_ONLY, "--progress", "off", "--out", "a")
        called = call(*line, "--details")
        assert called.code == 0, called.err
        asked = server.count
        assert call(*line).code == 0
        assert server.count == asked, "a refused step is settled"
    assert status_of_first() == ("provider_refused", True)
    assert "replies without an element: 1 provider_refused" in called.out
    found = summary("a")
    assert (row(found, "element", "micro")["n"], found["complete"]) == (7, True)
    [refusal] = [c["reply"]["refusal"] for c in calls("a") if c["reply"].get("refusal")]
    assert "answered 400" in refusal
    assert "Could not process image" in refusal


def test_a_refused_first_call_ends_the_run_before_any_step() -> None:
    with WireServer(REFUSAL) as server:
        line = at(server, *ONE_TASK, "--out", "a", preflight=True)
        called = call(*line)
        assert (called.code, server.count) == (2, 1)
    assert "Could not process image" in called.err.splitlines()[-1]


@pytest.mark.parametrize("provider", MODELS)
def test_a_prompt_refused_in_a_batch_settles_its_step_alone(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.batches.remote.FIRST_WAIT_S", 0.0)
    with WireServer(refuse_first_step) as server:
        for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
            monkeypatch.setenv(key, "no-real-key-0123456789")
        where = ("--model", MODELS[provider], "--base-url", server.base_url(provider))
        rest = ("--progress", "off", "--tier", "batch", "--yes", "--out", "a")
        for _ in range(6):
            called = call(*where, *ONE_TASK, *TEXT_ONLY, *rest)
            if called.code != 3:
                break
    assert called.code == 0, called.err
    assert status_of_first() == ("provider_refused", True)
    assert counts(summary("a"))["n_settled"] == 7
