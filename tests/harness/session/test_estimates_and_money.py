"""`--dry-run` counts what a run sends and brackets what it takes; `--max-cost` is never passed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from parsers import count_tokens
from tests.harness.commands.tool import (
    DEV,
    ONE_TASK,
    TEXT_ONLY,
    at,
    call,
    calls,
    replying,
    summary,
    whole_text,
)
from tests.servers import Answer, Ask, WireServer
from tests.servers.wire import body_of

PRICES = '["openai:m"]\ninput = 1000.0\noutput = 2000.0\n'
"""Dollars per million tokens: a call of a thousand tokens costs a dollar or two."""
PER_MESSAGE = 4


def honest(ask: Ask) -> Answer:
    """A server that counts the text of a request as providers do."""
    text = replying()(ask).text
    sent = count_tokens(whole_text(ask)) + PER_MESSAGE * len(ask.messages)
    return Answer(text=text, usage={"input": sent, "output": count_tokens(text)})


def cases(output: str) -> dict[str, tuple[int, int]]:
    """Tokens in and out by case."""
    found = re.findall(r"^(low|expected|high): +([\d,]+) in, ([\d,]+) out", output, re.M)
    return {
        name: (int(sent.replace(",", "")), int(got.replace(",", ""))) for name, sent, got in found
    }


def test_a_rehearsal_counts_calls_and_pictures_exactly_and_brackets_tokens() -> None:
    with WireServer(honest) as server:
        line = at(server, *DEV, "--limit", "2", "--out", "a")
        rehearsed = call(*line, "--dry-run")
        assert (rehearsed.code, server.count) == (0, 0)
        assert not Path("a").exists()
        assert call(*line).code == 0
    assert f"calls:     {server.count} (counted)" in rehearsed.out
    pictures = sum(ask.pictures for ask in server.asks)
    assert f"pictures:  {pictures} sent (counted)" in rehearsed.out
    assert "12 valid steps, 1 no_positive (not asked)" in rehearsed.out
    usage = summary("a")["usage"]
    low, expected, high = (cases(rehearsed.out)[name] for name in ("low", "expected", "high"))
    assert low[0] < usage["input"] < expected[0] < high[0]
    assert low[1] == 0 < usage["output"] < expected[1] < high[1]
    assert high[1] == 1024 * server.count


@pytest.mark.parametrize("output", [1, 1024])
def test_the_limit_in_dollars_is_never_passed(output: int) -> None:
    Path("prices.toml").write_text(PRICES)
    limit = 30.0

    def dear(ask: Ask) -> Answer:
        sent = count_tokens(whole_text(ask)) + PER_MESSAGE * len(ask.messages)
        return Answer(text=replying()(ask).text, usage={"input": sent, "output": output})

    with WireServer(dear) as server:
        line = at(server, *DEV, *TEXT_ONLY, "--prices", "prices.toml", "--no-cache", "--out", "a")
        called = call(*line, "--max-cost", str(limit))
        assert called.code == 1
        assert "Run the same line again with a higher --max-cost" in called.err
        taken = [(ask, dear(ask).usage) for ask in server.asks]
        paid = sum((use["input"] * 1e3 + use["output"] * 2e3) / 1e6 for _, use in taken if use)
        assert limit / 2 < paid <= limit
        assert sum(record["cost"] for record in calls("a")) == pytest.approx(paid)
        asked = server.count
        assert call(*line, "--max-cost", str(limit)).code == 1
        assert sum(record["cost"] for record in calls("a")) <= limit
        assert server.count <= asked + 10
        again = call(*line, "--max-cost", "100000")
        assert again.code == 0
    cost = sum(record["cost"] for record in calls("a"))
    assert summary("a")["cost"] == pytest.approx(cost)
    assert f"cost: ${cost:,.4f}" in again.out


def test_what_a_call_without_a_line_cost_counts_towards_the_limit_of_later_sessions() -> None:
    Path("prices.toml").write_text(PRICES)
    with WireServer(honest) as server:
        place = ("--model", "openai:m", "--base-url", server.base_url("openai"))
        line = (*place, *ONE_TASK, *TEXT_ONLY, "--prices", "prices.toml", "--no-cache", "-o", "a")
        assert call(*line, "--max-cost", "3").code == 1
        paid = sum(
            (use["input"] * 1e3 + use["output"] * 2e3) / 1e6
            for use in (honest(ask).usage for ask in server.asks)
            if use
        )
        lines = sum(record["cost"] for record in calls("a"))
        unrecorded = json.loads(Path("a/manifest.json").read_text())["unrecorded"]
        assert 0 < unrecorded == pytest.approx(paid - lines)
        again = call(*line, "--max-cost", "3", "--adapter-option=preflight=no")
        assert again.code == 1
        assert f"${paid:.4f} of $3.0000 spent" in again.err


def test_no_call_is_sent_when_the_first_could_already_pass_the_limit() -> None:
    Path("prices.toml").write_text(PRICES)
    with WireServer(honest) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--prices", "prices.toml", "--out", "a")
        called = call(*line, "--max-cost", "0.01")
        assert (called.code, server.count) == (1, 0)
    assert "0.01" in called.err


def test_a_limit_as_high_as_the_rehearsal_says_ends_no_run() -> None:
    """Even if every reply is as long as it may be, and goes back with the next round."""
    Path("prices.toml").write_text(PRICES + "cache_write = 1250.0\n")
    words = " ".join(["look"] * 60)

    def longest(ask: Ask) -> Answer:
        text = replying()(ask).text if ask.rounds else words
        sent = count_tokens(whole_text(ask)) + PER_MESSAGE * len(ask.messages)
        return Answer(text=text, usage={"input": sent, "cache_write": sent, "output": 64})

    with WireServer(longest) as server:
        more = "--prices", "prices.toml", "--no-cache", "--out", "a", "--max-tokens", "64"
        line = at(server, *DEV, *TEXT_ONLY, *more, preflight=True)
        rehearsed = call(*line, "--dry-run")
        [high] = re.findall(r"^high: .*\$([\d,.]+)$", rehearsed.out, re.M)
        done = call(*line, "--max-cost", str(float(high.replace(",", "")) + 0.005))
    assert done.code == 0, done.err
    assert "cost limit" not in done.err


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:{}/v1",
        "http://10.1.2.3:{}/v1",
        "https://api.example.com:{}/v1",
    ],
)
@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
def test_a_cost_limit_needs_a_price_wherever_the_server_stands(url: str, provider: str) -> None:
    model = "gemini-x" if provider == "google" else "m"
    at_address = ("--model", f"{provider}:{model}", "--base-url", url.format(9))
    called = call(*at_address, *ONE_TASK, "--out", "a", "--max-cost", "0.5", "--yes")
    assert called.code == 2
    assert f"--max-cost needs a price for {provider}:{model}" in called.err
    assert "--prices FILE" in called.err
    assert not Path("a").exists()


def test_thoughts_outside_of_the_reply_are_billed_and_count_towards_the_limit() -> None:
    """As xAI counts: 1,000 in, 20 out, 5,000 thoughts, and 6,020 in all."""
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 20,
        "total_tokens": 6020,
        "completion_tokens_details": {"reasoning_tokens": 5000},
    }
    good = replying()

    def react(ask: Ask) -> Answer:
        answer = good(ask)
        return replace(answer, raw=json.dumps(body_of(ask, answer) | {"usage": usage}).encode())

    Path("prices.toml").write_text('["openai:m"]\ninput = 1.0\noutput = 10.0\n')
    with WireServer(react) as server:
        more = "--prices", "prices.toml", "--out", "a"
        line = at(server, *ONE_TASK, *TEXT_ONLY, *more, preflight=True)
        assert call(*line, "--max-cost", "0.5").code == 1
        # A call costs 0.0512: the limit is used as far as it goes, and not passed, although each
        # costs more than its limit of tokens allows.
        assert server.count == 9
        spent = sum(one["cost"] for one in calls("a"))
    assert spent == pytest.approx(0.0512 * 8), "the first call is not on record"
