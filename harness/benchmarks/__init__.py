"""Benchmarks: where steps come from, read lazily and in file order.

    dataset = open_benchmark("multimodal-mind2web", splits=["test_task"], data=Path("shards"))
    some = dataset.select(Filters(websites=("united",), limit=10))
    for row in some.rows(): ...       # one row group open at a time

A benchmark is a name in `BENCHMARKS` (entry-point group `vlm_eval.benchmarks`) for an object with
the attributes of `Benchmark`. Whatever is wrong with data is a `DataError` of one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.benchmarks.contract import BENCHMARKS, Benchmark, benchmark, open_benchmark
from harness.benchmarks.dataset import Dataset
from harness.benchmarks.index import IndexEntry
from harness.benchmarks.selection import Filters

if TYPE_CHECKING:
    from harness.runs import StepData


def step_data(dataset: Mapping[str, Any], step_id: str) -> StepData:
    """The page and picture of a step of a run; see `harness.benchmarks.resolve`."""
    # Imported when called: runs are read without benchmarks, and benchmarks without runs.
    from harness.benchmarks.resolve import step_data as resolve

    return resolve(dataset, step_id)


__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Dataset",
    "Filters",
    "IndexEntry",
    "benchmark",
    "open_benchmark",
    "step_data",
]
