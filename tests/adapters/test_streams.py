"""Servers that stream: asked for it once they demand it, and read whenever they do."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from adapters import Fatal, Finish, Usage
from adapters.event_streams import events
from tests.adapters.support import Pictures, adapter_for, ask, request
from tests.adapters.test_failures import fault
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
    assert "does not answer without a stream" in notice


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


def part(text: str, **more: Any) -> dict[str, Any]:
    """A chunk of Gemini's streams with a piece of the reply."""
    content = {"role": "model", "parts": [{"text": text, **more}]}
    return {"candidates": [{"index": 0, "content": content}], "responseId": "r"}


def ended(text: str) -> dict[str, Any]:
    """A chunk with a piece that also says why the reply ended, as each one of older models."""
    [candidate] = part(text)["candidates"]
    return part(text) | {"candidates": [candidate | {"finishReason": "STOP"}]}


OVER: dict[str, Any] = {"candidates": [{"index": 0, "finishReason": "STOP"}]}
SUMS: dict[str, Any] = {
    "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2, "totalTokenCount": 11}
}
SLOW: dict[str, Any] = {"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}}


def gemini(*chunks: Any, end: str = "") -> Answer:
    """What `streamGenerateContent?alt=sse` answers."""
    lines = [f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks]
    return stream("".join([*lines, end]).encode())


def array(*chunks: Any) -> Answer:
    """The same without `alt=sse`."""
    return stream(json.dumps(chunks, indent=1).encode(), "application/json; charset=UTF-8")


SO_FAR: dict[str, Any] = {"usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9}}
CHUNKS: dict[str, list[Any]] = {
    "all in the last": [part("cl"), part("ick") | SUMS | {"modelVersion": "m"}, OVER],
    "usage alone in the last": [part("cl"), part("ick"), OVER | {"modelVersion": "m"}, SUMS],
    "usage in each": [part("cl") | SO_FAR, part("ick") | SO_FAR, OVER | SUMS],
    "usage in pieces": [
        part("click") | SO_FAR,
        OVER,
        {"usageMetadata": {"candidatesTokenCount": 2}},
    ],
    "an end in each": [ended("cl"), ended("ick") | SUMS],
    "nothing in some": [
        *({}, part(""), {"candidates": []}, part("click"), {"candidates": None}, OVER),
        {"promptFeedback": {"safetyRatings": []}} | SUMS,
    ],
    "other candidates": [
        part("click"),
        {"candidates": [{"index": 1, "finishReason": "SAFETY"}]},
        OVER | SUMS,
    ],
}


@pytest.mark.parametrize("how", [gemini, array])
@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_streams_of_gemini_are_read(how: Any, chunks: list[Any]) -> None:
    with WireServer(how(*chunks)) as server:
        [reply] = ask(adapter_for("google", server))
    assert (reply.text, reply.finish, reply.usage) == ("click", Finish.STOP, Usage(9, output=2))
    assert reply.request_id == "r"


def test_a_stream_of_gemini_keeps_thoughts_and_signed_parts_as_they_came() -> None:
    told = [part("hm", thought=True), part("cl", thoughtSignature="c2ln"), part("ick"), OVER]
    with WireServer(gemini(*told, end="data: [DONE]\n\n")) as server:
        [reply] = ask(adapter_for("google", server))
    assert (reply.text, reply.reasoning) == ("click", "hm")
    assert reply.native == {
        "role": "model",
        "parts": [
            {"text": "hm", "thought": True},
            {"text": "cl", "thoughtSignature": "c2ln"},
            {"text": "ick"},
        ],
    }


@pytest.mark.parametrize(
    ("chunks", "finish"),
    [
        ([part("half"), {"candidates": [{"finishReason": "MAX_TOKENS"}]}], Finish.LENGTH),
        ([part("half"), {"candidates": [{"finishReason": "SAFETY"}]}], Finish.CONTENT_FILTER),
        ([{"promptFeedback": {"blockReason": "OTHER"}}, SUMS], Finish.CONTENT_FILTER),
    ],
)
def test_a_stream_of_gemini_ends_as_its_last_chunk_says(chunks: list[Any], finish: Finish) -> None:
    with WireServer(gemini(*chunks)) as server:
        [reply] = ask(adapter_for("google", server))
    assert reply.finish is finish


@pytest.mark.parametrize("how", [gemini, array])
@pytest.mark.parametrize(
    ("chunks", "kind"),
    [
        ([part("half"), SLOW, OVER], "rate_limit"),
        ([part("half"), SLOW], "rate_limit"),
        ([SLOW], "rate_limit"),
        (
            [part("half"), {"candidates": [{"error": {"code": 502, "message": "gone"}}]}, OVER],
            "server",
        ),
        ([part("half"), {"candidates": [{"finishReason": "OTHER"}]}], "server"),
        ([part("half")], "malformed"),
        ([part("half"), SUMS, {"promptFeedback": {"safetyRatings": []}}], "malformed"),
        ([{"candidates": [{"content": "click"}]}, OVER], "malformed"),
        ([{"candidates": [{"content": {"parts": "click"}}]}, OVER], "malformed"),
        ([{"candidates": [{"content": {"parts": [{"text": 7}]}}]}, OVER], "malformed"),
        ([part("half"), ["x"], OVER], "malformed"),
        ([{}], "malformed"),
    ],
)
def test_a_stream_of_gemini_that_fails_is_a_fault(how: Any, chunks: list[Any], kind: str) -> None:
    assert fault("google", how(*chunks)).kind == kind


@pytest.mark.parametrize(
    "refusal",
    [
        *(error(400, words) for words in DEMANDS),
        error(501, "generateContent is not supported, use streamGenerateContent"),
        error(404, "models/m is only supported for streamGenerateContent"),
        Answer(status=404, raw=b"404 page not found"),
        Answer(status=404, raw=b'{"detail": "Not Found"}'),
        Answer(status=405, raw=b""),
    ],
)
def test_a_gateway_with_nothing_but_gemini_streams_is_asked_for_them(refusal: Answer) -> None:
    def react(ask: Ask) -> Answer:
        return gemini(part("fine"), OVER | SUMS) if "stream" in ask.path else refusal

    with WireServer(react) as server:
        adapter = adapter_for("google", server)
        replies = ask(adapter, request(temperature=0.5), request(temperature=0.5))
    assert [reply.text for reply in replies] == ["fine"] * 2
    plain, *streamed = server.asks
    path = "/v1/models/gemini-3.8-flash:streamGenerateContent?alt=sse"
    assert [one.path for one in streamed] == [path] * 2
    assert all(one.body == plain.body for one in streamed)
    [notice] = adapter.notices()
    assert "does not answer without a stream" in notice


def test_an_address_without_gemini_ends_in_one_line() -> None:
    with WireServer(Answer(status=404, raw=b"nothing here")) as server:
        with pytest.raises(Fatal, match="answered 404: nothing here"):
            ask(adapter_for("google", server))
        assert server.count == 2


def test_events_over_several_lines_are_one() -> None:
    assert list(events(b'data: {"a":\ndata: 1}\n\ndata: {"b": 2}\n')) == [{"a": 1}, {"b": 2}]
    assert list(events(b"data: [DONE]\n\n")) == [{"done": True}]
