"""What servers of the user's own say of themselves: named fields, whatever else they answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from harness.planning.model import open_model
from harness.settings import read_settings
from harness.verify.facts import facts_of
from tests.servers import Answer, WireServer

NOTHING = {"software": None, "version": None, "context": None, "template_sha256": None}


def facts(told: dict[str, Any]) -> dict[str, Any]:
    with WireServer(lambda ask: Answer("ok")) as server:
        server.told.clear()
        server.told.update(told)
        given = {"model": "openai:m", "base_url": server.base_url("openai")}
        return asyncio.run(facts_of(open_model(read_settings(given)).loaded().adapter))


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({}, {}),
        (
            {"/props": {"default_generation_settings": {"n_ctx": 4096}, "build_info": "b1"}},
            {"software": "llama.cpp", "version": "b1", "context": 4096},
        ),
        (
            {"/get_server_info": {"tp_size": 1, "version": "0.5", "context_length": 32768}},
            {"software": "sglang", "version": "0.5", "context": 32768},
        ),
        (
            {
                "/api/version": {"version": "0.12"},
                "/api/ps": {
                    "models": [
                        {"name": "n", "context_length": 1},
                        {
                            "name": "m",
                            "context_length": 4096,
                            "details": {"quantization_level": "Q4_K_M"},
                        },
                    ]
                },
            },
            {"software": "ollama", "version": "0.12", "context": 4096, "quantization": "Q4_K_M"},
        ),
        (
            {
                "/version": {"version": "0.29"},
                "/v1/models": {"data": [5, {"id": "m", "max_model_len": 8192}]},
            },
            {"software": "vllm", "version": "0.29", "context": 8192},
        ),
        (
            {
                "/api/v0/models": {
                    "data": [{"id": "m", "loaded_context_length": 4096, "quantization": "8bit"}]
                }
            },
            {"software": "lm studio", "context": 4096, "quantization": "8bit"},
        ),
    ],
)
def test_named_fields_are_taken(told: dict[str, Any], found: dict[str, Any]) -> None:
    assert facts(told) == {**NOTHING, **found}


@pytest.mark.parametrize(
    "told",
    [
        {"/props": []},
        {"/props": {"default_generation_settings": 5}},
        {"/version": {"version": {"a": 1}}, "/v1/models": {"data": "m"}},
        {"/api/version": {"version": "x" * 10_000}, "/api/ps": {"models": [{"name": "m"}]}},
        {"/get_server_info": {"tp_size": 1, "context_length": 10**30, "version": ["k"]}},
        {"/api/v0/models": {"data": [{"id": "m", "loaded_context_length": True}]}},
    ],
)
def test_odd_answers_explain_nothing_and_stop_nothing(told: dict[str, Any]) -> None:
    found = facts(told)
    assert found["context"] is None
    assert found["version"] is None or len(found["version"]) <= 80
