"""The benchmark runs to its end on a small machine, and its arithmetic is right."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

from hypothesis import given
from hypothesis import strategies as st

from benchmarks import kernel_time, local_two_rounds
from benchmarks.model_shapes import build
from benchmarks.shape_figures import SHAPES
from benchmarks.two_rounds import Measured

SMALL = ("--steps", "4", "--naive-steps", "1", "--batch-size", "2", "--tokens", "4")


@pytest.mark.parametrize("shape", ["tiny", "tiny-qwen-vl"])
def test_every_way_is_measured_and_reuse_reads_each_prompt_once(shape: str) -> None:
    said: list[str] = []
    arguments = local_two_rounds.parse(
        ["--shape", shape, "--device", "cpu", "--max-pixels", "20000", *SMALL]
    )
    naive, batched, reuse = local_two_rounds.run(arguments, said.append)
    assert (naive.steps, batched.steps, reuse.steps) == (1, 4, 4)
    assert (naive.tokens, batched.tokens, reuse.tokens) == (8, 32, 32)
    assert (naive.rows, batched.rows, reuse.rows) == (1, 2, 2)
    assert batched.prompt == reuse.prompt
    assert "not measured (no GPU)" in "\n".join(said)
    assert sum(line.startswith("reuse is ") for line in said) == 2


def test_a_pretended_device_measures_the_waiting_alone() -> None:
    said: list[str] = []
    line = ["--device", "cpu", "--max-pixels", "20000", "--pretend", "0.05", *SMALL]
    (pretended,) = local_two_rounds.run(local_two_rounds.parse(line), said.append)
    assert (pretended.steps, pretended.tokens) == (4, 32)
    assert pretended.seconds > 4 * 0.05
    assert pretended.idle is not None and pretended.starved is not None
    assert 0 <= pretended.idle <= pretended.starved <= 1


def test_the_table_is_as_wide_as_its_head() -> None:
    measured = [Measured("pretended", 10, 2000, 100.0, 31.9, 2676.0, 0.139, 0.0, 0.001, 2**34)]
    head, line = local_two_rounds.table(measured)
    assert len(line) == len(head)
    assert line.split() == [
        *("pretended", "10", "360", "20", "31.9", "2676", "13.9%", "0.0%", "0.1%"),
        *("16.0", "GB", "1.00"),
    ]


def test_shapes_are_listed_for_every_family() -> None:
    assert {"tiny", "qwen2-vl-7b", "qwen2.5-vl-7b", "qwen3-vl-8b", "qwen-vl"} <= set(SHAPES)
    assert callable(build)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=20))
def test_time_in_several_kernels_at_once_counts_once(pairs: list[tuple[int, int]]) -> None:
    intervals = [(begin, begin + length) for begin, length in pairs]
    covered = {moment for begin, end in intervals for moment in range(begin, end)}
    assert kernel_time.union(intervals) == len(covered)


def test_a_profile_without_a_gpu_has_no_kernels_and_a_short_run_says_nothing() -> None:
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as watched:
        torch.ones(8, 8) @ torch.ones(8, 8)
    assert list(watched.profiler.kineto_results.events())
    assert kernel_time.kernels(watched) == []

    async def over_at_once() -> None:
        return None

    assert asyncio.run(kernel_time.watched(over_at_once(), lambda: True, 60.0, "CPU")) is None

    async def goes_on() -> None:
        # Much longer than what is watched, also on a busy machine.
        await asyncio.sleep(3)

    found = asyncio.run(kernel_time.watched(goes_on(), lambda: True, 0.1, "CPU"))
    assert found is not None
    assert 0.1 <= found.seconds < 3
    assert found.share == 0
