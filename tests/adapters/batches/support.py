"""A batch from its lines to its results, for the tests of every provider."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

from adapters import Adapter, Request
from adapters.batches.contract import Deferrable, Deferring, Outcome, RemoteBatch
from tests.adapters.support import Pictures, adapter_for, request
from tests.servers import Provider, WireServer

T = TypeVar("T")
TOKEN = "vlm-eval-0123456789abcdef"


def id_of(number: int) -> str:
    return f"v{number:040x}"


@dataclass
class Sent:
    """What was sent, and what came of it."""

    ids: list[str]
    results: list[tuple[str, Outcome]] = field(default_factory=list)
    batch: RemoteBatch | None = None
    uploaded: str = ""

    @property
    def outcomes(self) -> list[object]:
        """One per request, in order; None where there is none."""
        by_id = dict(self.results)
        return [by_id.get(id) for id in self.ids]


def deferring(adapter: Adapter) -> Deferring:
    return cast(Deferrable, adapter).deferring()


def use(adapter: Adapter, what: Callable[[Deferring], Awaitable[T]]) -> T:
    """What a batch interface does, in a loop of its own; closes the adapter."""

    async def run() -> T:
        try:
            return await what(deferring(adapter))
        finally:
            await adapter.close()

    return asyncio.run(run())


async def write(
    provider: Deferring, path: Path, requests: Sequence[Request]
) -> list[dict[str, object]]:
    """Write requests to a file. Returns the parameters of each."""
    sent = []
    with path.open("wb") as file:
        for number, one in enumerate(requests):
            line = await provider.line(id_of(number), one, Pictures())
            assert b"\n" not in line.data
            file.write(line.data + b"\n")
            sent.append(dict(line.sent))
    return sent


async def ended(provider: Deferring, id: str, looks: int = 20) -> RemoteBatch:
    for _ in range(looks):
        batch = await provider.poll(id)
        if batch.ended:
            return batch
    raise AssertionError(f"{batch.status} after {looks} looks")


async def through(
    provider: Deferring, folder: Path, requests: Sequence[Request], *, clean: bool = False
) -> Sent:
    """Send requests in one batch, and read what comes of them."""
    path = folder / "0001.requests.jsonl"
    sent = await write(provider, path, requests)
    done = Sent([id_of(number) for number in range(len(requests))])
    token = f"vlm-eval-{secrets.token_hex(8)}"
    done.uploaded = await provider.upload(token, path)
    begun = await provider.create(token, path, done.uploaded, len(requests))
    done.batch = await ended(provider, begun.id)
    async for line in provider.fetch(done.batch):
        if (id := provider.id_of(line)) in done.ids:
            number = done.ids.index(id)
            done.results.append((id, provider.read(line, requests[number], sent[number])))
    if clean:
        await provider.clean(done.batch, done.uploaded)
    return done


def batch(provider: Provider, server: WireServer, folder: Path, *requests: Request) -> Sent:
    """Requests through one batch of a provider."""
    asked = requests or tuple(request(step=f"step-{n}") for n in range(3))
    return use(adapter_for(provider, server), lambda one: through(one, folder, asked))
