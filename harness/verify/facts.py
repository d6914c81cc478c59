"""What a server of the user's own says of itself, without a token: to explain, never to judge."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from adapters.contract import AdapterInfo

TIMEOUT_S = 2.0
_MOST_BYTES = 2_000_000


async def facts_of(info: AdapterInfo) -> dict[str, Any]:
    """Return the software of a server and its context length, as far as it says so.

    Only servers of the user's own are asked, without a key; no failure is an error.
    """
    facts: dict[str, Any] = {"software": None, "version": None, "context": None}
    if info.endpoint is None or info.weights_known or info.price_ref is not None:
        return facts
    parts = urlsplit(info.endpoint)
    root = f"{parts.scheme}://{parts.netloc}"
    props = await _got(f"{root}/props")
    settings = props.get("default_generation_settings")
    context = settings.get("n_ctx") if isinstance(settings, dict) else None
    if context is not None or "build_info" in props:
        return {**facts, **_taken("llama.cpp", props.get("build_info"), context)}
    sglang = await _got(f"{root}/get_server_info")
    if "tp_size" in sglang or "mem_fraction_static" in sglang:
        return {**facts, **_taken("sglang", sglang.get("version"), sglang.get("context_length"))}
    if version := (await _got(f"{root}/api/version")).get("version"):
        return {**facts, **_taken("ollama", version, None)}
    if version := (await _got(f"{root}/version")).get("version"):
        listed = (await _got(f"{root}/v1/models")).get("data")
        first = listed[0] if isinstance(listed, list) and listed else {}
        known = first.get("max_model_len") if isinstance(first, dict) else None
        return {**facts, **_taken("vllm", version, known)}
    listed = (await _got(f"{root}/api/v0/models")).get("data")
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict) and one.get("id") == info.model:
            taken = _taken("lm studio", None, one.get("loaded_context_length"))
            return {**facts, **taken}
    return facts


def _taken(software: str, version: object, context: object) -> dict[str, Any]:
    is_number = isinstance(context, int) and not isinstance(context, bool)
    return {
        "software": software,
        "version": version[:80] if isinstance(version, str) else None,
        "context": context if is_number and 0 < int(str(context)) < 10**9 else None,
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
