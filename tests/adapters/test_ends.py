"""Why replies end: known words only, in plain and streamed replies and in batches."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from adapters import Fatal, Fault, Finish, Reply, make
from adapters.api import ALIKE
from adapters.batches.openai import OpenAIBatches
from tests.adapters.support import adapter_for, ask, request
from tests.adapters.test_failures import every_wire, fault
from tests.adapters.test_malformed_replies import PLACES, ask_all, body, with_value
from tests.servers import Answer, Provider, WireServer

ENDS = {
    Finish.STOP: (
        "stop eos eos_token end_turn stop_sequence STOP tool_calls function_call tool_use COMPLETE "
        "Stop end-turn EndTurn completed"
    ),
    Finish.LENGTH: (
        "length max_tokens MAX_TOKENS max_output_tokens model_length max-tokens Length "
        "model_context_window_exceeded"
    ),
    Finish.CONTENT_FILTER: (
        "content_filter content-filter CONTENT_FILTER SAFETY RECITATION BLOCKLIST SPII "
        "PROHIBITED_CONTENT LANGUAGE IMAGE_SAFETY safety"
    ),
}
UNKNOWN = [
    *("error", "abort", "network_error", "OTHER", "weird"),
    *("cancelled", "timeout", "FINISH_REASON_UNSPECIFIED", "insufficient_system_resource"),
    *("unknown", "None", "stopp", "\u202estop"),
]
STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


def chunks(plain: Any) -> bytes:
    """A chat completion as a stream, the text in two pieces."""
    choice = plain["choices"][0]
    text = choice["message"]["content"]
    about = {"id": plain["id"], "model": plain["model"], "object": "chat.completion.chunk"}
    rest = {name: value for name, value in choice.items() if name != "message"}
    events = [
        {**about, "choices": [{"index": 0, "delta": {"role": "assistant", "content": text[:2]}}]},
        {**about, "choices": [{"index": 0, "delta": {"content": text[2:]}}]},
        {**about, "choices": [{**rest, "delta": {}}]},
        {**about, "choices": [], "usage": plain["usage"]},
    ]
    return b"".join(b"data: %b\n\n" % json.dumps(one).encode() for one in events) + b"data: [DONE]"


def ending(provider: Provider, word: object, *, streamed: bool = False, **choice: Any) -> Answer:
    """A reply `click` that ends with a word, and further fields of its choice."""
    plain = json.loads(with_value(provider, "finish", word))
    if choice:
        plain["choices"][0] |= choice
    if not streamed:
        return Answer(raw=json.dumps(plain).encode())
    return Answer(raw=chunks(plain), content_type="text/event-stream")


def answered(provider: Provider, *answers: Answer) -> list[Reply | str]:
    with WireServer(answers) as server:
        return ask_all(adapter_for(provider, server), len(answers))


@STREAMED
@pytest.mark.parametrize("finish", ENDS)
def test_known_words_end_a_reply_of_the_chat_protocol(finish: Finish, streamed: bool) -> None:
    words = ENDS[finish].split()
    replies = answered("openai", *(ending("openai", w, streamed=streamed) for w in words))
    got = [(reply.text, reply.finish) for reply in replies if isinstance(reply, Reply)]
    assert got == [("click", finish)] * len(words)


@pytest.mark.parametrize(
    ("provider", "word", "finish"),
    [
        ("anthropic", "end_turn", Finish.STOP),
        ("anthropic", "stop_sequence", Finish.STOP),
        ("anthropic", "tool_use", Finish.STOP),
        ("anthropic", "max_tokens", Finish.LENGTH),
        ("anthropic", "refusal", Finish.REFUSAL),
        ("anthropic", "model_context_window_exceeded", Finish.LENGTH),
        ("google", "STOP", Finish.STOP),
        ("google", "MAX_TOKENS", Finish.LENGTH),
        ("google", "PROHIBITED_CONTENT", Finish.CONTENT_FILTER),
    ],
)
def test_known_words_end_a_reply_of_others(provider: Provider, word: str, finish: Finish) -> None:
    [reply] = answered(provider, ending(provider, word))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish) == ("click", finish)


@every_wire
@pytest.mark.parametrize("word", UNKNOWN)
def test_an_unknown_word_is_a_fault_that_may_have_been_billed(
    provider: Provider, word: str
) -> None:
    failed = fault(provider, ending(provider, word))
    assert (failed.kind, failed.status) == ("server", 200)
    assert "--adapter-option 'ends=" in str(failed)
    assert "\u202e" not in str(failed)


def test_an_unknown_word_in_a_stream_is_a_fault_too() -> None:
    assert fault("openai", ending("openai", "abort", streamed=True)).status == 200


@STREAMED
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 502, "message": "upstream failed"}, "server"),
        ({"code": 429, "message": "slow down"}, "rate_limit"),
        ({"code": "504"}, "timeout"),
        ({"code": 400, "message": "This model's maximum context length is 9 tokens"}, "server"),
        ({"message": "no code"}, "server"),
        ("just words", "server"),
        (True, "server"),
    ],
)
@pytest.mark.parametrize("word", ["error", "stop", None])
def test_a_choice_with_an_error_is_a_fault_whatever_ends_it(
    word: str | None, error: object, kind: str, streamed: bool
) -> None:
    failed = fault("openai", ending("openai", word, streamed=streamed, error=error))
    assert (failed.kind, failed.status) == (kind, 200)


def test_no_error_in_a_choice_is_no_failure() -> None:
    nothing: list[object] = [None, "", {}, False]
    replies = answered("openai", *(ending("openai", "stop", error=no) for no in nothing))
    assert [getattr(reply, "text", reply) for reply in replies] == ["click"] * len(nothing)


@every_wire
@pytest.mark.parametrize("word", [None, ""])
def test_a_text_without_a_reason_is_whole_with_one_notice(
    provider: Provider, word: str | None
) -> None:
    with WireServer(ending(provider, word)) as server:
        adapter = adapter_for(provider, server)
        replies = ask(adapter, request(), request())
    assert [(reply.text, reply.finish) for reply in replies] == [("click", Finish.STOP)] * 2
    [notice] = adapter.notices()
    assert "does not say why its replies end" in notice


@every_wire
def test_neither_a_text_nor_a_reason_is_no_reply(provider: Provider) -> None:
    plain = json.loads(with_value(provider, "finish", None))
    inner = plain
    for key in PLACES[provider]["content"][:-1]:
        inner = inner[key]
    inner["content"] = {"parts": []} if provider == "google" else []
    assert fault(provider, Answer(raw=json.dumps(plain).encode())).kind == "malformed"


@every_wire
def test_a_run_whose_first_replies_end_alike_stops_and_names_the_option(provider: Provider) -> None:
    with WireServer(ending(provider, "end_of_answer")) as server:
        adapter = adapter_for(provider, server)
        assert ask_all(adapter, ALIKE - 1) == ["server"] * (ALIKE - 1)
    with WireServer(ending(provider, "end_of_answer")) as server:
        adapter = adapter_for(provider, server)
        with pytest.raises(Fatal, match="'ends=end_of_answer'"):
            ask_all(adapter, ALIKE)
        assert server.count == ALIKE


@every_wire
@pytest.mark.parametrize("first", ["stop", None])
def test_the_reply_to_the_call_that_tries_a_model_out_says_nothing_of_the_others(
    provider: Provider, first: str | None
) -> None:
    answers = [ending(provider, word) for word in (first, *["odd"] * ALIKE)]
    with WireServer(answers) as server, pytest.raises(Fatal, match="'ends=odd'"):
        ask_all(adapter_for(provider, server), len(answers))


@every_wire
@pytest.mark.parametrize("others", [["stop"] * 2, ["abort"], [None] * 2])
def test_a_run_goes_on_if_its_first_replies_ended_otherwise(
    provider: Provider, others: list[str | None]
) -> None:
    words = [*others, *["odd"] * 5]
    results = answered(provider, *(ending(provider, word) for word in words))
    assert results[len(others) :] == ["server"] * 5


@every_wire
@pytest.mark.parametrize("ends", ["odd-end", "whatever,ODD_END"])
def test_a_word_that_the_user_declares_is_an_end(provider: Provider, ends: str) -> None:
    with WireServer(ending(provider, "odd_end")) as server:
        replies = ask(adapter_for(provider, server, ends=ends), *[request()] * 4)
    assert {(reply.text, reply.finish) for reply in replies} == {("click", Finish.STOP)}


def test_replies_in_batches_end_by_the_same_words() -> None:
    adapter: Any = make("openai:m", base_url="http://127.0.0.1:9/v1")
    lines = OpenAIBatches(adapter, adapter.client)

    def outcome(word: str | None) -> object:
        plain = body("openai")
        plain["choices"][0]["finish_reason"] = word
        said = {"custom_id": "a", "response": {"status_code": 200, "body": plain}}
        return lines.read(msgspec.json.encode(said), request(), {})

    stopped, _, first, second = map(outcome, ("eos", "eos", "abort", "abort"))
    assert isinstance(stopped, Reply) and stopped.finish is Finish.STOP
    assert isinstance(first, Fault) and (first.kind, first.status) == ("server", 200)
    assert isinstance(second, Fault) and isinstance(outcome("abort"), Fault)


def test_a_batch_whose_first_replies_end_alike_stops_its_run() -> None:
    adapter: Any = make("openai:m", base_url="http://127.0.0.1:9/v1")
    lines = OpenAIBatches(adapter, adapter.client)
    plain = body("openai")
    plain["choices"][0]["finish_reason"] = "odd"
    said = {"custom_id": "a", "response": {"status_code": 200, "body": plain}}
    outcomes = [lines.read(msgspec.json.encode(said), request(), {}) for _ in range(ALIKE)]
    assert [type(one) for one in outcomes] == [Fault] * (ALIKE - 1) + [Fatal]
