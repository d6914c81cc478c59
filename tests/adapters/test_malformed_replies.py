"""Replies that are not what they should be are refused where they are read, and never kept."""

from __future__ import annotations

import asyncio
import gzip
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters import Fatal, Fault, Finish, Reply, Usage
from adapters.checks import MAX_DEPTH, MAX_TOKENS, checked
from adapters.transport import MAX_REPLY_BYTES
from tests.adapters.support import WIRES, Pictures, adapter_for, ask, request
from tests.adapters.test_failures import every_wire, fatal, fault, refusal
from tests.servers import Answer, Ask, Provider, WireServer, drip, redirect
from tests.servers.wire import body_of

PLACES: Mapping[Provider, Mapping[str, tuple[str | int, ...]]] = {
    "openai": {
        "id": ("id",),
        "model": ("model",),
        "choices": ("choices",),
        "choice": ("choices", 0),
        "message": ("choices", 0, "message"),
        "content": ("choices", 0, "message", "content"),
        "refusal": ("choices", 0, "message", "refusal"),
        "reasoning_content": ("choices", 0, "message", "reasoning_content"),
        "thought": ("choices", 0, "message", "reasoning"),
        "finish": ("choices", 0, "finish_reason"),
        "usage": ("usage",),
        "input": ("usage", "prompt_tokens"),
        "output": ("usage", "completion_tokens"),
        "details": ("usage", "prompt_tokens_details"),
        "cached": ("usage", "prompt_tokens_details", "cached_tokens"),
        "reasoning": ("usage", "completion_tokens_details", "reasoning_tokens"),
    },
    "anthropic": {
        "id": ("id",),
        "model": ("model",),
        "content": ("content",),
        "block": ("content", 0),
        "thought": ("content", 0, "thinking"),
        "text": ("content", 1, "text"),
        "finish": ("stop_reason",),
        "usage": ("usage",),
        "input": ("usage", "input_tokens"),
        "output": ("usage", "output_tokens"),
        "cached": ("usage", "cache_read_input_tokens"),
        "written": ("usage", "cache_creation_input_tokens"),
        "details": ("usage", "output_tokens_details"),
        "reasoning": ("usage", "output_tokens_details", "thinking_tokens"),
    },
    "google": {
        "id": ("responseId",),
        "model": ("modelVersion",),
        "candidates": ("candidates",),
        "candidate": ("candidates", 0),
        "content": ("candidates", 0, "content"),
        "parts": ("candidates", 0, "content", "parts"),
        "part": ("candidates", 0, "content", "parts", 0),
        "thought": ("candidates", 0, "content", "parts", 0, "text"),
        "text": ("candidates", 0, "content", "parts", 1, "text"),
        "finish": ("candidates", 0, "finishReason"),
        "usage": ("usageMetadata",),
        "input": ("usageMetadata", "promptTokenCount"),
        "output": ("usageMetadata", "candidatesTokenCount"),
        "cached": ("usageMetadata", "cachedContentTokenCount"),
        "reasoning": ("usageMetadata", "thoughtsTokenCount"),
    },
    "responses": {
        "id": ("id",),
        "model": ("model",),
        "items": ("output",),
        "item": ("output", 1),
        "thought": ("output", 0, "summary"),
        "content": ("output", 1, "content"),
        "text": ("output", 1, "content", 0, "text"),
        "finish": ("status",),
        "usage": ("usage",),
        "input": ("usage", "input_tokens"),
        "output": ("usage", "output_tokens"),
        "details": ("usage", "input_tokens_details"),
        "cached": ("usage", "input_tokens_details", "cached_tokens"),
        "reasoning": ("usage", "output_tokens_details", "reasoning_tokens"),
    },
}
COUNTS = {"input", "output", "cached", "written", "reasoning"}
NEEDLESS = {"id", "model", "refusal", "reasoning_content", "thought", "usage", "details", *COUNTS}
"""Fields that no score depends on: a reply with any value in them is paid for once."""
LISTS = {"choices", "candidates", "parts", "items"}
OBJECTS = {"choice", "message", "block", "candidate", "part", "item"}


def body(provider: Provider) -> Any:
    asked = Ask(1, provider, "/models/m:generateContent", {}, {"model": "m"})
    return body_of(asked, Answer("click", thinking="hm"))


def with_value(provider: Provider, place: str, value: object) -> bytes:
    """A good answer with one wrong value."""
    plain = body(provider)
    *path, last = PLACES[provider][place]
    inner = plain
    for key in path:
        inner = inner[key]
    inner[last] = value
    return json.dumps(plain).encode()


