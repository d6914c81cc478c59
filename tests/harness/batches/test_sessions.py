"""Runs whose calls a provider answers in batches (`--tier batch`), over several sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import harness
from adapters.batches.contract import PackLimits
from adapters.contract import Fatal
from harness.batches import passes
from harness.errors import UserError
from tests.harness.batches.deferring import (
    SELECTION,
    Provider,
    session,
    to_the_end,
    told,
)
from tests.harness.commands.tool import call, calls, steps


def test_a_run_in_batches_is_the_run_at_once(place: Path) -> None:
    at_once, provider = Provider(), Provider()
    session(at_once, "at-once", tier="default")
    run = to_the_end(provider)
    assert told(run.path) == told(Path("at-once"))
    by_id = {line["id"]: line for line in calls("at-once")}
    for line in calls(run.path):
        same = ("conversation", "request", "messages", "place", "earlier")
        assert {k: line[k] for k in same} == {k: by_id[line["id"]][k] for k in same}
        assert line["reply"]["text"] == by_id[line["id"]]["reply"]["text"]
    # A batch per round, one call at once to find mistakes before each of them is sent.
    assert provider.creates == 2
    assert provider.asked == 2
    assert sorted(p.name for p in (run.path / "batches").iterdir()) == []


def test_what_waits_is_told_and_nothing_is_asked_before_it_has_come(place: Path) -> None:
    provider = Provider()
    first = session(provider)
    assert not first.complete
    before = provider.asked
    again = session(provider)
    assert (provider.creates, provider.asked) == (1, before)
    assert not again.complete
    provider.answer()
    session(provider)
    assert provider.creates == 2


def test_repeats_share_a_wave_and_each_gets_its_own_reply(place: Path) -> None:
    provider = Provider()
    run = to_the_end(provider, repeats=3)
    assert provider.creates == 2
    assert len({line["id"] for line in calls(run.path)}) == len(calls(run.path))
    assert len(provider.requests) == len(calls(run.path))


@pytest.mark.parametrize("refuses_temperature", [True, False])
def test_a_model_that_turns_out_not_to_be_greedy_is_asked_nothing_twice(
    place: Path, refuses_temperature: bool
) -> None:
    provider = Provider()
    # Each session learns of it by its own first call at once, and some make none.
    provider.refuses_temperature = refuses_temperature
    run = to_the_end(provider)
    assert len(provider.requests) == len(calls(run.path))


EQUAL: dict[str, Any] = {"split": "test", "limit": 3, "history": "none"}
"""Steps of a task that ask the same."""


def greedy() -> Provider:
    provider = Provider()
    provider.refuses_temperature = False
    return provider


def bodies(provider: Provider) -> list[str]:
    return [line["body"] for line in provider.requests]


@pytest.mark.parametrize("waits", [False, True])
def test_equal_calls_of_a_run_are_sent_and_paid_once(
    place: Path, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    monkeypatch.setattr(passes, "FIRST_WAIT_S", 0.01)
    at_once, provider = greedy(), greedy()
    session(at_once, "at-once", tier="default", **EQUAL)
    provider.answers_at = 2 if waits else 0
    run = session(provider, wait=True, **EQUAL) if waits else to_the_end(provider, **EQUAL)
    lines = calls(run.path)
    assert len(provider.requests) == len(set(bodies(provider)))
    assert len(provider.requests) == len({line["request"] for line in lines}) < len(lines)
    assert provider.creates == 2, "nobody waits for a batch of his own"
    assert told(run.path) == told(Path("at-once"))
    paid = [line for line in lines if not line.get("from_cache")]
    assert len(paid) == len(provider.requests)
    tokens = sum(len(body) // 4 + 10 for body in bodies(provider))
    assert sum(line["cost"] for line in paid) == pytest.approx(tokens / 1e6)
    free = [line for line in lines if line.get("from_cache")]
    assert {(line["cost"], line["attempts"]) for line in free} == {(0.0, 0)}


@pytest.mark.parametrize("failures", [1, 3])
def test_an_equal_call_that_fails_leaves_no_other_without_a_reply(
    place: Path, failures: int
) -> None:
    provider = greedy()
    failed: dict[str, int] = {}

    def fails(one: dict[str, Any]) -> list[dict[str, Any]]:
        [body] = [line["body"] for line in provider.requests if line["id"] == one["id"]]
        failed[body] = failed.get(body, 0) + 1
        lost = {"id": one["id"], "fault": "an internal error"}
        return [lost if failed[body] <= failures else one]

    provider.result = fails
    for _ in range(12):
        run = session(provider, **EQUAL)
        provider.answer()
    assert run.complete
    distinct = len(set(bodies(provider)))
    assert len(provider.requests) == distinct * (1 + failures)


def test_an_equal_call_waits_for_a_batch_without_the_tier_too(place: Path) -> None:
    provider = greedy()
    session(provider, **EQUAL)
    sent, asked = bodies(provider), provider.asked
    session(provider, tier="default", **EQUAL)
    assert provider.asked == asked
    provider.answer()
    run = session(provider, tier="default", **EQUAL)
    lines = calls(run.path)
    assert (run.complete, provider.creates) == (True, 1)
    # And what was sent is asked by nobody again.
    assert provider.asked - asked == len({line["request"] for line in lines}) - len(sent)


def test_no_more_batches_are_open_than_the_provider_allows(place: Path) -> None:
    provider = Provider()
    provider.limits = PackLimits(requests=3, bytes=1_000_000, open=2)
    for _ in range(2):
        session(provider)
        assert len(provider.open) == 2
    assert to_the_end(provider).complete
    assert all(len(batch["lines"]) <= 3 for batch in provider.batches.values())


def test_what_failed_is_sent_again_in_the_next_wave_and_given_up_after_three(
    place: Path,
) -> None:
    provider = Provider()
    failing = {"times": 0}

    def first_fails(one: dict[str, Any]) -> list[dict[str, Any]]:
        failing["times"] += 1
        if failing["times"] == 1:
            return [{"id": one["id"], "fault": "an internal error"}]
        return [] if failing["times"] == 2 else [one]

    provider.result = first_fails
    run = to_the_end(provider)
    assert run.complete
    ids = [line["id"] for line in provider.requests]
    assert len(ids) == len(set(ids)) == len(calls(run.path)) + 2

    provider = Provider()
    provider.result = lambda one: [{"id": one["id"], "fault": "an internal error"}]
    for _ in range(3):
        session(provider, "failing")
        provider.answer()
    run = session(provider, "failing")
    unsettled = [line for line in steps("failing") if not line["settled"]]
    assert unsettled and all("after 3 tries" in line["error"] for line in unsettled)
    assert not run.complete
    # Starting it again asks anew, as often as at first.
    provider.result = lambda one: [one]
    assert to_the_end(provider, "failing").complete


def test_lines_of_nobody_are_ignored(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    provider = Provider()
    provider.result = lambda one: [one, one, {**one, "id": "v0", "text": "a stranger's"}]
    run = to_the_end(provider)
    assert len(calls(run.path)) == len({line["id"] for line in calls(run.path)})
    assert all(line["reply"]["text"] != "a stranger's" for line in calls(run.path))
    assert "are of no request in it, and are ignored" in capsys.readouterr().err


def test_what_would_be_said_of_every_call_ends_the_session_after_the_rest_is_on_record(
    place: Path,
) -> None:
    provider = Provider()
    first: list[str] = []

    def one_fatal(one: dict[str, Any]) -> list[dict[str, Any]]:
        first.append(one["id"])
        return [{"id": one["id"], "fatal": "no such model"}] if len(first) == 1 else [one]

    provider.result = one_fatal
    session(provider)
    provider.answer()
    with pytest.raises(Fatal, match="no such model"):
        session(provider)
    assert len(calls("run")) == len(first) - 1


def test_a_run_that_waits_is_told_so_and_not_merged(place: Path) -> None:
    run = session(Provider())
    assert run.waiting is not None and run.waiting.packs == 1
    assert "waits for 1 batch with" in " ".join(call("report", "run").out.split())
    refused = call("merge", "run", "--out", "joined")
    assert (refused.code, "waits for 1 batch with" in refused.err) == (2, True)
    assert call("batches", "run").code == 3


def test_the_first_call_cannot_be_left_out(place: Path) -> None:
    with pytest.raises(UserError, match="preflight=no"):
        session(Provider(), preflight=False)


def test_a_session_can_wait_until_everything_is_answered(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "FIRST_WAIT_S", 0.01)
    provider = Provider()
    provider.answers_at = 2
    run = session(provider, wait=True)
    assert run.complete
    assert provider.creates == 2
    # Passes of one session neither make a call twice nor write a second line.
    assert len({line["id"] for line in calls(run.path)}) == len(calls(run.path))
    assert len({line["unit_id"] for line in steps(run.path)}) == len(steps(run.path))


def test_a_model_that_is_not_asked_in_batches_is_refused(place: Path) -> None:
    with pytest.raises(UserError, match="--tier has no effect"):
        harness.evaluate("lexical", **SELECTION, tier="batch", out="x")


def test_replies_that_answer_no_other_call_hold_the_others_up_once(place: Path) -> None:
    provider = greedy()
    provider.result = lambda one: [{**one, "finish": "length"}]
    run = to_the_end(provider, **EQUAL)
    lines = calls(run.path)
    assert len(provider.requests) == len(lines) > len(set(bodies(provider)))
    assert provider.creates <= 4
