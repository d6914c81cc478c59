"""Processor time of a hosted call, against an HTTP client that only sends the bytes.

    python benchmarks/hosted_call.py --rounds 5

Every call of the sample in SeeAct's two rounds, with its picture (prepared beforehand), goes to a
separate server process: through the provider's adapter, from the conversation to the checked
reply, and as the same bytes through a bare `httpx2.AsyncClient`, in turns. Only the processor time
of this process counts.

Exit status 1 when a provider's calls take more than `--require` times the bare client's time: 2.5
times, 3.5 for Google, whose SDK types every call anew.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2

from adapters import Reply, Request, make
from harness.dialogue import Ask, hold
from harness.pictures import PictureStore
from harness.planning.model import generation
from harness.planning.plan import plan_run
from harness.settings import Settings, read_settings

MODELS = {
    "openai": "openai:gpt-5.4",
    "anthropic": "anthropic:claude-sonnet-5-5",
    "google": "google:gemini-3.8-flash",
}
MOST = {"google": 3.5}
KEY = "no-real-key-0123456789"
DESCRIPTION = "I would click the button that searches for flights."
Work = Callable[[], Awaitable[object]]


def sample_requests(settings: Settings, store: PictureStore) -> list[Request]:
    """List every call of a run over the sample, with the pictures' sources in the store."""
    plan = plan_run(settings, asks=False)
    requests: list[Request] = []
    for question in plan.ready_of(plan.dataset):
        if question.unit.invalid is not None:
            continue
        for digest, data in question.sources.items():
            store.add(digest, data)

        def reply(ask: Ask, step: str = question.unit_id) -> Reply:
            requests.append(
                Request(ask.conversation, generation(settings), step, ask.place, ask.continues)
            )
            return Reply(DESCRIPTION)

        hold(plan.protocol.dialogue(question.view), reply)
    return requests


async def cpu_s(work: Work) -> float:
    """Seconds of processor time of this process, its threads included."""
    started = time.process_time()
    await work()
    return time.process_time() - started


async def measure(provider: str, port: int, rounds: int) -> tuple[float, float, float]:
    """Median seconds per call through the adapter and bare, and the mean bytes of a body."""
    model, root = MODELS[provider], f"http://127.0.0.1:{port}"
    url = root + "/v1" if provider == "openai" else root
    settings = read_settings({"model": model, "base_url": url, "benchmark": "sample"})
    async with PictureStore(cache_bytes=1 << 30) as store:
        requests = sample_requests(settings, store)
        adapter: Any = make(model, base_url=url, api_key=KEY)
        bodies: list[httpx2.Request] = []
        async with httpx2.AsyncClient(timeout=60) as client:
            send = client.send

            async def noted(request: httpx2.Request, **options: Any) -> httpx2.Response:
                bodies.append(request)
                return await send(request, **options)

            # The first pass prepares the pictures, opens the connections and notes the bytes.
            adapter_client = adapter.http
            through = adapter_client.send
            adapter_client.send = noted
            for request in requests:
                await adapter.ask(request, store)
            adapter_client.send = through

            async def ours() -> None:
                for request in requests:
                    await adapter.ask(request, store)

            async def bare() -> None:
                for body in bodies:
                    await client.post(body.url, content=body.content, headers=body.headers)

            times = [(await cpu_s(ours), await cpu_s(bare)) for _ in range(rounds)]
        await adapter.close()
    count = len(requests)
    mine, theirs = (statistics.median(column) / count for column in zip(*times, strict=True))
    return mine, theirs, statistics.mean(len(body.content) for body in bodies)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--provider", choices=MODELS, action="append")
    parser.add_argument("--require", type=float)
    given = parser.parse_args()
    over = False
    with subprocess.Popen(
        [sys.executable, "-m", "tests.servers", "--reply", DESCRIPTION],
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            port = int(server.stdout.readline())
            for provider in given.provider or MODELS:
                mine, bare, size = asyncio.run(measure(provider, port, given.rounds))
                over |= mine / bare > (given.require or MOST.get(provider, 2.5))
                print(
                    f"{provider:10} {1000 * mine:5.2f} ms a call, bare {1000 * bare:5.2f} ms: "
                    f"{mine / bare:.2f} times, bodies of {size / 1000:,.0f} kB on average",
                    flush=True,
                )
        finally:
            server.terminate()
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
