"""What a server refuses is left out or renamed with a notice, unless the user asked for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters import Fatal, Reply, user
from tests.adapters.support import adapter_for, ask, first_round, request
from tests.servers import Answer, Ask, Provider, WireServer, error

WORDS = [
    "invalid temperature: only 1 is allowed for this model",
    "temperature must be greater than 0",
    "Unsupported value: 'temperature' does not support 0.0 with this model.",
    "this model uses its own temperature",
]


def unless(refused: str, words: str, **more: Any) -> Any:
    """A server that refuses bodies with a text anywhere in them."""

    def react(ask: Ask) -> Answer:
        return error(400, words, **more) if f'"{refused}"' in json.dumps(ask.body) else Answer()

    return react


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("provider", ["openai", "google", "responses"])
def test_a_temperature_that_nobody_asked_for_is_left_out(provider: Provider, words: str) -> None:
    with WireServer(unless("temperature", words)) as server:
        model = "gemini-2.5-flash" if provider == "google" else ""
        adapter = adapter_for(provider, server, model=model)
        replies = ask(adapter, request(), request())
    assert [reply.text for reply in replies] == ["fine"] * 2
    assert server.count == 3, "learnt once"
    [notice] = adapter.notices()
    assert "refused temperature=0.0: no longer sent" in notice


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize(
    ("provider", "refused", "asked_for"),
    [
        ("openai", "temperature", {"temperature": 0.5}),
        ("openai", "temperature", {"temperature": 0.0}),
        ("openai", "top_p", {"top_p": 0.9}),
        ("openai", "seed", {"seed": 7}),
        ("openai", "reasoning_effort", {"effort": "low"}),
        ("responses", "temperature", {"temperature": 0.5}),
        ("responses", "seed", {"seed": 7}),
        ("responses", "reasoning", {"effort": "low"}),
        ("anthropic", "temperature", {"temperature": 0.0}),
        ("anthropic", "top_p", {"top_p": 0.9}),
        ("google", "temperature", {"temperature": 0.5}),
        ("google", "seed", {"seed": 7}),
    ],
)
def test_what_the_user_gave_ends_the_run_and_what_a_protocol_asks_for_is_left_out(
    provider: Provider, words: str, refused: str, asked_for: Any
) -> None:
    react = unless(refused, words.replace("temperature", refused))
    model = "gemini-2.5-flash" if provider == "google" else ""
    with WireServer(react) as server:
        with pytest.raises(Fatal, match=f"leave out what you asked for: {refused}"):
            ask(adapter_for(provider, server, model=model), request(**asked_for))
        assert server.count == 1
    with WireServer(react) as server:
        adapter = adapter_for(provider, server, model=model)
        [reply] = ask(adapter, request(**asked_for, by_protocol=asked_for))
    assert (reply.text, server.count) == ("fine", 2)
    [notice] = adapter.notices()
    assert f"refused {refused}" in notice


@pytest.mark.parametrize("param", ["stop", "stop[0]", "stop.0", "stop[0].text"])
def test_a_complaint_about_a_part_of_a_parameter_is_about_the_parameter(param: str) -> None:
    refusing_all = WireServer(error(400, "Unknown value.", "unknown_parameter", param))
    with refusing_all as server, pytest.raises(Fatal, match="Unknown value"):
        ask(adapter_for("openai", server, extra_body={"stop": ["x"]}))


@pytest.mark.parametrize("words", WORDS)
def test_what_the_user_gave_as_part_of_the_body_ends_the_run(words: str) -> None:
    with WireServer(unless("temperature", words)) as server:
        adapter = adapter_for("openai", server, extra_body={"temperature": 0.5})
        with pytest.raises(Fatal, match="temperature"):
            ask(adapter)
        assert server.count == 1


LIMIT_WORDS = [
    "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead.",
    "max_tokens is deprecated",
    "body.max_tokens: Extra inputs are not permitted",
]


@pytest.mark.parametrize("words", LIMIT_WORDS)
def test_a_limit_that_is_refused_in_words_only_is_sent_by_its_other_name(words: str) -> None:
    with WireServer(unless("max_tokens", words)) as server:
        adapter = adapter_for("openai", server)
        replies = ask(adapter, request(), request())
    assert [reply.sent.get("max_completion_tokens") for reply in replies] == [1024, 1024]
    assert server.count == 3
    assert adapter.notices() == [
        "openai:some-model refused max_tokens: max_completion_tokens is sent"
    ]


def test_a_limit_that_is_refused_by_both_names_ends_the_run() -> None:
    def react(ask: Ask) -> Answer:
        name = next(n for n in ("max_tokens", "max_completion_tokens") if n in ask.body)
        return error(400, f"Unsupported parameter: '{name}'")

    with WireServer(react) as server, pytest.raises(Fatal, match="max_completion_tokens"):
        ask(adapter_for("openai", server))
    assert server.count == 2, "never sent without a limit"


def test_a_limit_of_the_user_s_is_not_renamed() -> None:
    with WireServer(unless("max_tokens", LIMIT_WORDS[0])) as server:
        adapter = adapter_for("openai", server, extra_body={"max_tokens": 9})
        with pytest.raises(Fatal, match="max_tokens"):
            ask(adapter)


@pytest.mark.parametrize(
    "words",
    [
        "messages.1.content.0.image.transformations: Extra inputs are not permitted",
        "Unknown field 'transformations'",
        "messages[0].content[0].transformations: unexpected field",
    ],
)
def test_a_gateway_that_knows_no_transformations_gets_none(words: str) -> None:
    with WireServer(unless("transformations", words)) as server:
        adapter = adapter_for("anthropic", server)
        replies = ask(adapter, request(), request())
    assert [reply.text for reply in replies] == ["fine"] * 2
    assert server.count == 3
    assert "transformations" not in json.dumps(server.asks[-1].body)
    assert adapter.notices() == [
        "anthropic:claude-sonnet-5-5 refused transformations: no longer sent"
    ]


def test_marks_for_a_prompt_cache_are_left_out_once_refused() -> None:
    words = "messages.0.content.1.text.cache_control: Extra inputs are not permitted"
    with WireServer(unless("cache_control", words)) as server:
        adapter = adapter_for("anthropic", server)
        [reply] = ask(adapter, request(first_round("x" * 40_000), continues=True))
    assert (reply.text, server.count) == ("fine", 2)


def test_a_field_that_is_refused_although_it_was_left_out_ends_the_run() -> None:
    words = "messages.1.content.0.image.transformations: Extra inputs are not permitted"
    with WireServer(error(400, words)) as server, pytest.raises(Fatal, match="transformations"):
        ask(adapter_for("anthropic", server))
    assert server.count == 2


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_reply_goes_back_as_a_text(provider: Provider, text: str) -> None:
    conversation = first_round().then(Reply(text), user("Answer."))
    with WireServer() as server:
        ask(adapter_for(provider, server), request(conversation))
    [turn] = [m for m in server.asks[0].messages if m["role"] in {"assistant", "model"}]
    said = turn.get("content") or turn["parts"][0]["text"]
    assert said == "(no reply)"
