"""Runs on a tier of the provider: the same run, at the price of what served it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from harness.planning.plan import plan_run
from harness.session.run import engine_policy
from harness.settings import directory_name, read_settings
from tests.harness.commands.tool import (
    ONE_TASK,
    TEXT_ONLY,
    Called,
    at,
    call,
    calls,
    replying,
    summary,
)
from tests.servers import Answer, Ask, Reaction, WireServer, no_capacity

KEY = "sk-test-0123456789"
PER_CALL = {"default": 2.5e-6 * 100 + 15e-6 * 10, "flex": (2.5e-6 * 100 + 15e-6 * 10) / 2}
"""Dollars for a call of 100 tokens in and 10 out to gpt-5.4, by the vendor's page (10/2026)."""


def serving(room: bool = True) -> Reaction:
    """A server that says which tier served, and may have no capacity on flex."""
    good = replying()

    def react(ask: Ask) -> Answer:
        if ask.tier == "flex" and not room:
            return no_capacity()
        return replace(good(ask), tier=ask.tier or "default")

    return react


@pytest.fixture
def official(monkeypatch: pytest.MonkeyPatch) -> None:
    """The local server passes for OpenAI's own address, whose prices are known."""
    monkeypatch.setattr("adapters.openai.HOSTS", ("127.0.0.1",))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def gpt(server: WireServer, *args: str | Path) -> Called:
    line = [arg if arg != "openai:m" else "gpt-5.4" for arg in at(server, *ONE_TASK, *TEXT_ONLY)]
    return call(*line, "--no-cache", *args)


@pytest.mark.usefixtures("official")
def test_a_run_on_flex_costs_what_flex_costs_and_counts_its_replies() -> None:
    with WireServer(serving()) as server:
        done = gpt(server, "--tier", "flex", "--max-cost", "5", "--out", "a")
        assert (done.code, server.count_on("flex")) == (0, 14)
    assert "tier:     flex" in done.err
    lines = calls("a")
    assert {line["reply"]["tier"] for line in lines} == {"flex"}
    assert [line["cost"] for line in lines] == pytest.approx([PER_CALL["flex"]] * 14)
    assert "service_tier" not in str([line["reply"]["sent"] for line in lines])
    assert summary("a")["by_tier"] == {"flex": 14}
    assert summary("a")["cost"] == pytest.approx(14 * PER_CALL["flex"])
    assert "served: 14 on flex" in done.out
    table = call("report", "a", "--table", "cost")
    told = re.sub(r"\s+", " ", table.out)
    assert re.search(r"by the tier that served, as billed: flex: 14 calls, \$0\.0028\.", told)


@pytest.mark.usefixtures("official")
def test_a_run_goes_on_with_another_tier_and_uses_what_the_first_one_cached() -> None:
    stop_after = 6

    def react(ask: Ask) -> Answer:
        return serving(room=server.count_on("flex") <= stop_after)(ask)

    with WireServer(react) as server:
        begun = gpt(server, "--tier", "flex", "--adapter-option", "attempts=1", "--out", "a")
        assert begun.code == 1
        flex = len(calls("a"))
        assert 0 < flex <= stop_after
        assert gpt(server, "--out", "a").code == 0
    served = [line["reply"]["tier"] for line in calls("a")]
    assert (served.count("flex"), served.count("default")) == (flex, 14 - flex)
    assert summary("a")["by_tier"] == {"default": 14 - flex, "flex": flex}
    expected = flex * PER_CALL["flex"] + (14 - flex) * PER_CALL["default"]
    assert summary("a")["cost"] == pytest.approx(expected)


def test_a_tier_is_in_neither_the_name_of_a_run_nor_the_key_of_the_cache() -> None:
    plain, tiered = (
        read_settings({"model": "gpt-5.4", "benchmark": "sample", "max_tokens": 1024, **more})
        for more in ({}, {"tier": "flex", "attempts": 3, "patience_s": 9})
    )
    assert directory_name(plain) == directory_name(tiered)
    with WireServer(serving()) as server:
        first = at(server, *ONE_TASK, *TEXT_ONLY, "--out", "a", "--tier", "flex")
        second = at(server, *ONE_TASK, *TEXT_ONLY, "--out", "b", "--cache", preflight=True)
        assert (call(*first).code, call(*second).code) == (0, 0)
        assert server.count == 15
        third = call(*at(server, *ONE_TASK, *TEXT_ONLY, "--out", "c", "--tier", "default"))
    assert all(line["from_cache"] for line in calls("b"))
    assert "replies came from" not in third.err
    # Nothing was served on any tier in the second run.
    assert "by_tier" not in summary("b")


@pytest.mark.usefixtures("official")
def test_what_is_not_as_wished_is_told_once() -> None:
    def elsewhere(ask: Ask) -> Answer:
        return replace(replying()(ask), tier="default")

    with WireServer(elsewhere) as server:
        done = gpt(server, "--tier", "priority", "--out", "a")
        assert done.err.count("replies came from the tier default, not priority") == 1
        server.react = replying()
        silent = gpt(server, "--tier", "flex", "--out", "b")
    said = "does not say which tier serves its replies; the standard price is counted"
    assert silent.err.count(said) == 1
    assert summary("b")["cost"] == pytest.approx(14 * PER_CALL["default"])


