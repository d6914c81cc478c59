"""What a server of the user's own says of itself, without a token: to explain, never to judge."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from adapters.contract import AdapterInfo

TIMEOUT_S = 2.0
_MOST_BYTES = 2_000_000


async def facts_of(info: AdapterInfo) -> dict[str, Any]:
    """Return the software of a server, its context length and its chat template's digest, as far
    as it says so.

    Only servers of the user's own are asked, without a key; no failure is an error.
    """
    names = ("software", "version", "context", "template_sha256")
    facts: dict[str, Any] = dict.fromkeys(names)
    if info.endpoint is None or info.weights_known or info.price_ref is not None:
        return facts
    parts = urlsplit(info.endpoint)
    root = f"{parts.scheme}://{parts.netloc}"
    props = await _got(f"{root}/props")
    settings = props.get("default_generation_settings")
    context = settings.get("n_ctx") if isinstance(settings, dict) else None
    if context is not None or "build_info" in props:
        if isinstance(template := props.get("chat_template"), str):
            whole = template.encode("utf-8", "surrogatepass")
            facts["template_sha256"] = hashlib.sha256(whole).hexdigest()
        return {**facts, **_taken("llama.cpp", props.get("build_info"), context)}
    sglang = await _got(f"{root}/get_server_info")
    if "tp_size" in sglang or "mem_fraction_static" in sglang:
        return {**facts, **_taken("sglang", sglang.get("version"), sglang.get("context_length"))}
    if version := (await _got(f"{root}/api/version")).get("version"):
        one = _named(await _got(f"{root}/api/ps"), "models", "name", info.model)
        details = one.get("details")
        kind = details.get("quantization_level") if isinstance(details, dict) else None
        return {**facts, **_taken("ollama", version, one.get("context_length"), kind)}
    if version := (await _got(f"{root}/version")).get("version"):
        one = _named(await _got(f"{root}/v1/models"), "data", "id", info.model)
        return {**facts, **_taken("vllm", version, one.get("max_model_len"))}
    one = _named(await _got(f"{root}/api/v0/models"), "data", "id", info.model)
    if one:
        context, kind = one.get("loaded_context_length"), one.get("quantization")
        return {**facts, **_taken("lm studio", None, context, kind)}
    return facts


def _named(answer: Mapping[str, Any], rows: str, key: str, model: str) -> Mapping[str, Any]:
    """Return the entry of a model in a list; {} if it has none."""
    listed = answer.get(rows)
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return next((one for one in found if one.get(key) == model), {})


def _taken(
    software: str, version: object, context: object, quantization: object = None
) -> dict[str, Any]:
    is_number = isinstance(context, int) and not isinstance(context, bool)
    kind = {"quantization": quantization[:80]} if isinstance(quantization, str) else {}
    return {
        "software": software,
        "version": version[:80] if isinstance(version, str) else None,
        "context": context if is_number and 0 < int(str(context)) < 10**9 else None,
        **kind,
    }


async def _got(url: str) -> Mapping[str, Any]:
    """Return the JSON object at an address; {} for anything else."""
    import httpx2

    from adapters.checks import plain_json

    try:
        async with (
            asyncio.timeout(TIMEOUT_S),
            httpx2.AsyncClient(timeout=TIMEOUT_S) as client,
            client.stream("GET", url) as response,
        ):
            data = b""
            async for part in response.aiter_bytes():
                data += part
                if len(data) > _MOST_BYTES:
                    return {}
            found = plain_json(data) if response.status_code == 200 else {}
    except (httpx2.HTTPError, OSError, ValueError, TimeoutError):
        return {}
    return found if isinstance(found, dict) else {}
