"""Large files of lines and of results take no memory of their size."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.support import MODELS, PROVIDERS
from tests.servers import Answer, Provider, WireServer

CHILD = """
import asyncio, resource, sys
from pathlib import Path
from adapters import make

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

async def main(model, url, path):
    adapter = make(model, base_url=url, api_key="sk-0123456789")
    one = adapter.deferring()
    await one.find("token", 0, 0, set())
    before = peak()
    begun = await one.create("token", path, await one.upload("token", path), 30)
    batch = await one.poll(begun.id)
    size = 0
    async for line in one.fetch(batch):
        size += len(line)
    await adapter.close()
    print(size, peak() - before)

asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
"""


@pytest.mark.parametrize("provider", PROVIDERS)
def test_sending_and_fetching_need_less_than_half_of_the_file(
    provider: Provider, tmp_path: Path
) -> None:
    path = tmp_path / "0001.requests.jsonl"
    with path.open("wb") as file:
        for number in range(30):
            body: Any = {"messages": [{"role": "user", "content": "x" * 1_000_000}], "contents": []}
            ids: Any = {"custom_id": f"v{number}", "key": f"v{number}"}
            chat: Any = {"method": "POST", "url": "/v1/chat/completions", "body": body}
            line: Any = ids | {"openai": chat, "anthropic": {"params": body}}.get(
                provider, {"request": body}
            )
            file.write(json.dumps(line).encode() + b"\n")
    with WireServer(Answer("y" * 1_000_000)) as server:
        model, url = MODELS[provider], server.base_url(provider)
        done = subprocess.run(
            [sys.executable, "-c", CHILD, model, url, str(path)],
            capture_output=True,
            text=True,
            check=True,
            timeout=240,
        )
    size, grown = map(int, done.stdout.split())
    assert size > 30_000_000
    assert grown < 15, f"{grown} MB more for 30 MB each way"
