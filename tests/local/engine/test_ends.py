"""The engine's processes end with ours, whoever is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from adapters.contract import Fatal
from adapters.vllm.adapter import VllmAdapter
from tests.harness.pictures.test_store import alive
from tests.local.conftest import Checkpoint
from tests.local.engine.conftest import FAMILY, Log
from tests.local.engine.test_adapter import saying
from tests.local.test_adapter import Pictures

PARENT = """
import sys, time
from adapters import make
model = make(f"vllm:{sys.argv[1]}")
print(model._engine._child.pid, flush=True)
time.sleep(600)
"""


def gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + 60
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(alive, pids))


def test_a_killed_parent_leaves_no_process_of_the_engine(checkpoint: Checkpoint, log: Log) -> None:
    path = os.pathsep.join(path for path in sys.path if path)
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(checkpoint(FAMILY))],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    (cores,) = log("processes")
    assert all(map(alive, (child, *cores)))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone([child, *cores])


@pytest.mark.parametrize("victim", ["the process of the engine", "nobody"])
def test_a_killed_engine_ends_the_run_and_leaves_no_process(
    engine: Callable[..., VllmAdapter], log: Log, victim: str
) -> None:
    adapter = engine()
    (cores,) = log("processes")
    pid = adapter._engine._child.pid

    async def ask() -> None:
        waiting = asyncio.ensure_future(adapter.ask(saying("[wait]"), Pictures()))
        while not log("ids"):
            await asyncio.sleep(0.01)
        if victim == "nobody":
            await adapter.close()
            with pytest.raises(Fatal, match=r"^vLLM was closed"):
                await waiting
            return
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(Fatal, match=r"^vLLM ended: killed by signal 9 .*replies so far"):
            await waiting
        with pytest.raises(Fatal, match=r"^vLLM ended"):
            await adapter.ask(saying("more"), Pictures())
        # Also while nobody closes the adapter, as where both are killed.
        assert gone(cores)
        await adapter.close()

    asyncio.run(ask())
    assert gone([pid, *cores])