def wrong_values(provider: Provider, place: str) -> list[object]:
    wrong: list[object] = [7, 1.5, True, "x", [], ["x"], [[7]], {}, {"a": 1}]
    if place in NEEDLESS:
        numbers: list[object] = [-1, -(10**30), 10**12, 10**30, 1e300, 0.5, math.nan, math.inf]
        return [*wrong, "12", "m" * 100_000, *numbers]
    if (provider, place) == ("anthropic", "content"):
        # An empty list of blocks is an empty reply; gateways also write a text.
        return [w for w in wrong if w not in ([], "x")]
    if place in LISTS:
        return [w for w in wrong if w != [] or place in {"choices", "candidates"}]
    if place in OBJECTS or (provider, place) == ("google", "content"):
        return [w for w in wrong if not isinstance(w, dict)]
    if place == "finish":
        return [w for w in wrong if w != "x"]
    # Of the chat protocol also a list of parts.
    is_chat = (provider, place) in {("openai", "content"), ("responses", "content")}
    parts: list[object] = [[], ["x"]] if is_chat else []
    return [w for w in wrong if w != "x" and w not in parts]


@every_wire
def test_a_field_that_no_score_depends_on_never_spoils_a_reply(provider: Provider) -> None:
    cases = [
        (place, value)
        for place in PLACES[provider].keys() & NEEDLESS
        for value in wrong_values(provider, place)
        if (provider, place) != ("google", "thought") or isinstance(value, str)
    ]
    answers = [Answer(raw=with_value(provider, place, value)) for place, value in cases]
    with WireServer(answers) as server:
        replies = ask_all(adapter_for(provider, server), len(cases))
    for case, reply in zip(cases, replies, strict=True):
        assert isinstance(reply, Reply), case
        assert reply.text == ("x" if case == ("refusal", "x") else reply.text)
        assert isinstance(reply.reasoning, str)
        if reply.usage is not None:
            usage = reply.usage
            assert 0 <= usage.cached + usage.cache_write <= usage.input <= MAX_TOKENS, case
            assert 0 <= usage.reasoning <= usage.output <= MAX_TOKENS, case
            assert usage.input > 0


@every_wire
def test_a_value_of_a_wrong_type_is_malformed_where_the_reply_is(provider: Provider) -> None:
    cases = [
        (place, value)
        for place in PLACES[provider].keys() - (NEEDLESS - {"thought"})
        for value in wrong_values(provider, place)
        if place != "thought" or (provider == "google" and not isinstance(value, str))
    ]
    answers = [Answer(raw=with_value(provider, place, value)) for place, value in cases]
    taken = []
    with WireServer(answers) as server:
        adapter = adapter_for(provider, server)
        for case, result in zip(cases, ask_all(adapter, len(cases)), strict=True):
            if isinstance(result, Reply) or result != "malformed":
                taken.append((case, result))
        assert server.count == len(cases), "each was asked for once"
    assert taken == []


def ask_all(adapter: Any, count: int) -> list[Reply | str]:
    """The replies one after the other, and the kind of fault where there is none."""

    async def run() -> list[Reply | str]:
        results: list[Reply | str] = []
        for _ in range(count):
            try:
                results.append(await adapter.ask(request(), Pictures()))
            except Fault as caught:
                results.append(caught.kind)
        await adapter.close()
        return results

    return asyncio.run(run())


@every_wire
def test_nothing_in_the_place_of_what_may_be_missing_is_no_fault(provider: Provider) -> None:
    missing = {"id", "model", "usage", *COUNTS, "details", "refusal", "reasoning_content"}
    places = [place for place in PLACES[provider] if place in missing]
    answers = [Answer(raw=with_value(provider, place, None)) for place in places]
    with WireServer(answers) as server:
        replies = ask_all(adapter_for(provider, server), len(places))
    assert [getattr(reply, "text", reply) for reply in replies] == ["click"] * len(places)


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@every_wire
@pytest.mark.parametrize(
    "raw",
    [
        b"\xff\xfe",
        b'{"id": "\xff"}',
        b'{"id": "\xed\xa0\x80"}',
        nested(100_000).encode(),
        b'{"a": ' + nested(100_000).encode() + b"}",
        b"9" * 10_000,
        b"null",
        b'"text"',
        b"",
        b"{} {}",
        b'event: message\ndata: {"id": 1}\n\n',
    ],
    ids=range(11),
)
def test_bytes_that_are_no_json_object_are_malformed(provider: Provider, raw: bytes) -> None:
    assert fault(provider, Answer(raw=raw)).kind == "malformed"


