"""What servers say of the model that they serve."""

from __future__ import annotations

import asyncio
import json
import time
from email.utils import formatdate
from typing import Any

import pytest

from adapters import EMBEDDING_MODELS, MODELS, ModelLister
from adapters.api_client import said_of
from tests.servers import Provider, WireServer

VLLM = {
    "id": "m", "object": "model", "owned_by": "vllm", "root": "/ckpt/2000", "parent": None,
    "max_model_len": 4096, "permission": [{"id": "modelperm-1"}],
}  # fmt: skip


def listing(*entries: Any, **more: Any) -> bytes:
    return json.dumps({"object": "list", "data": entries, **more}).encode()


def test_the_facts_of_the_model_that_is_asked_are_read_and_no_others() -> None:
    other = {"id": "other", "root": "/elsewhere"}
    body = listing(other, {**VLLM, "created": 1_700_000_000, "quantization": "awq"})
    assert said_of("m", body, {}) == {
        "id": "m", "root": "/ckpt/2000", "created": "1700000000", "quantization": "awq",
    }  # fmt: skip
    # llama.cpp, LM Studio, Ollama, a Messages gateway, Gemini.
    meta = {"vocab_type": 2, "n_params": 7_615_616_512, "size": 4_677_120_000}
    assert said_of("x", listing({"id": "gguf", "meta": meta}), {}) == {
        "id": "gguf", "n_params": "7615616512", "size": "4677120000",
    }  # fmt: skip
    assert said_of("m", listing({"id": "m", "details": {"quantization_level": "Q4_K_M"}}), {}) == {
        "id": "m",
        "quantization_level": "Q4_K_M",
    }
    assert said_of("m", listing({"id": "m", "created_at": "2026-01-01T00:00:00Z"}), {}) == {
        "id": "m",
        "created_at": "2026-01-01T00:00:00Z",
    }
    gemini = json.dumps({"models": [{"name": "models/m", "version": "002"}]}).encode()
    assert said_of("m", gemini, {}) == {"name": "models/m", "version": "002"}


def test_a_single_model_is_taken_for_the_one_that_is_asked_and_several_others_are_not() -> None:
    assert said_of("m", listing({"id": "a"}), {}) == {"id": "a"}
    assert said_of("m", listing({"id": "a"}, {"id": "b"}), {}) == {}
    assert said_of("m", listing({"id": "m"}, {"id": "m"}), {}) == {}


def test_the_time_of_the_answer_is_no_fact_about_the_model() -> None:
    now = int(time.time())
    assert "created" not in said_of("m", listing({**VLLM, "created": now}), {})
    # By the server's clock, if it tells it.
    headers = {"date": formatdate(1_600_000_000, usegmt=True)}
    assert "created" not in said_of("m", listing({**VLLM, "created": 1_600_000_001}), headers)
    assert said_of("m", listing({**VLLM, "created": now}), headers)["created"] == str(now)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>", b"[]", b"null", b'{"data": {}}', b'{"data": ["m", 5, null]}', b"[" * 9000,
        b'{"data": [{"id": 5, "root": [1]}, {"id": "m2"}]}', b'{"id": "c1", "model": "w"}',
        b"\xff\xfe",
    ],
)  # fmt: skip
def test_a_body_that_is_no_list_says_nothing(body: bytes) -> None:
    assert said_of("m", body, {}) == {}


def test_odd_values_are_left_out_and_long_ones_cut() -> None:
    entry = {"id": "m", "root": "x" * 9000, "parent": {}, "created": float("inf"), "version": None}
    assert said_of("m", listing(entry), {}) == {"id": "m", "root": "x" * 300}
    endless = b'{"data": [{"id": "a", "created": ' + b"9" * 5000 + b"}]}"
    assert said_of("m", endless, {}) == {"id": "a"}


def listed(model: object) -> dict[str, str]:
    async def main() -> dict[str, str]:
        assert isinstance(model, ModelLister)
        found = dict(await model.listed())
        await model.close()  # type: ignore[attr-defined]
        return found

    return asyncio.run(main())


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
def test_each_protocol_has_its_list_and_the_key_goes_along(provider: Provider) -> None:
    with WireServer() as server:
        server.told["/v1/models"] = {"data": [{"id": "m", "root": "/ckpt/1"}]}
        url = server.base_url(provider)
        model = MODELS.make(f"{provider}:m", base_url=url, api_key="sk-x")
        assert not model.info.weights_known
        assert listed(model) == {"id": "m", "root": "/ckpt/1"}
        del server.told["/v1/models"]  # It then answers with something else.
        assert listed(MODELS.make(f"{provider}:m", base_url=url, api_key="sk-x")) == {}
    assert listed(MODELS.make(f"{provider}:m", base_url=url, api_key="sk-x", timeout_s=0.5)) == {}


def test_an_embedder_has_one_too() -> None:
    with WireServer() as server:
        server.told["/v1/models"] = {"data": [{"id": "e", "quantization": "int8"}]}
        model = EMBEDDING_MODELS.make("openai:e", base_url=server.base_url("openai"))
        assert listed(model) == {"id": "e", "quantization": "int8"}


VARIABLES = {
    "openai": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
}


@pytest.mark.parametrize("provider", VARIABLES)
def test_weights_are_known_at_the_provider_s_own_address_alone(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def known(**more: str) -> bool:
        return MODELS.keyless(f"{provider}:m", **more).info.weights_known

    own = {
        "openai": "https://api.openai.com/v1",
        "anthropic": "https://api.anthropic.com",
        "google": "https://generativelanguage.googleapis.com",
    }[provider]
    monkeypatch.delenv(VARIABLES[provider], raising=False)
    assert known() and known(base_url=own)
    for other in ("http://127.0.0.1:1/v1", "https://gateway.example/v1", own.replace("s:", ":")):
        assert not known(base_url=other)
    # Deployments have names that their users gave.
    assert not known(base_url="https://mine.openai.azure.com/openai/v1")
    monkeypatch.setenv(VARIABLES[provider], "http://127.0.0.1:1/v1")
    assert not known()
    monkeypatch.setenv(VARIABLES[provider], own)
    assert known()
