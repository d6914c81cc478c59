"""Servers that stream: asked for it once they demand it, and read whenever they do."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from adapters import Fatal, Finish, Usage
from adapters.event_streams import events
from tests.adapters.support import Pictures, adapter_for, ask, request
from tests.adapters.test_ends import chunks
from tests.adapters.test_failures import fault
from tests.adapters.test_malformed_replies import body
from tests.servers import Answer, Ask, WireServer, error

DEMANDS = [
    "This model only support stream mode, please enable the stream parameter to access the model.",
    "Non-streaming requests are not supported",
    "`stream` must be true",
    "parameter.enable_thinking must be set to false for non-streaming calls",
    "Streaming is required for this model",
]


def said(*deltas: Any, finish: str | None = "stop", usage: Any = None, end: bool = True) -> bytes:
    """A stream of the chat protocol."""
    parts: list[Any] = [{"id": "c", "model": "m", "choices": [{"delta": d}]} for d in deltas]
    if finish:
        parts.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        parts.append({"choices": [], "usage": usage})
    text = "".join(f"data: {json.dumps(part)}\n\n" for part in parts)
    return (text + "data: [DONE]\n\n" * end).encode()


def stream(raw: bytes, kind: str = "text/event-stream; charset=utf-8") -> Answer:
    return Answer(raw=raw, content_type=kind)


@pytest.mark.parametrize("words", DEMANDS)
@pytest.mark.parametrize("status", [400, 422])
def test_a_demand_for_streams_is_learnt_once(words: str, status: int) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}

    def react(ask: Ask) -> Answer:
        if not ask.body.get("stream"):
            return error(status, words)
        return stream(said({"content": "fi"}, {"content": "ne"}, usage=usage))

    with WireServer(react) as server:
        adapter = adapter_for("openai", server)
        replies = ask(adapter, request(), request())
    assert [reply.text for reply in replies] == ["fine"] * 2
    assert [reply.usage for reply in replies] == [Usage(9, output=2)] * 2
    assert server.count == 3
    assert server.asks[-1].body["stream_options"] == {"include_usage": True}
    [notice] = adapter.notices()
    assert "answers in streams only" in notice


def test_requests_in_batches_ask_for_no_streams() -> None:
    async def learnt(adapter: Any) -> bytes:
        await adapter.ask(request(), Pictures())
        body, _ = await adapter.body(request(), Pictures())
        await adapter.close()
        return bytes(body)

    def react(ask: Ask) -> Answer:
        fine = stream(said({"content": "fine"}))
        return fine if ask.body.get("stream") else error(400, DEMANDS[0])

    with WireServer(react) as server:
        assert b'"stream' not in asyncio.run(learnt(adapter_for("openai", server)))


def test_a_server_without_usage_in_streams_is_asked_for_none() -> None:
    def react(ask: Ask) -> Answer:
        if not ask.body.get("stream"):
            return error(400, DEMANDS[0])
        if "stream_options" in ask.body:
            return error(400, "stream_options: Extra inputs are not permitted")
        return stream(said({"content": "fine"}))

    with WireServer(react) as server:
        [reply] = ask(adapter_for("openai", server))
    assert (reply.text, reply.usage, server.count) == ("fine", None, 3)


def test_a_server_that_is_never_content_ends_in_one_line() -> None:
    with WireServer(error(400, DEMANDS[0])) as server, pytest.raises(Fatal, match="stream mode"):
        ask(adapter_for("openai", server))
    assert server.count == 2


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json", "text/plain"])
@pytest.mark.parametrize("ends", ["\n\n", "\r\n\r\n", "\r\r", "\n"])
@pytest.mark.parametrize("before", ["", ": keep alive\n\n", "\ufeff", "event: message\n"])
def test_a_stream_in_answer_to_an_ordinary_request_is_read(
    kind: str, ends: str, before: str
) -> None:
    raw = said(
        {"role": "assistant", "content": ""},
        {"reasoning_content": "hm, "},
        {"reasoning_content": "\u2028so"},
        {"content": "cl\u2028", "refusal": None},
        {"content": "ick"},
        usage={"prompt_tokens": 9, "completion_tokens": 2},
    )
    raw = (before + raw.decode().replace("\n\n", ends)).encode()
    with WireServer(stream(raw, kind)) as server:
        [reply] = ask(adapter_for("openai", server))
    assert (reply.text, reply.reasoning) == ("cl\u2028ick", "hm, \u2028so")
    assert (reply.finish, reply.usage, reply.model) == (Finish.STOP, Usage(9, output=2), "m")


def test_pieces_in_other_forms_are_put_together() -> None:
    raw = said(
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
        {"content": [{"type": "text", "text": "cl"}]},
        {"content": "ick"},
        finish="length",
    ).replace(b'"index": 0', b'"index": "0"')
    with WireServer(stream(raw)) as server:
        [reply] = ask(adapter_for("openai", server))
    assert (reply.text, reply.reasoning, reply.finish) == ("click", "hm", Finish.LENGTH)


@pytest.mark.parametrize(
    "raw",
    [
        said({"content": "half"}, finish=None, end=False),
        b"data: {broken\n\n",
        b"data: [1]\n\n",
        b"data:\n\n",
        b": nothing\n\n",
        b"data: " + b"[" * 100_000 + b"\n\n",
        said(finish="stop").replace(b'"choices"', b'"choice"'),
    ],
)
def test_a_stream_that_breaks_off_is_malformed(raw: bytes) -> None:
    assert fault("openai", stream(raw)).kind == "malformed"


def test_an_error_within_a_stream_is_judged() -> None:
    begins = said({"content": "half"}, finish=None, end=False)
    late = b'data: {"error": {"code": 429, "message": "slow down"}}\n\n'
    failed = fault("openai", stream(begins + late))
    assert (failed.kind, failed.status) == ("rate_limit", 200)
    assert fault("openai", stream(late)).kind == "rate_limit"
    named = b'event: error\ndata: {"code": 502, "message": "gone"}\n\n'
    assert fault("openai", stream(named)).kind == "server"
    refused = b'data: {"error": {"code": 400, "message": "not a picture"}}\n\n'
    with WireServer(stream(refused)) as server:
        [reply] = ask(adapter_for("openai", server))
    assert reply.finish is Finish.PROVIDER_REFUSED
    assert "not a picture" in reply.refusal


def test_the_streams_of_the_messages_api_are_read() -> None:
    start = {"id": "msg_1", "model": "claude", "content": [], "usage": {"input_tokens": 9}}
    told: list[tuple[str, Any]] = [
        ("message_start", {"message": {**start, "stop_reason": None}}),
        (
            "content_block_start",
            {"index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        ),
        ("content_block_delta", {"delta": {"type": "thinking_delta", "thinking": "hm"}}),
        ("content_block_delta", {"delta": {"type": "signature_delta", "signature": "c2ln"}}),
        ("content_block_stop", {"index": 0}),
        ("ping", {}),
        ("content_block_start", {"index": 1, "content_block": {"type": "text", "text": ""}}),
        ("content_block_delta", {"delta": {"type": "text_delta", "text": "cl"}}),
        ("content_block_delta", {"delta": {"type": "text_delta", "text": "ick"}}),
        ("message_delta", {"delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 2}}),
        ("message_stop", {}),
    ]
    lines = [
        f"event: {kind}\ndata: {json.dumps({'type': kind, **rest})}\n\n" for kind, rest in told
    ]
    with WireServer(stream("".join(lines).encode())) as server:
        [reply] = ask(adapter_for("anthropic", server))
    assert (reply.text, reply.reasoning, reply.finish) == ("click", "hm", Finish.LENGTH)
    assert reply.usage == Usage(9, output=2)
    assert reply.native == [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "click"},
    ]
    torn = "".join(lines[:-2]).encode()
    assert fault("anthropic", stream(torn)).kind == "malformed"
    overloaded = b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n\n'
    assert fault("anthropic", stream(overloaded)).kind == "server"


def test_a_stream_that_ends_as_a_plain_reply_does_says_the_same() -> None:
    plain = body("openai")
    with WireServer([Answer(raw=json.dumps(plain).encode()), stream(chunks(plain))]) as server:
        one, other = ask(adapter_for("openai", server), request(), request())
    assert (one.text, one.usage, one.finish) == (other.text, other.usage, other.finish)


def test_events_over_several_lines_are_one() -> None:
    assert list(events(b'data: {"a":\ndata: 1}\n\ndata: {"b": 2}\n')) == [{"a": 1}, {"b": 2}]
    assert list(events(b"data: [DONE]\n\n")) == [{"done": True}]
