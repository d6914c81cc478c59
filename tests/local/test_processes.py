"""Workers in processes of their own: the same replies, and a clean end whatever happens."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch

from adapters.contract import AdapterInfo, Fatal, Fault
from adapters.conversation import Reply
from adapters.local import unloaded
from adapters.local.adapter import LocalAdapter
from adapters.local.contract import Loaded, Plan
from adapters.local.options import LocalOptions
from adapters.local.start import ProcessWorker, start_workers
from adapters.local.worker import Ready, ThreadWorker
from adapters.processes.child import receive, send
from tests.harness.pictures.test_store import alive
from tests.local.conftest import Checkpoint
from tests.local.test_adapter import Pictures, next_round, replies, request

FAMILY = "qwen2.5-vl"


@pytest.fixture(scope="module")
def options(checkpoint: Checkpoint) -> LocalOptions:
    return LocalOptions("hf", model_path=str(checkpoint(FAMILY)), batch_size=8)


@pytest.fixture(scope="module")
def model(options: LocalOptions) -> Loaded:
    return unloaded.load(options, "cpu")


def adapter(loaded: Loaded, workers: list[ProcessWorker] | list[ThreadWorker]) -> LocalAdapter:
    info = AdapterInfo("hf:tiny", "tiny", "local", context_tokens=loaded.context_tokens)
    return LocalAdapter(info, loaded.family, workers)


def test_messages_come_back_as_they_went() -> None:
    tensors = [
        torch.arange(6, dtype=torch.int64).reshape(2, 3),
        torch.randn(3, 5).to(torch.bfloat16)[:, ::2],
        torch.empty(0, 4),
        torch.tensor(7.0),
        torch.tensor([True, False]),
    ]
    fault = Fault("server", "out of memory", 3.0)
    stream = io.BytesIO()
    for message in (tensors, fault):
        send(stream, message)
    stream.seek(0)
    for sent, got in zip(tensors, receive(stream), strict=True):
        assert sent.dtype == got.dtype and sent.shape == got.shape and torch.equal(sent, got)
    got = receive(stream)
    assert (got.kind, str(got), got.retry_after_s) == ("server", "out of memory", 3.0)
    with pytest.raises(EOFError):
        receive(stream)


async def hold(
    local: LocalAdapter, between: Callable[[], Awaitable[None]] | None = None
) -> tuple[list[Reply], list[Reply]]:
    """Both rounds of six steps, three at a time; `between` them something may happen."""
    pictures = Pictures()
    asked = [request(number) for number in range(6)]
    halves = [local.ask_many(part, pictures) for part in (asked[:3], asked[3:])]
    first = [reply for half in await asyncio.gather(*halves) for reply in replies(half)]
    if between is not None:
        await between()
    again = [next_round(*both) for both in zip(asked, first, strict=True)]
    halves = [local.ask_many(part, pictures) for part in (again[:3], again[3:])]
    second = [reply for half in await asyncio.gather(*halves) for reply in replies(half)]
    for one in asked:
        await local.release(one.unit_id)
    return first, second


def ids(rounds: tuple[list[Reply], list[Reply]]) -> list[object]:
    return [reply.token_ids for replies in rounds for reply in replies]


def test_two_processes_reply_as_one_thread_does_and_one_that_dies_is_replaced_by_the_other(
    model: Loaded, options: LocalOptions
) -> None:
    thread = adapter(model, [ThreadWorker(model, rows=8)])
    expected = ids(asyncio.run(hold(thread)))
    asyncio.run(thread.close())
    one, other = start_workers(options, ["cpu", "cpu"], threads=2)
    local = adapter(model, [one, other])
    assert (local.rules.size, local.rules.at_once) == (8, 4)

    assert ids(asyncio.run(hold(local))) == expected
    assert [worker.stats().rows for worker in (one, other)] == [6, 6]
    assert [worker.stats().reused for worker in (one, other)] == [3, 3]

    async def die() -> None:
        os.kill(one.pid, signal.SIGSTOP)
        lost = one.submit([])
        os.kill(one.pid, signal.SIGKILL)
        await asyncio.wrap_future(lost)
        assert one.ended is not None

    assert ids(asyncio.run(hold(local, die))) == expected
    told = "the worker on cpu ended: killed by signal 9 (SIGKILL), so perhaps the machine is out"
    assert [note.startswith(told) for note in local.notices()] == [True]
    assert other.stats().rows == 15

    # Closing does not wait for the batch under way, not even for a process that hangs.

    async def close() -> None:
        os.kill(other.pid, signal.SIGSTOP)
        lost = asyncio.ensure_future(local.ask_many([request(1)], Pictures()))
        await asyncio.sleep(0.2)
        await local.close()
        await local.close()
        with pytest.raises(Fatal, match=r"^the worker on cpu was closed"):
            await lost

    asyncio.run(close())
    assert not any(alive(worker.pid) for worker in (one, other))


def test_the_batch_of_a_process_that_dies_is_asked_again_and_without_any_left_the_run_stops(
    model: Loaded, options: LocalOptions
) -> None:
    # It never gets as far as loading, so that this costs nothing.
    worker = ProcessWorker(options, "cpu")
    worker._open.clear()
    worker.first.set_result(Ready(Plan(8, 8), None, {}))
    local = adapter(model, [worker])

    async def main() -> None:
        lost = asyncio.ensure_future(local.ask_many([request(1), request(2)], Pictures()))
        while not worker._open:
            await asyncio.sleep(0.01)
        os.kill(worker.pid, signal.SIGUSR1)
        results = await lost
        said = f"the worker on cpu ended: killed by signal {signal.SIGUSR1:d} (SIGUSR1)"
        assert [(type(result), str(result)) for result in results] == [(Fault, said)] * 2
        with pytest.raises(Fatal, match=r"^the worker on cpu ended: .*SIGUSR1.; replies so far"):
            await local.ask_many([request(1)], Pictures())
        await local.close()

    asyncio.run(main())


def test_what_cannot_be_loaded_is_said_in_the_words_of_the_loader(tmp_path: Path) -> None:
    with pytest.raises(Fatal, match="is not a checkpoint folder") as caught:
        start_workers(LocalOptions("hf", model_path=str(tmp_path)), ["cpu"])
    assert "\n" not in str(caught.value)


PARENT = """
import sys, time
from adapters.local.options import LocalOptions
from adapters.local.start import ProcessWorker
worker = ProcessWorker(LocalOptions("hf", model_path=sys.argv[1], batch_size=2), "cpu", threads=1)
print(worker.pid, flush=True)
time.sleep(60)
"""


def test_a_killed_parent_leaves_no_process_behind(options: LocalOptions) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(options.model_path)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert parent.stdout is not None
    # In the middle of whatever the child does; that is importing and loading for a while.
    pid = int(parent.stdout.readline())
    assert alive(pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 60
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(pid)
