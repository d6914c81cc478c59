from __future__ import annotations

from typing import Any

import pytest

from adapters import Fatal, Finish, Usage, describe, make
from tests.adapters.support import KEY, adapter_for, ask, bodies, first_round, request, two_rounds
from tests.servers import Answer, WireServer

EPHEMERAL = {"type": "ephemeral"}


def test_a_reply_is_read_in_full() -> None:
    usage = {"input": 900, "cached": 400, "cache_write": 64, "output": 50, "reasoning": 30}
    with WireServer(Answer("click", usage=usage, thinking="hmm")) as server:
        [reply] = ask(adapter_for("anthropic", server))
    assert (reply.text, reply.finish) == ("click", Finish.STOP)
    assert reply.usage == Usage(900, 400, 64, 50, 30), "input counts the cache as well"
    assert reply.model == "claude-sonnet-5-5-20260101"
    assert reply.request_id == "msg_1"


@pytest.mark.parametrize(
    ("answer", "finish"),
    [
        (Answer("x", details=False), Finish.STOP),
        (Answer("I can't", finish="refusal"), Finish.REFUSAL),
        (Answer("", finish="refusal"), Finish.REFUSAL),
        (Answer("half", finish="length"), Finish.LENGTH),
        (Answer("half", finish="too_long"), Finish.LENGTH),
        (Answer("", finish="too_long"), Finish.TOO_LONG),
    ],
)
def test_thin_and_unfinished_replies(answer: Answer, finish: Finish) -> None:
    with WireServer(answer) as server:
        [reply] = ask(adapter_for("anthropic", server))
    assert (reply.text, reply.finish) == (answer.text, finish)
    assert reply.usage == Usage(100, output=10)


def test_the_request_says_only_what_the_model_takes() -> None:
    with WireServer() as server:
        [reply] = ask(adapter_for("anthropic", server))
    [body] = bodies(server)
    assert set(body) == {"model", "max_tokens", "messages", "system"}
    assert body["system"] == [{"type": "text", "text": "You operate websites."}]
    image, text = body["messages"][0]["content"]
    assert image["transformations"] == {"oversized_image": "error"}
    assert image["source"]["data"] == "/9hwaWN0dXJl"
    assert text == {"type": "text", "text": "What would you do?"}
    assert reply.sent == {"max_tokens": 1024}
    headers = server.asks[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["x-api-key"] == KEY, "for gateways that know the older header"
    assert server.asks[0].path == "/v1/messages"


def test_an_address_that_ends_in_v1_is_meant_without() -> None:
    with WireServer() as server:
        adapter = adapter_for("anthropic", server)
        assert ask(adapter)[0].text == "fine"
        ask(make("claude-haiku-5-5", base_url=server.base_url("openai"), api_key=KEY))
    assert [a.path for a in server.asks] == ["/v1/messages"] * 2


@pytest.mark.filterwarnings("ignore:The model 'claude")
@pytest.mark.parametrize(
    ("model", "wish", "sent"),
    [
        ("claude-sonnet-5-5", {"effort": "low"}, {"output_config": {"effort": "low"}}),
        (
            "claude-opus-4-8",
            {"effort": "high"},
            {"output_config": {"effort": "high"}, "thinking": {"type": "adaptive"}},
        ),
        ("claude-sonnet-5", {"effort": "none"}, {"thinking": {"type": "disabled"}}),
        ("claude-sonnet-5", {"thinking_budget": 0}, {"thinking": {"type": "disabled"}}),
        (
            "claude-sonnet-4-5",
            {"thinking_budget": 2000, "max_tokens": 3000},
            {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        ),
        ("claude-sonnet-4-6", {"temperature": 0.0, "top_p": 0.5}, {"temperature": 0, "top_p": 0.5}),
    ],
)
def test_thinking_and_sampling(model: str, wish: dict[str, Any], sent: dict[str, Any]) -> None:
    with WireServer() as server:
        ask(adapter_for("anthropic", server, model=model), request(**wish))
    [body] = bodies(server)
    fixed = {"model", "max_tokens", "messages", "system"}
    assert {name: value for name, value in body.items() if name not in fixed} == sent


def test_a_seed_is_reported_as_not_sent() -> None:
    with WireServer() as server:
        adapter = adapter_for("anthropic", server)
        ask(adapter, request(seed=1), request(seed=1))
    assert adapter.notices() == [
        "anthropic:claude-sonnet-5-5: Anthropic's API has no seed: not sent"
    ]


def test_a_budget_that_leaves_nothing_to_say_is_refused() -> None:
    with WireServer() as server, pytest.raises(Fatal, match="below --max-tokens"):
        ask(adapter_for("anthropic", server), request(thinking_budget=1024))
    assert server.count == 0


def test_thinking_goes_back_unchanged() -> None:
    with WireServer(Answer("click", thinking="hmm")) as server:
        one, _ = two_rounds(adapter_for("anthropic", server))
    sent_back = bodies(server)[1]["messages"][1]
    assert sent_back == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hmm", "signature": "c2ln"},
            {"type": "text", "text": "click"},
        ],
    }
    assert one.native == sent_back["content"]


def test_the_shared_prefix_is_marked_where_two_rounds_pay() -> None:
    with WireServer() as server:
        two_rounds(adapter_for("anthropic", server))
        ask(adapter_for("anthropic", server))
    one, two, single = bodies(server)
    assert one["messages"][0]["content"][-1]["cache_control"] == EPHEMERAL
    assert two["messages"][0] == one["messages"][0], "read at the same mark"
    assert "cache_control" not in str(two["messages"][2])
    assert "cache_control" not in str(single)


def test_a_prefix_below_the_models_minimum_is_not_marked() -> None:
    short = request(first_round(), continues=True)
    with WireServer() as server:
        ask(adapter_for("anthropic", server), short)
        ask(adapter_for("anthropic", server, model="claude-haiku-4-5"), short)
    marked, unmarked = (str(body) for body in bodies(server))
    assert "cache_control" in marked
    assert "cache_control" not in unmarked


def test_what_is_declared() -> None:
    info = describe("claude-opus-5-5").info
    assert (info.provider, info.price_ref, info.billed) == ("anthropic", "claude-opus-5-5", True)
    assert info.context_tokens == 1_000_000
    assert info.text_factor == 1.2
    assert info.image_rule is not None
    assert info.image_rule.fit(1280, 20_000)[1] <= 2576