@pytest.mark.usefixtures("official")
@pytest.mark.parametrize(
    ("asked", "served", "dollars"),
    [
        ((), "priority", 1000 * 5e-6 + 4000 * 30e-6),
        (("--tier", "flex"), "default", 1000 * 2.5e-6 + 4000 * 15e-6),
        (("--tier", "flex"), "", 1000 * 2.5e-6 + 4000 * 15e-6),
    ],
)
def test_the_cost_limit_holds_on_a_dearer_tier_than_was_asked_for(
    asked: tuple[str, ...], served: str, dollars: float
) -> None:
    def dear(ask: Ask) -> Answer:
        return replace(replying(usage={"input": 1000, "output": 4000})(ask), tier=served)

    limit = 7.5 * dollars
    with WireServer(dear) as server:
        line = ("--max-tokens", "4000", "--concurrency", "1", "--max-cost", str(limit))
        assert gpt(server, *line, *asked, "--out", "a").code == 1
    paid = [line["cost"] for line in calls("a")]
    assert paid == pytest.approx([dollars] * len(paid))
    assert limit - 3 * dollars < sum(paid) <= limit


def test_a_price_that_is_not_listed_is_told_before_anything_is_sent() -> None:
    line = ("--model", "gemini-3.8-flash", *ONE_TASK, *TEXT_ONLY, "--dry-run", "--tier", "flex")
    rehearsed = call(*line)
    assert rehearsed.code == 0
    told = "no price is listed for flex; the standard one is counted, an upper bound"
    assert told in rehearsed.err
    assert "whether google:gemini-3.8-flash is served on flex, its provider will say" in (
        rehearsed.err
    )


OPENAI, GPT = ("--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1"), ("-m", "gpt-5.4")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ((*GPT, "--tier", "cheap"), "expected one of default, flex, priority, batch"),
        (("-m", "gpt-4o", "--tier", "flex"), "openai:gpt-4o is not sold on it (but on default"),
        (
            ("-m", "claude-sonnet-5-5", "--tier", "flex"),
            "is not served on it (its tiers are default, priority, batch)",
        ),
        (("-m", "lexical", "--tier", "flex"), "--tier has no effect on the policy 'lexical'"),
        (("-m", "qwen2-vl", "--tier", "flex"), "which runs on this machine; leave it out"),
        (
            ("-m", "scripted:script.json", "--tier", "flex"),
            "is not served on it, nor on any other tier; leave it out",
        ),
        (
            (*OPENAI, "--tier", "flex", "--adapter-option", 'extra_body={"service_tier":"flex"}'),
            "--tier flex: extra_body names a service_tier, too; leave it out of --adapter-option",
        ),
        (
            ("-m", "gemini-3.8-flash", "--tier", "priority", "--max-cost", "1"),
            "--max-cost needs a price for google:gemini-3.8-flash",
        ),
    ],
)
def test_tiers_that_cannot_be_had_are_refused_in_one_line(
    line: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    Path("script.json").write_text('{"text": "fine"}')
    refused = call(*line, *ONE_TASK, *TEXT_ONLY, "--out", "a")
    assert refused.code == 2
    assert said in refused.err.splitlines()[-1]
    assert "Traceback" not in refused.err
    assert KEY not in refused.err
    assert not Path("a").exists()


@pytest.mark.parametrize(
    ("given", "timeout_s", "attempts", "patience_s"),
    [
        ({}, 120, 8, 300),
        ({"tier": "priority"}, 120, 8, 300),
        ({"tier": "flex"}, 900, 40, 3600),
        ({"tier": "flex", "timeout": 60, "attempts": 5, "patience": 10}, 60, 5, 10),
        ({"attempts": 3, "patience": 0}, 120, 3, 0),
    ],
)
def test_flex_is_given_time_unless_the_user_says_how_much(
    given: dict[str, object], timeout_s: float, attempts: int, patience_s: float
) -> None:
    asked = read_settings({"model": "gpt-5.4", "benchmark": "sample", **given})
    settings = plan_run(asked, asks=False).settings
    retry = engine_policy(settings).retry
    assert (settings.timeout_s, retry.attempts, retry.patience_s) == (
        timeout_s,
        attempts,
        patience_s,
    )


def test_what_a_call_may_cost_is_that_of_the_dearest_tier_asked_for() -> None:
    def most(*tier: str) -> float:
        told = call("--model", "gpt-5.4", *ONE_TASK, *TEXT_ONLY, "--dry-run", *tier).err
        [dollars] = re.findall(r"at most \$([\d.]+) a call", told)
        return float(dollars)

    usual = most()
    assert most("--tier", "flex") == pytest.approx(usual / 2, rel=0.01)
    assert most("--tier", "priority") == pytest.approx(2 * usual, rel=0.01)
    # All but the call beforehand, which is not sent in a batch.
    assert usual / 2 < most("--tier", "batch") < usual