@every_wire
def test_bytes_that_are_no_utf8_are_malformed_wherever_they_stand(provider: Provider) -> None:
    raw = json.dumps(body(provider)).encode()
    assert fault(provider, Answer(raw=raw.replace(b"click", b"cl\xffck"))).kind == "malformed"


@pytest.mark.parametrize(
    ("provider", "place"),
    [
        ("anthropic", ("content",)),
        ("google", ("candidates", 0, "content")),
        ("responses", ("output",)),
    ],
)
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 500, 900])
def test_deep_native_parts_are_malformed(
    provider: Provider, place: tuple[str | int, ...], depth: int
) -> None:
    """They go back to the provider, so they are recorded, and a record must be readable."""
    plain = body(provider)
    inner = plain
    for key in place:
        inner = inner[key]
    deep = {"type": "thinking", "x": "DEEP", "thoughtSignature": "c2ln", "thinking": "hm"}
    (inner["parts"] if provider == "google" else inner).append(deep)
    raw = json.dumps(plain).replace('"DEEP"', nested(depth)).encode()
    assert fault(provider, Answer(raw=raw)).kind == "malformed"
    shallow = json.dumps(plain).replace('"DEEP"', nested(9)).encode()
    with WireServer(Answer(raw=shallow)) as server:
        [reply] = ask(adapter_for(provider, server))
    assert reply.native is not None


@every_wire
def test_half_a_surrogate_pair_is_replaced_as_before(provider: Provider) -> None:
    raw = json.dumps(body(provider)).replace("click", "cl\\ud83dck").encode()
    with WireServer(Answer(raw=raw)) as server:
        [reply] = ask(adapter_for(provider, server))
    assert reply.text == "cl\N{REPLACEMENT CHARACTER}ck"


@every_wire
@pytest.mark.parametrize("packed", [False, True])
def test_a_reply_larger_than_the_limit_is_not_read_to_its_end(
    provider: Provider, packed: bool
) -> None:
    fitting = json.dumps(body(provider)).encode()
    large = fitting.replace(b"click", b"c" * (MAX_REPLY_BYTES + 1))
    headers = {"content-encoding": "gzip"} if packed else {}
    raw = gzip.compress(large, 1) if packed else large
    failed = fault(provider, Answer(raw=raw, headers=headers))
    assert failed.kind == "malformed"
    assert "larger than 16 MB" in str(failed)
    with WireServer(Answer(raw=gzip.compress(fitting), headers={"content-encoding": "gzip"})) as s:
        assert ask(adapter_for(provider, s))[0].text == "click"


@every_wire
def test_an_error_page_larger_than_the_limit_is_not_read_either(provider: Provider) -> None:
    raw = b"x" * (MAX_REPLY_BYTES + 1)
    assert "larger than 16 MB" in str(fault(provider, Answer(status=500, raw=raw)))


@every_wire
def test_a_server_that_drips_ends_at_the_timeout(provider: Provider) -> None:
    failed = fault(provider, drip(0.05), timeout_s=1.5)
    assert failed.kind == "timeout"
    assert "1.5 s" in str(failed)


@every_wire
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_address_is_not_followed(provider: Provider, status: int) -> None:
    with WireServer() as other:
        line = fatal(provider, redirect(f"http://127.0.0.1:{other.port}/v1/stolen", status))
        assert other.count == 0, "neither the key nor a page goes there"
    assert f"answered {status}: it redirects to another address, http://127.0.0.1:" in line


@every_wire
def test_a_redirect_at_the_same_address_is_followed(provider: Provider) -> None:
    with WireServer() as server:
        ask(adapter_for(provider, server))
        path = server.asks[0].path
        server.react = lambda ask: redirect(path) if ask.number == 2 else Answer("there")
        assert ask(adapter_for(provider, server))[0].text == "there"


@every_wire
def test_redirects_without_end_are_one_line(provider: Provider) -> None:
    with WireServer() as server:
        adapter = adapter_for(provider, server)
        server.react = lambda ask: redirect(ask.path)
        with pytest.raises(Fatal, match="too many redirects"):
            ask(adapter)


