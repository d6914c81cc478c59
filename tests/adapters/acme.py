"""A complete provider in one file: Acme, which does not exist, speaks OpenAI's chat protocol."""

from __future__ import annotations

from adapters import Adapter, Fatal, open_models, prices
from adapters.api import hosted
from adapters.api_client import Json
from adapters.chat_completions import ChatAdapter
from adapters.contract import Request
from adapters.endpoints import find_endpoint, need_model, need_package

HOSTS = ["acme.example"]
MOST_PIXELS = {"acme-small": 640_000}
"""Larger pictures are shrunk by the provider; other models take twice as many pixels."""


class AcmeAdapter(ChatAdapter):
    """One of Acme's models, which log every prompt unless told otherwise."""

    def _additions(self, request: Request) -> Json:
        return {"store": False}


def acme(
    model: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout_s: float = 120.0,
    concurrency: int = 8,
    tier: int = 1,
) -> Adapter:
    """Acme's models. Raises `Fatal` for a missing key or an unknown tier."""
    need_package("openai", "openai")
    model = need_model(model, "acme:acme-large")
    if tier not in {1, 2}:
        raise Fatal(f"tier must be 1 or 2: {tier}")
    endpoint = find_endpoint(
        "acme",
        base_url=base_url,
        api_key=api_key,
        default="https://api.acme.example/v1",
        hosts=HOSTS,
        url_variable="ACME_BASE_URL",
        key_variables=["ACME_API_KEY"],
    )
    info = hosted(
        endpoint,
        model,
        settings={"api": "chat.completions", "tier": tier},
        concurrency=concurrency,
        context_tokens=prices.context_tokens("acme", model),
        image_rule=open_models.pixels(MOST_PIXELS.get(model, 1_280_000)),
        coordinates="absolute",
    )
    return AcmeAdapter(info, endpoint, timeout_s=timeout_s)
