"""What the adapter tests share: a picture, requests, and one call in a loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from adapters import (
    Adapter,
    Conversation,
    EncodedPicture,
    Generation,
    Picture,
    PixelPicture,
    Reply,
    Request,
    make,
    system,
    user,
)
from tests.servers import Provider, WireServer

KEY = "sk-RECOGNISABLE-0123456789+/key"
PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic", "google")
WIRES: tuple[Provider, ...] = (*PROVIDERS, "responses")
"""Those that are asked call by call."""
MODELS: dict[Provider, str] = {
    "openai": "openai:some-model",
    "anthropic": "anthropic:claude-sonnet-5-5",
    "google": "google:gemini-3.8-flash",
    "responses": "openai:some-model",
}
SCREENSHOT = Picture("d" * 64, "jpeg", 1280, 720)


class Pictures:
    """A source that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def encoded(self, picture: Picture) -> EncodedPicture:
        self.asked += 1
        return EncodedPicture(b"\xff\xd8picture", "image/jpeg", picture.width, picture.height)

    async def pixels(self, picture: Picture) -> PixelPicture:
        self.asked += 1
        return PixelPicture(
            bytes(3 * picture.width * picture.height), picture.width, picture.height
        )


def first_round(text: str = "What would you do?") -> Conversation:
    return Conversation((system("You operate websites."), user(SCREENSHOT, text)))


def request(
    conversation: Conversation | None = None,
    *,
    continues: bool = False,
    step: str = "step-1",
    by_protocol: Iterable[str] = (),
    **generation: Any,
) -> Request:
    return Request(
        conversation or first_round(),
        Generation(**generation),
        step,
        "round-1",
        continues,
        by_protocol=frozenset(by_protocol),
    )


def adapter_for(
    provider: Provider, server: WireServer, *, model: str = "", **options: Any
) -> Adapter:
    options = {"timeout_s": 5.0, "api_key": KEY} | options
    if provider == "responses":
        options["wire"] = "responses"
    name = MODELS[provider]
    if model:
        name = f"{name.partition(':')[0]}:{model}"
    return make(name, base_url=server.base_url(provider), **options)


def two_rounds(adapter: Adapter, *, step: str = "step-1", **generation: Any) -> list[Reply]:
    """A first round that will be continued, and the second that continues it."""

    async def run() -> list[Reply]:
        try:
            first = first_round("x" * 8000)
            asked = request(first, continues=True, step=step, **generation)
            one = await adapter.ask(asked, Pictures())
            again = request(first.then(one, user("Answer.")), step=step, **generation)
            return [one, await adapter.ask(again, Pictures())]
        finally:
            await adapter.close()

    return asyncio.run(run())


def ask(adapter: Adapter, *requests: Request) -> list[Reply]:
    """The replies to the requests, asked one after the other; closes the adapter."""

    async def run() -> list[Reply]:
        try:
            return [await adapter.ask(r, Pictures()) for r in requests or (request(),)]
        finally:
            await adapter.close()

    return asyncio.run(run())


def bodies(server: WireServer) -> Sequence[Any]:
    return [ask.body for ask in server.asks]
