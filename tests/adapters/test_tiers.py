"""Tiers: asked for in the provider's words, read from its answers, and priced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adapters import Fatal, Fault, Request, describe
from adapters.conversation import Tier, Usage
from adapters.prices import PriceSheet, Rates
from tests.adapters.support import adapter_for, ask, bodies, request
from tests.servers import Answer, Provider, WireServer, error, no_capacity

SHEET = PriceSheet()


def on(tier: Tier, **more: Any) -> Request:
    return replace(request(**more), tier=tier)


@pytest.mark.parametrize(
    ("provider", "tier", "field", "word"),
    [
        ("openai", "flex", "service_tier", "flex"),
        ("openai", "default", "service_tier", "default"),
        ("openai", "priority", "service_tier", "priority"),
        ("responses", "flex", "service_tier", "flex"),
        ("responses", "priority", "service_tier", "priority"),
        ("anthropic", "default", "service_tier", "standard_only"),
        ("anthropic", "priority", "service_tier", "auto"),
        ("google", "flex", "serviceTier", "flex"),
        ("google", "default", "serviceTier", "standard"),
        ("google", "priority", "serviceTier", "priority"),
    ],
)
def test_a_tier_is_asked_for_in_the_providers_word_and_is_no_parameter_on_record(
    provider: Provider, tier: Tier, field: str, word: str
) -> None:
    with WireServer() as server:
        plain, tiered = ask(adapter_for(provider, server), request(), on(tier))
        without, with_it = bodies(server)
    assert with_it[field] == word
    assert {name: with_it[name] for name in with_it if name != field} == without
    assert tiered.sent == plain.sent
    assert tier in adapter_for(provider, server).info.tiers


@pytest.mark.parametrize(
    ("provider", "word", "tier"),
    [
        ("openai", "default", "default"),
        ("openai", "flex", "flex"),
        ("openai", "fast", "priority"),
        ("openai", "scale", ""),
        ("openai", "auto", ""),
        ("responses", "fast", "priority"),
        ("responses", "scale", ""),
        ("anthropic", "standard", "default"),
        ("anthropic", "priority", "priority"),
        ("anthropic", "batch", "batch"),
        ("google", "STANDARD", "default"),
        ("google", "flex", "flex"),
    ],
)
def test_the_tier_that_served_is_read_from_the_answer(
    provider: Provider, word: str, tier: str
) -> None:
    with WireServer(Answer(tier=word)) as server:
        [reply] = ask(adapter_for(provider, server))
    assert (reply.text, reply.tier) == ("fine", tier)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "responses"])
@pytest.mark.parametrize("word", ["", "<b>", 7, {"a": 1}])
def test_whatever_a_server_says_of_its_tier_loses_no_reply(provider: Provider, word: Any) -> None:
    with WireServer(Answer(tier=word)) as server:
        [reply] = ask(adapter_for(provider, server))
    assert (reply.text, reply.tier) == ("fine", "")


@pytest.mark.parametrize(
    ("provider", "answer"),
    [
        ("openai", no_capacity()),
        ("responses", no_capacity()),
        ("openai", error(429, "Resource Unavailable", retry_after="7")),
        ("openai", error(429, "try later", "resource_unavailable")),
        ("google", error(503, "This model is experiencing high demand", "UNAVAILABLE")),
        ("google", error(429, "Resource unavailable on flex")),
    ],
)
def test_a_tier_without_capacity_is_told_from_too_many_calls(
    provider: Provider, answer: Answer
) -> None:
    with WireServer(answer) as server:
        with pytest.raises(Fault) as full:
            ask(adapter_for(provider, server), on("flex"))
        with pytest.raises(Fault) as usual:
            ask(adapter_for(provider, server), on("default"))
    assert full.value.kind == "unavailable"
    assert full.value.status == answer.status
    assert full.value.retry_after_s == (7.0 if answer.headers else None)
    assert usual.value.kind == ("rate_limit" if answer.status == 429 else "server")


def test_a_rate_limit_on_flex_is_a_rate_limit() -> None:
    limited = WireServer(error(429, "Rate limit reached for requests"))
    with limited as server, pytest.raises(Fault) as fault:
        ask(adapter_for("openai", server), on("flex"))
    assert fault.value.kind == "rate_limit"


def test_a_refused_tier_is_never_left_out_silently() -> None:
    refusal = error(400, "Flex is not available for this model.", "invalid_value", "service_tier")
    with WireServer(refusal) as server:
        with pytest.raises(Fatal, match="Flex is not available for this model"):
            ask(adapter_for("openai", server), on("flex"))
        assert server.count == 1


MILLION = Usage(input=1_000_000, cached=200_000, cache_write=100_000, output=100_000)


@pytest.mark.parametrize(
    ("model", "tier", "dollars"),
    [
        ("gpt-5.6-sol", "", 9.76),
        ("gpt-5.6-sol", "default", 9.76),
        ("gpt-5.6-sol", "flex", 4.88),
        ("gpt-5.6-sol", "batch", 4.88),
        ("gpt-5.6-sol", "priority", 19.52),
        ("claude-sonnet-5-5", "", 2.67),
        ("claude-sonnet-5-5", "batch", 1.335),
        ("gemini-3-flash-preview", "batch", 0.36),
        # The sheet lists no price of cached tokens in batches. OpenAI halves it (0.8 M at 1.25,
        # 0.2 M at 0.625, 0.1 M out at 5); Google does not (0.8 M at 0.05, 0.2 M at 0.01, ...).
        ("gpt-4o", "", 2.0 + 0.25 + 1.0),
        ("gpt-4o", "batch", 1.0 + 0.125 + 0.5),
        ("gpt-4.1", "batch", 0.8 + 0.05 + 0.4),
        ("gemini-2.5-flash-lite", "batch", 0.04 + 0.002 + 0.02),
    ],
)
def test_a_reply_is_priced_by_its_tier(model: str, tier: Tier, dollars: float) -> None:
    info = describe(model).info
    assert SHEET.price_of(info, MILLION, tier=tier) == pytest.approx(dollars, abs=0.006)
    assert SHEET.lists(info, tier or "default")


def test_a_price_that_is_not_listed_is_the_standard_one_unless_the_tier_is_dearer() -> None:
    info = describe("gemini-3.8-flash").info
    assert not SHEET.lists(info, "flex")
    assert SHEET.price_of(info, MILLION, tier="flex") == SHEET.price_of(info, MILLION)
    assert SHEET.price_of(info, MILLION, tier="priority") is None
    assert not SHEET.has_price(info, ["priority"])
    own = PriceSheet({"gemini-3.8-flash": Rates(1.0, 1.0)})
    assert own.price_of(info, MILLION, tier="priority") == pytest.approx(1.1)


def test_who_sells_a_tier_is_known_where_prices_of_its_kind_are_listed() -> None:
    def sells(model: str, tier: Tier) -> bool | None:
        return SHEET.sells(describe(model).info, tier)

    assert sells("gpt-5.4", "flex") is True
    assert sells("gpt-4o", "flex") is False
    assert sells("gpt-4o", "batch") is True
    assert sells("gemini-3.8-flash", "flex") is None
    assert sells("claude-sonnet-5-5", "priority") is None
    assert sells("openai:not-listed", "flex") is None


def test_bounds_are_those_of_the_dearest_tier() -> None:
    info = describe("gpt-5.4").info

    def bound(*tiers: Tier) -> float:
        return SHEET.upper_bound(info, 10_000, 1000, tiers=tiers) or 0.0

    standard, flex, priority = bound(), bound("flex"), bound("flex", "priority")
    assert flex == pytest.approx(standard / 2)
    assert priority == pytest.approx(standard * 2)
