"""Secrets among options are masked wherever they would be written down."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters import Fatal, describe
from adapters.secrets import is_secret, masked
from tests.adapters.support import adapter_for, ask, bodies
from tests.servers import Answer, WireServer

SECRET = "sk-RECOGNISABLE-0123456789"


@pytest.mark.parametrize(
    "name",
    [
        *("api_key", "api-key", "apikey", "apiKey", "API_KEY", "X-API-Key", "x-goog-api-key"),
        *("key", "my_key", "openai_key", "subscription-key", "Ocp-Apim-Subscription-Key"),
        *("token", "access_token", "accessToken", "auth_token", "hf_token", "X-Auth-Token"),
        *("Authorization", "authorization", "auth", "bearer", "proxy-authorization"),
        *("secret", "client_secret", "clientSecret", "secret_value", "password", "PASSWORD"),
        *("db_password", "passwd", "passphrase", "credentials", "cookie", "Set-Cookie"),
    ],
)
def test_a_name_of_a_secret_is_known(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("max_tokens", "max_completion_tokens", "top_k", "top_p", "prompt_cache_key", "stop"),
        *("stop_token_ids", "return_token_ids", "eos_token", "skip_special_tokens", "seed"),
        *("repetition_penalty", "keyboard", "monkey", "tokenizer", "author", "thinking_token"),
        *("reasoning_effort", "chat_template_kwargs", "", "_", "é", "sort_key", "max_token"),
    ],
)
def test_a_name_that_sounds_like_one_is_no_secret(name: str) -> None:
    assert not is_secret(name)


def test_values_are_masked_at_any_depth_and_in_json_texts() -> None:
    deep = {"headers": [{"Authorization": "Bearer x", "Accept": "json"}], "auth": {"user": "me"}}
    options = {
        "extra_body": json.dumps(deep),
        "plain": deep,
        "n": 3,
        "password": 12345,
        "key": None,
    }
    safe = {"headers": [{"Authorization": "[masked]", "Accept": "json"}]}
    safe_deep: Any = {**safe, "auth": {"user": "[masked]"}}
    found = masked(options)
    assert json.loads(found.pop("extra_body")) == safe_deep
    assert found == {"plain": safe_deep, "n": 3, "password": "[masked]", "key": None}


@pytest.mark.parametrize("text", ['{"top_k":  1}', "{no json", "[1,  2]", "{" * 5000, "plain"])
def test_a_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert masked({"extra_body": text}) == {"extra_body": text}


def test_a_served_models_own_key_goes_out_and_is_not_recorded() -> None:
    extra = {"api_key": SECRET, "headers": {"x-token": SECRET + "2"}, "top_k": 1}
    with WireServer() as server:
        adapter = adapter_for("openai", server, extra_body=extra)
        [reply] = ask(adapter)
    assert bodies(server)[0]["api_key"] == SECRET
    assert bodies(server)[0]["headers"] == {"x-token": SECRET + "2"}
    assert "RECOGNISABLE" not in repr(adapter.info) + repr(reply)
    assert reply.sent["top_k"] == 1
    assert reply.sent["api_key"] == "[masked]"


def test_a_server_that_echoes_it_is_not_quoted() -> None:
    answer = Answer(status=401, message=f"no such key: {SECRET}")
    with WireServer(answer) as server, pytest.raises(Fatal) as caught:
        ask(adapter_for("openai", server, extra_body={"api_key": SECRET}))
    assert "answered 401" in str(caught.value)
    assert "RECOGNISABLE" not in str(caught.value)


def test_other_options_are_declared_as_they_are() -> None:
    extra = {"top_k": 1, "stop_token_ids": [3]}
    info = describe("m", base_url="http://localhost:1/v1", extra_body=extra).info
    assert info.settings["extra_body"] == extra
