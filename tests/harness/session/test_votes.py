"""Runs with samples that vote: every sample is its own call, at once and again."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from harness.runs import open_run
from tests.harness.commands.tool import ONE_TASK, TEXT_ONLY, at, call, calls, last_lines, summary
from tests.servers import Answer, Ask, Reaction, WireServer

LETTERS = "AABCA"
FIVE = ("--samples", "5", "--temperature", "0.9", *ONE_TASK, *TEXT_ONLY)
STEPS = 7
"""Valid steps of the task."""


def numbering() -> Reaction:
    """A server that numbers its replies, and answers with letters in turn."""
    numbers = count()

    def react(ask: Ask) -> Answer:
        number = next(numbers)
        text = f"{number}: ELEMENT: {LETTERS[number % 5]}\nACTION: CLICK\nVALUE: None"
        return Answer(text=text, usage={"input": 100, "cached": 0, "output": 10})

    return react


def test_five_samples_are_five_calls_and_a_later_run_may_reuse_them() -> None:
    with WireServer(numbering()) as server:
        assert call(*at(server, *FIVE, "--out", "a")).code == 0
        lines = calls("a")
        assert len(lines) == len({line["reply"]["text"] for line in lines}) == 5 * 2 * STEPS
        assert len(server.asks) == len(lines)
        assert {ask.body["temperature"] for ask in server.asks} == {0.9}
        done = call(*at(server, *FIVE, "--out", "b", "--cache", preflight=True))
        assert len(server.asks) == len(lines) + 1
    assert f"{len(lines)} of {len(lines)} replies reused from a" in done.out
    first, second = ({one["unit_id"]: one["prediction"] for one in last_lines(run)} for run in "ab")
    assert first == second
    assert "5 samples per call: " in done.out


def test_votes_and_agreement_are_on_record_and_read_again() -> None:
    with WireServer(numbering()) as server:
        line = at(server, *FIVE, "--concurrency", "1", "--out", "a")
        assert call(*line).code == 0
    asked = [one["prediction"] for one in last_lines("a") if one["asked"]]
    assert all(sum(said["votes"]) == 5 for said in asked)
    mean = sum(said["votes"][0] / 5 for said in asked) / len(asked)
    assert summary("a")["agreement"] == pytest.approx(mean)
    frame = open_run("a").steps()
    assert frame["agreement"].dropna().mean() == pytest.approx(mean)
    assert "0 of 7 predictions read differently" in call("score", "a").out


def test_samples_of_a_random_policy_differ_and_those_of_the_oracle_agree() -> None:
    for policy in ("random", "oracle"):
        line = ("--model", policy, *ONE_TASK, *TEXT_ONLY, "--samples", "5", "--out", policy)
        assert call(*line).code == 0
    assert summary("oracle")["agreement"] == 1.0
    assert 0.2 <= summary("random")["agreement"] < 0.6


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("--samples", "5"), "--samples has no effect on openai:m at temperature 0"),
        (
            ("--protocol-option", "vote=first"),
            "--protocol-option vote has no effect without --samples",
        ),
        (("--samples", "0"), "--samples"),
    ],
)
def test_samples_without_effect_are_refused(line: tuple[str, ...], said: str, place: Path) -> None:
    with WireServer(numbering()) as server:
        done = call(*at(server, *line, *ONE_TASK))
    assert done.code == 2
    assert said in done.complaint
