"""The token limit of replies: what it is if nobody gives one, and warnings where it is too low."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harness
from adapters.contract import AdapterInfo, Request
from adapters.scripted import ScriptedModel
from adapters.thinking import ALWAYS
from harness.runs import open_run
from harness.session.display import Display
from harness.session.summary import PAUSE_S, RunningScores
from harness.settings import read_settings
from tests.harness.commands.tool import (
    CLICK_A,
    DEV,
    ONE_TASK,
    TEXT_ONLY,
    at,
    call,
    replying,
)
from tests.servers import Answer, Ask, WireServer

THINKER = "Qwen/Qwen3-VL-8B-Thinking"


def manifest(run: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(run) / "manifest.json").read_text())
    return found


def runs() -> list[Path]:
    return [
        path.parent
        for path in (*Path().glob("a/manifest.json"), *Path().glob("runs/*/manifest.json"))
    ]


def limits_sent(server: WireServer) -> set[int]:
    return {ask.body["max_tokens"] for ask in server.asks}


def on(server: WireServer, model: str, *args: str, preflight: bool = False) -> tuple[str, ...]:
    """The arguments of a run of this model of `server`."""
    more = *args, "--model", model
    return at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", *more, preflight=preflight)


@pytest.mark.parametrize(
    ("model", "options", "limit"),
    [
        (THINKER, (), 8192),
        ("openai/gpt-5.4", (), 8192),
        ("Qwen/Qwen3-VL-8B-Instruct", (), 1024),
        (THINKER, ("--max-tokens", "700"), 700),
        ("openai/gpt-5.4", ("--adapter-option", "effort=none"), 1024),
    ],
)
def test_a_limit_that_is_left_open_has_room_for_thought_where_the_model_thinks(
    model: str, options: tuple[str, ...], limit: int
) -> None:
    with WireServer(replying()) as server:
        assert call(*on(server, model, *options, "--out", "a")).code == 0
        assert limits_sent(server) == {limit}
    assert manifest("a")["config"]["max_tokens"] == [limit]


@pytest.mark.parametrize(
    ("model", "options", "limit"),
    [
        ("gpt-4o", (), 1024),
        ("claude-sonnet-4-5", ("--adapter-option", "thinking_budget=2000"), 8192),
        ("gemini-2.5-flash", (), 8192),
        ("lexical", (), 1024),
    ],
)
def test_a_rehearsal_counts_with_the_limit_that_the_run_will_have(
    model: str, options: tuple[str, ...], limit: int
) -> None:
    rehearsed = call("--model", model, *ONE_TASK, *TEXT_ONLY, *options, "--dry-run")
    assert rehearsed.code == 0
    [high] = [line for line in rehearsed.out.splitlines() if line.startswith("high: ")]
    assert f" {14 * limit:,} out" in high


def test_a_model_of_ones_own_declares_that_it_thinks() -> None:
    def answer(request: Request) -> str:
        return CLICK_A if request.place == "round-2" else str(request.generation.max_tokens)

    info = AdapterInfo(name="mine", model="mine", provider="mine")
    for thinking, limit in ((info.thinking, 1024), (ALWAYS, 8192)):
        model = ScriptedModel(answer, replace(info, thinking=thinking))
        run = harness.evaluate(
            model, benchmark="sample", split="dev", limit=1, out=f"{limit}", progress="off"
        )
        assert {request.generation.max_tokens for request in model.asked} == {limit}
        assert run.manifest.config["max_tokens"] == [limit]


@pytest.mark.parametrize(
    ("answer", "warns"),
    [
        (Answer(text="", finish="length"), "cut off at 600 tokens"),
        (Answer(text="The user wants", finish="length"), "cut off at 600 tokens"),
        (Answer(text="<think>The user wants"), "cut off at 600 tokens"),
        (Answer(text=""), "has no text (the limit is 600 tokens)"),
        (Answer(text="<think>The user wants it</think>"), "has no text"),
        (Answer(text="<think>easy</think>ready"), ""),
        (Answer(text="ready"), ""),
    ],
)
def test_a_preflight_reply_without_an_answer_is_a_warning(answer: Answer, warns: str) -> None:
    good = replying()
    with WireServer(lambda ask: answer if "ready" in ask.text else good(ask)) as server:
        line = on(server, "m", "--out", "a", preflight=True)
        done = call(*line, "--max-tokens", "600")
    assert done.code == 0
    [*warnings] = [line for line in done.err.splitlines() if line.startswith("warning:")]
    assert len(warnings) == bool(warns)
    assert all(warns in line and "--max-tokens 8192" in line for line in warnings)


def some(bad: Answer, share: int) -> Callable[[Ask], Answer]:
    """A server whose every `share`-th second round is `bad`."""
    good = replying()
    seen: list[int] = []

    def react(ask: Ask) -> Answer:
        if ask.rounds:
            seen.append(ask.number)
        return bad if ask.rounds and len(seen) % share == 0 else good(ask)

    return react


RAISE = "raise the limit of 1024 tokens, --max-tokens 8192"


@pytest.mark.parametrize(
    ("bad", "kind", "advice", "shown"),
    [
        (Answer(text="Let me think", finish="length"), "cut off", RAISE, ""),
        (
            Answer(text=""),
            "empty",
            f"look at the server's chat template and reasoning parser, or {RAISE}",
            "",
        ),
        (
            Answer(text="Bananas\x1b[2J are\n yellow."),
            "unreadable",
            "they do not have the form that was asked for",
            ", such as 'Bananas\N{REPLACEMENT CHARACTER}[2J are yellow.'",
        ),
    ],
)
def test_many_replies_without_an_answer_are_told_while_it_runs_and_at_the_end(
    bad: Answer, kind: str, advice: str, shown: str
) -> None:
    with WireServer(some(bad, 4)) as server:
        line = at(server, *DEV, *TEXT_ONLY, "--no-cache", "--out", "a", "--concurrency", "1")
        done = call(*line, "--progress", "plain")
    asked = sum(ask.rounds > 0 for ask in server.asks)
    count = asked // 4
    told = (
        f"{count} of {asked} steps ({100 * count / asked:.0f} %) without a usable reply "
        f"({count} {kind}): {advice}"
    )
    # While it runs, at the end, and wherever the table is shown again.
    assert told in " ".join(done.err.split())
    for output in (done.out, call("score", "a").out):
        assert told + shown in " ".join(output.split())
        assert ("--max-tokens" in output) is (kind != "unreadable")


def test_the_progress_line_begins_to_say_so_after_twenty_steps() -> None:
    with WireServer(Answer(text="hm", finish="length")) as server:
        assert call(*at(server, *DEV, *TEXT_ONLY, "--no-cache", "--out", "a")).code == 0
    records = [record for record in open_run("a").records() if record.asked]
    settings = read_settings({"model": "m", "max_tokens": "2000,300"})
    display = Display(settings)
    seconds = itertools.count(0, PAUSE_S)
    display.running = RunningScores(settings, clock=lambda: next(seconds))
    for number, record in enumerate(records, 1):
        display.recorded(record)
        told = "--max-tokens 8192" in display.scores()
        assert told is (number >= 20), number
    assert "the limit of 2000,300 tokens" in display.scores()
