"""Facts that a server of the user's own tells, without a token: to explain, never to judge."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from adapters.contract import Adapter

TIMEOUT_S = 2.0
_MOST_TOKENS = 10**9
_FACTS: Mapping[str, Mapping[str, str]] = {
    "llama.cpp": {
        "version": "/props build_info",
        "context": "/props default_generation_settings n_ctx",
        "template_sha256": "/props chat_template",
    },
    "sglang": {
        "version": "/get_server_info version",
        "context": "/get_server_info context_length",
    },
    "ollama": {
        "version": "/api/version version",
        "context": "/api/ps models name=MODEL context_length",
        "quantization": "/api/ps models name=MODEL details quantization_level",
    },
    "vllm": {
        "version": "/version version",
        "context": "/v1/models data id=MODEL max_model_len",
    },
    "lm studio": {
        "context": "/api/v0/models data id=MODEL loaded_context_length",
        "quantization": "/api/v0/models data id=MODEL quantization",
    },
}
"""Where each software says what: an address, the keys below each other, and the entry of a list
that has the model's name. The first of these that answers is the server's."""


async def facts_of(adapter: Adapter) -> dict[str, Any]:
    """Return the software of a server, its version, its context length and its chat template's
    digest, as far as it says so.

    Only servers of the user's own are asked, with the key of calls; no failure is an error.
    """
    nothing: dict[str, Any] = dict.fromkeys(("software", "version", "context", "template_sha256"))
    info, answers = adapter.info, dict[str, Any]()
    told = getattr(adapter, "told", None)
    if told is None or not info.endpoint or info.weights_known or info.price_ref is not None:
        return nothing
    for software, places in _FACTS.items():
        found = dict[str, Any]()
        for fact, place in places.items():
            path, *keys = place.split()
            if path not in answers:
                answers[path] = await told(path, TIMEOUT_S)
            value = _taken(fact, _at(answers[path], keys, info.model))
            if value is not None:
                found[fact] = value
        if found:
            return {**nothing, "software": software, **found}
    return nothing


def _at(value: Any, keys: list[str], model: str) -> Any:
    for key in keys:
        name, named, _ = key.partition("=")
        if named:
            rows = value if isinstance(value, list) else []
            value = next((r for r in rows if isinstance(r, dict) and r.get(name) == model), None)
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def _taken(fact: str, value: Any) -> str | int | None:
    """Return a fact as it is kept; None for anything but a short text or a number of tokens."""
    if fact == "context":
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return value if is_number and 0 < value < _MOST_TOKENS else None
    if not isinstance(value, str):
        return None
    if fact == "template_sha256":
        return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return value[:80]
