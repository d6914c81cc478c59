"""vLLM itself: what it is sent has the length it makes of it, and nothing of it outlives us."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch

from adapters import make
from adapters.contract import Generation
from adapters.conversation import Finish, Reply
from adapters.vllm.adapter import VllmAdapter
from tests.harness.pictures.test_store import alive
from tests.local import tiny
from tests.local.engine.test_adapter import request, saying
from tests.local.engine.test_ends import PARENT, gone
from tests.local.test_adapter import Pictures, next_round

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.timeout(900),
    pytest.mark.skipif(find_spec("vllm") is None, reason="the extra 'vllm' is not installed"),
]
GENERATION = Generation(max_tokens=24)
ARGUMENTS = {"enforce_eager": True, "gpu_memory_utilization": 0.3}


@pytest.fixture(scope="module", params=tiny.FAMILIES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.build(request.param, tmp_path_factory.mktemp("wide"), wide=True)


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[VllmAdapter]:
    adapter = make(
        f"vllm:{folder}",
        dtype="float32",
        max_num_seqs=8,
        max_model_len=4_096,
        engine_args=ARGUMENTS,
    )
    assert isinstance(adapter, VllmAdapter)
    yield adapter
    asyncio.run(adapter.close())


def test_both_rounds_are_those_of_transformers_and_the_second_is_read_from_the_cache(
    engine: VllmAdapter, folder: Path
) -> None:
    ours = make(f"hf:{folder}", dtype="float32", devices="cpu")
    side = 32 if "qwen3" in str(engine.info.settings["family"]) else 28
    asked = [request(number, GENERATION, words=40, side=side) for number in range(6)]
    pictures = Pictures()

    async def both() -> tuple[list[Reply], list[Reply]]:
        first = await asyncio.gather(*(engine.ask(one, pictures) for one in asked))
        again = [next_round(*pair) for pair in zip(asked, first, strict=True)]
        second = await asyncio.gather(*(engine.ask(one, pictures) for one in again))
        expected = [await ours.ask(one, pictures) for one in (*asked, *again)]
        return [*first, *second], expected

    replies, expected = asyncio.run(both())
    for reply, other in zip(replies, expected, strict=True):
        assert reply.usage is not None and other.usage is not None
        assert reply.usage.input == other.usage.input
    blocks = 128 if not torch.cuda.is_available() else 16
    for first, second in zip(replies[:6], replies[6:], strict=True):
        assert first.usage is not None and second.usage is not None
        known = first.usage.input + first.usage.output - 1
        assert second.usage.cached >= known // blocks * blocks
    if not torch.cuda.is_available():
        assert [r.native for r in replies] == [r.native for r in expected]


def test_the_same_seed_repeats_a_reply(engine: VllmAdapter) -> None:
    asked = replace(saying("go on"), generation=Generation(max_tokens=24, temperature=1.0))

    async def twice() -> list[Reply]:
        return [await engine.ask(asked, Pictures()) for _ in range(2)]

    one, other = asyncio.run(twice())
    assert one.native == other.native


def test_what_is_too_long_for_the_engine_is_told_apart(engine: VllmAdapter) -> None:
    longer = replace(engine.info, context_tokens=10**6)
    engine._info, before = longer, engine._info
    try:
        reply = asyncio.run(engine.ask(saying("a" * 9_000), Pictures()))
    finally:
        engine._info = before
    assert reply.finish is Finish.TOO_LONG


def test_a_killed_parent_leaves_no_process_of_the_engine(folder: Path) -> None:
    psutil = pytest.importorskip("psutil")
    code = PARENT.replace(
        'sys.argv[1]}")',
        f'sys.argv[1]}}", dtype="float32", max_model_len=4096, engine_args={ARGUMENTS!r})',
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    inner = [process.pid for process in psutil.Process(child).children(recursive=True)]
    assert len(inner) >= 2 and all(map(alive, inner))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone([child, *inner])