@every_wire
@pytest.mark.parametrize(
    "error",
    [
        {"message": ["x"], "code": 400, "type": 3, "status": 7, "details": "x"},
        {"message": {"a": 1}, "code": ["x"], "type": {"b": 2}, "status": [], "details": {"c": 1}},
        "just a text",
        [1, 2],
        None,
    ],
)
@pytest.mark.parametrize("status", [400, 429, 500])
def test_errors_of_another_form_are_errors_all_the_same(
    provider: Provider, status: int, error: object
) -> None:
    raw = json.dumps({"type": "error", "error": error}).encode()
    answer = Answer(status=status, raw=raw)
    assert "answered" in (
        refusal(provider, answer) if status == 400 else str(fault(provider, answer))
    )


@every_wire
def test_an_error_with_half_a_surrogate_pair_can_be_recorded(provider: Provider) -> None:
    raw = b'{"error": {"message": "cl\\ud83dck", "status": "x", "code": "\\ud83d"}}'
    assert str(fault(provider, Answer(status=500, raw=raw))).encode()


@every_wire
@pytest.mark.parametrize("status", [400, 500])
def test_deep_errors_are_errors_all_the_same(provider: Provider, status: int) -> None:
    raw = ('{"error": {"message": "no", "details": ' + nested(100_000) + "}}").encode()
    answer = Answer(status=status, raw=raw)
    said = refusal(provider, answer) if status == 400 else str(fault(provider, answer))
    assert f"answered {status}" in said


@every_wire
def test_the_complaint_shows_what_came_instead_of_a_reply(provider: Provider) -> None:
    raw = b'{"notice": "the model is being loaded"}'
    failed = str(fault(provider, Answer(raw=raw)))
    assert "reply cannot be read" in failed
    assert "the model is being loaded" in failed


def test_a_wait_that_is_no_number_is_no_wait() -> None:
    details = ({"retryDelay": "1.2.3s"}, {"retryDelay": "s"})
    answer = Answer(status=429, message="slow", error_details=details)
    assert fault("google", answer).retry_after_s is None


GOOD = Reply("click", usage=Usage(10, 2, 0, 3, 1), model="m", native=[{"a": 1}], request_id="r")


@pytest.mark.parametrize(
    "reply",
    [
        None,
        "click",
        {"text": "click"},
        replace(GOOD, text=None),  # type: ignore[arg-type]
        replace(GOOD, text=b"click"),  # type: ignore[arg-type]
        replace(GOOD, text=["click"]),  # type: ignore[arg-type]
        replace(GOOD, model=5),  # type: ignore[arg-type]
        replace(GOOD, model=None),  # type: ignore[arg-type]
        replace(GOOD, request_id=5),  # type: ignore[arg-type]
        replace(GOOD, finish="done"),  # type: ignore[arg-type]
        replace(GOOD, finish=None),  # type: ignore[arg-type]
        replace(GOOD, usage={"input": "x"}),  # type: ignore[arg-type]
        replace(GOOD, usage=Usage(-1)),
        replace(GOOD, usage=Usage(True)),
        replace(GOOD, usage=Usage(output=10**30)),
        replace(GOOD, latency_s=math.nan),
        replace(GOOD, latency_s="fast"),  # type: ignore[arg-type]
        replace(GOOD, sent=None),  # type: ignore[arg-type]
        replace(GOOD, sent={"a": object()}),
        replace(GOOD, native=object()),
        replace(GOOD, token_ids=((1,), ("x",))),  # type: ignore[arg-type]
        replace(GOOD, token_ids=5),  # type: ignore[arg-type]
    ],
    ids=range(22),
)
def test_a_reply_that_could_not_be_read_back_is_refused(reply: object) -> None:
    with pytest.raises(ValueError):
        checked(reply)


def test_a_native_part_within_itself_is_refused() -> None:
    native: list[Any] = []
    native.append(native)
    with pytest.raises(ValueError, match="nested"):
        checked(replace(GOOD, native=native))


texts = st.text()
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=20,
)
replies = st.builds(
    Reply,
    text=st.text(st.characters()),
    finish=st.sampled_from(Finish),
    usage=st.none() | st.builds(Usage, *[st.integers(0, 10**7)] * 5),
    model=texts,
    native=st.none() | values,
    request_id=texts,
    sent=st.dictionaries(texts, values),
)


@settings(max_examples=100, deadline=None)
@given(replies)
def test_a_good_reply_stays_as_it_is(reply: Reply) -> None:
    same = checked(reply)
    assert replace(same, text="", native=None, sent={}) == replace(
        reply, text="", native=None, sent={}
    )
    assert same.text == reply.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert checked(same) == same


def test_every_wire_is_covered() -> None:
    assert set(PLACES) == set(WIRES)
