from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from adapters import Fatal, Finish, Usage, describe, user
from tests.adapters.support import (
    SCREENSHOT,
    Pictures,
    adapter_for,
    ask,
    bodies,
    first_round,
    request,
    two_rounds,
)
from tests.servers import Answer, WireServer


@pytest.fixture
def as_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers on this machine count as OpenAI itself."""
    monkeypatch.setattr("adapters.openai.HOSTS", ("127.0.0.1",))


def part(body: Any, message: int, number: int) -> Any:
    return body["messages"][message]["content"][number]


def test_a_reply_is_read_in_full() -> None:
    usage = {"input": 900, "cached": 400, "cache_write": 64, "output": 50, "reasoning": 30}
    with WireServer(Answer("I would click it", usage=usage)) as server:
        started = time.monotonic()
        [reply] = ask(adapter_for("openai", server))
        waited_s = time.monotonic() - started
    assert reply.text == "I would click it"
    assert reply.finish is Finish.STOP
    assert reply.usage == Usage(900, 400, 64, 50, 30)
    assert reply.model == "some-model-2026-01-01"
    assert 0 < reply.latency_s <= waited_s
    assert reply.request_id == "chatcmpl-1"
    assert reply.native is None


@pytest.mark.parametrize(
    ("answer", "text", "finish", "usage"),
    [
        (Answer("x", details=False), "x", Finish.STOP, Usage(100, 0, 0, 10)),
        (Answer("x", usage=None), "x", Finish.STOP, None),
        (Answer("I can't", finish="refusal"), "I can't", Finish.REFUSAL, Usage(100, output=10)),
        (Answer("", finish="length"), "", Finish.LENGTH, Usage(100, output=10)),
    ],
)
def test_thin_and_unfinished_replies(
    answer: Answer, text: str, finish: Finish, usage: Usage | None
) -> None:
    with WireServer(answer) as server:
        [reply] = ask(adapter_for("openai", server))
    assert (reply.text, reply.finish, reply.usage) == (text, finish, usage)


def test_a_local_server_is_told_to_be_greedy_without_a_penalty() -> None:
    with WireServer() as server:
        [reply] = ask(adapter_for("openai", server), request(max_tokens=77))
    [body] = bodies(server)
    assert body["temperature"] == 0
    assert body["repetition_penalty"] == 1.0
    assert body["max_tokens"] == 77
    assert {"max_completion_tokens", "prompt_cache_key", "seed", "top_p"}.isdisjoint(body)
    assert "detail" not in part(body, 1, 0)["image_url"]
    assert reply.sent == {"max_tokens": 77, "temperature": 0.0, "repetition_penalty": 1.0}


def test_what_the_user_asks_for_goes_out() -> None:
    extra = {"repetition_penalty": None, "chat_template_kwargs": {"enable_thinking": False}}
    with WireServer() as server:
        adapter = adapter_for("openai", server, extra_body=extra, detail="high")
        ask(adapter, request(temperature=0.7, top_p=0.8, seed=5, effort="low", thinking_budget=9))
    [body] = bodies(server)
    assert (body["temperature"], body["top_p"], body["seed"]) == (0.7, 0.8, 5)
    assert body["reasoning_effort"] == "low"
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert "repetition_penalty" not in body
    assert part(body, 1, 0)["image_url"]["detail"] == "high"
    assert adapter.info.settings["extra_body"] == extra
    assert adapter.notices() == [
        "openai:some-model has no thinking budget (only an effort): not sent"
    ]


def test_a_conversation_keeps_its_order_and_its_picture() -> None:
    with WireServer() as server:
        two_rounds(adapter_for("openai", server))
    one, two = bodies(server)
    assert [m["role"] for m in two["messages"]] == ["system", "user", "assistant", "user"]
    assert two["messages"][:2] == one["messages"]
    assert two["messages"][2]["content"] == "fine"
    picture = part(one, 1, 0)["image_url"]["url"]
    assert picture == "data:image/jpeg;base64,/9hwaWN0dXJl"


@pytest.mark.usefixtures("as_openai")
@pytest.mark.parametrize(
    ("model", "effort", "temperature", "detail"),
    [
        ("gpt-4o", None, 0, "high"),
        ("gpt-4.1-mini", None, 0, "high"),
        ("gpt-5", None, None, "high"),
        ("gpt-5.4", None, None, "high"),
        ("gpt-5.5", None, None, "original"),
        ("gpt-6-astra", "high", None, "original"),
        ("gpt-6-sol", "none", 0, "original"),
        ("ft:gpt-4o-2024-08-06:me::1", None, 0, "high"),
    ],
)
def test_openai_gets_what_each_model_takes(
    model: str, effort: str | None, temperature: float | None, detail: str
) -> None:
    with WireServer() as server:
        adapter = adapter_for("openai", server, model=model)
        [reply] = ask(adapter, request(effort=effort))
    [body] = bodies(server)
    assert body.get("temperature") == temperature
    assert body.get("reasoning_effort") == effort
    assert body["max_completion_tokens"] == 1024
    assert body["prompt_cache_key"] == "step-1"
    assert {"max_tokens", "repetition_penalty"}.isdisjoint(body)
    assert part(body, 1, 0)["image_url"]["detail"] == detail
    assert adapter.info.settings["detail"] == detail
    assert ("temperature" in reply.sent) == (temperature is not None)


BREAKPOINT = {"mode": "explicit"}


@pytest.mark.usefixtures("as_openai")
def test_a_cache_that_charges_for_writing_is_marked_only_where_two_rounds_pay() -> None:
    with WireServer() as server:
        two_rounds(adapter_for("openai", server, model="gpt-5.6-sol"))
        ask(adapter_for("openai", server, model="gpt-5.6-sol"))
        ask(adapter_for("openai", server, model="gpt-4o"))
    one, two, single, older = bodies(server)
    assert part(one, 1, 1)["prompt_cache_breakpoint"] == BREAKPOINT
    assert two["messages"][:2] == one["messages"], "read at the same mark"
    assert "prompt_cache_breakpoint" not in part(two, 3, 0), "nothing new is written"
    for body in (one, two, single):
        assert body["prompt_cache_options"] == BREAKPOINT
    assert "prompt_cache_breakpoint" not in part(single, 1, 1)
    assert "prompt_cache_options" not in older


@pytest.mark.usefixtures("as_openai")
def test_a_second_round_after_a_first_on_record_writes_nothing() -> None:
    with WireServer() as server:
        [one] = ask(adapter_for("openai", server))
        resumed = adapter_for("openai", server, model="gpt-5.6-sol")
        ask(resumed, request(first_round().then(one, user("Answer."))))
    assert "prompt_cache_breakpoint" not in part(bodies(server)[1], 1, 1)


def test_parallel_calls_run_side_by_side() -> None:
    async def run() -> None:
        await asyncio.gather(*(adapter.ask(request(), Pictures()) for _ in range(20)))
        await adapter.close()

    with WireServer(Answer(delay_s=0.2)) as server:
        adapter = adapter_for("openai", server)
        asyncio.run(run())
        assert server.peak > 10


def test_what_is_declared() -> None:
    info = describe("gpt-4o").info
    assert (info.name, info.price_ref, info.billed) == ("openai:gpt-4o", "gpt-4o", True)
    assert info.context_tokens == 128_000
    assert info.image_rule is not None
    assert info.image_rule.fit(1280, 7400) == (354, 2048)
    served = describe("Qwen/Qwen2.5-VL-7B-Instruct", base_url="http://localhost:8000/v1").info
    assert (served.billed, served.price_ref, served.coordinates) == (False, None, "absolute")
    assert served.settings["endpoint"] == "http://localhost:8000/v1"
    assert served.image_rule is not None
    assert served.image_rule.tokens(SCREENSHOT.width, SCREENSHOT.height) == 1196
    assert describe("llava", base_url="http://localhost:8000/v1").info.image_rule is None


def test_a_detail_that_the_model_does_not_have_is_refused() -> None:
    with pytest.raises(Fatal, match="gpt-4o takes no pictures with detail 'original'"):
        describe("gpt-4o", detail="original")
