"""Replies of the Responses wire: how they end, fail, and differ from what is expected."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters import Fatal, Fault, Finish, Reply, Usage
from tests.adapters.support import adapter_for, ask, request
from tests.adapters.test_malformed_replies import body
from tests.servers import Answer, WireServer, error


def raw(**fields: Any) -> Answer:
    """A good answer in which some fields are others."""
    return Answer(raw=json.dumps(body("responses") | fields).encode())


def reply_to(answer: Answer, *, model: str = "", **generation: Any) -> Reply:
    with WireServer(answer) as server:
        [reply] = ask(adapter_for("responses", server, model=model), request(**generation))
    return reply


def message(*content: Any, **fields: Any) -> Any:
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": list(content),
    } | fields


def said(text: str) -> Any:
    return {"type": "output_text", "text": text, "annotations": []}


def test_a_reply_is_read_in_full() -> None:
    usage = {"input": 900, "cached": 400, "cache_write": 64, "output": 50, "reasoning": 30}
    reply = reply_to(Answer("I would click it", usage=usage, thinking="hm", tier="flex"))
    assert (reply.text, reply.reasoning, reply.finish) == ("I would click it", "hm", Finish.STOP)
    assert reply.usage == Usage(900, 400, 64, 50, 30)
    assert (reply.model, reply.request_id, reply.tier) == (
        "some-model-2026-01-01",
        "resp_1",
        "flex",
    )
    assert reply.sent == {
        "max_output_tokens": 1024,
        "temperature": 0.0,
        "repetition_penalty": 1.0,
        "store": False,
    }


ENDS = [
    ({"status": "completed"}, Finish.STOP),
    ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
    ({"status": None, "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
    ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "filter"),
    *(({"status": word}, "server") for word in ("in_progress", "queued", "cancelled", "odd")),
    ({"status": "incomplete"}, "server"),
    ({"status": "incomplete", "incomplete_details": ["x"]}, "server"),
    *(
        ({"status": "incomplete", "incomplete_details": {"reason": word}}, "server")
        for word in ("max_messages", "steered", "")
    ),
    ({"status": "failed"}, "server"),
    ({"status": "failed", "error": {"code": "server_error", "message": "x"}}, "server"),
    ({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "x"}}, "rate_limit"),
    ({"status": "failed", "error": {"code": "vector_store_timeout", "message": "x"}}, "server"),
    ({"status": "failed", "error": {"code": 7}}, "server"),
    ({"status": "completed", "error": {"code": "server_error", "message": "x"}}, "server"),
]


@pytest.mark.parametrize("output", [None, []], ids=["text", "nothing"])
@pytest.mark.parametrize(("fields", "end"), ENDS)
def test_every_end_is_a_finish_or_a_fault(fields: Any, end: str, output: Any) -> None:
    answer = raw(**fields) if output is None else raw(**fields, output=output)
    finishes = {"length": Finish.LENGTH, "filter": Finish.CONTENT_FILTER, "stop": Finish.STOP}
    if end in finishes:
        reply = reply_to(answer)
        assert (reply.text, reply.finish) == ("click" if output is None else "", finishes[end])
        return
    with pytest.raises(Fault) as caught:
        reply_to(answer)
    assert (caught.value.kind, caught.value.status) == (end, 200)


@pytest.mark.parametrize(
    "code",
    [
        *("invalid_prompt", "invalid_image", "image_parse_error", "empty_image_file"),
        *("image_content_policy_violation", "bio_policy", "misalignment_policy_violation"),
    ],
)
def test_a_reply_that_failed_because_of_its_prompt_is_refused_and_billed(code: str) -> None:
    failed = {"code": code, "message": "your picture\x1b[2J is odd"}
    reply = reply_to(raw(status="failed", error=failed, output=[]))
    assert (reply.text, reply.finish) == ("", Finish.PROVIDER_REFUSED)
    assert f"answered 200 ({code}): your picture" in reply.refusal
    assert "\x1b" not in reply.refusal
    assert reply.usage == Usage(100, output=10)


def test_a_refusal_part_is_a_refusal_beside_any_text() -> None:
    refusal = {"type": "refusal", "refusal": "I can't"}
    for content in ([refusal], [said("Well."), refusal], [refusal, said("Well.")]):
        reply = reply_to(raw(output=[message(*content)]))
        assert (reply.text, reply.finish) == ("I can't", Finish.REFUSAL)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 90, "output_tokens": 5}, Usage(90, output=5)),
        (
            {"input_tokens": 90, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 7}},
            Usage(90, 7, output=5),
        ),
        ({"input_tokens": float("nan"), "output_tokens": 5}, None),
        ({"input_tokens": 90, "output_tokens": float("inf")}, None),
        ({"input_tokens": 10**30, "output_tokens": -5}, None),
        ("none", None),
        (None, None),
    ],
)
def test_usage_may_be_thin_or_impossible(usage: Any, expected: Usage | None) -> None:
    """vLLM has no `cache_write_tokens`, which the SDK's model demands."""
    reply = reply_to(raw(usage=usage))
    assert (reply.text, reply.usage) == ("click", expected)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "[" * 100_000},
        {"type": ["message"], "content": [said("no")]},
        {"type": None},
        {"no": "type"},
        {},
        {"type": "reasoning", "summary": {"text": ["x"]}, "encrypted_content": 7},
        {"type": "message", "role": "assistant", "content": []},
        {"type": "message", "role": "assistant", "content": [{"type": "audio", "data": [1]}]},
    ],
)
def test_items_that_nobody_expects_lose_no_reply(item: Any) -> None:
    plain = body("responses")
    plain["output"].append(item)
    reply = reply_to(Answer(raw=json.dumps(plain).encode()))
    assert (reply.text, reply.finish) == ("click", Finish.STOP)
    assert reply.native == plain["output"]


def test_a_reply_with_only_what_is_needed_is_enough() -> None:
    thin = {"output": [message(said("click"))]}
    reply = reply_to(Answer(raw=json.dumps(thin).encode()))
    assert (reply.text, reply.finish, reply.usage) == ("click", Finish.STOP, None)


@pytest.mark.parametrize(
    ("words", "param"),
    [
        (
            "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
            "input",
        ),
        (
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
            "input",
        ),
        ("Item with id 'rs_1' not found: include it, or set `store` to true.", ""),
        ("The encrypted content gAAA... could not be verified.", ""),
    ],
)
def test_what_is_wrong_with_an_echo_ends_the_run_and_settles_no_unit(
    words: str, param: str
) -> None:
    with WireServer(error(400, words, param=param)) as server:
        with pytest.raises(Fatal) as caught:
            ask(adapter_for("responses", server), request(effort="low"))
        assert server.count == 1, "no parameter of ours was left out instead"
    assert words[:40] in str(caught.value)


def test_a_stream_is_read_where_a_server_has_nothing_else() -> None:
    def events(*kinds: tuple[str, Any]) -> Answer:
        lines = [f"event: {k}\ndata: {json.dumps({'type': k, **more})}\n\n" for k, more in kinds]
        return Answer(raw="".join(lines).encode(), content_type="text/event-stream")

    created = ("response.created", {"response": body("responses") | {"output": []}})
    delta = ("response.output_text.delta", {"delta": "cl"})
    done = ("response.completed", {"response": body("responses")})
    assert reply_to(events(created, delta, done)).text == "click"
    for torn, kind in (
        (events(created, delta), "malformed"),
        (events(created, ("error", {"code": "rate_limit_exceeded", "message": "x"})), "rate_limit"),
    ):
        with pytest.raises(Fault) as caught:
            reply_to(torn)
        assert caught.value.kind == kind
