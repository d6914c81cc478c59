"""Benchmarks: where steps come from, read lazily and in file order.

    dataset = open_benchmark("multimodal-mind2web", splits=["test_task"], data=Path("shards"))
    some = dataset.select(Filters(websites=("united",), limit=10))
    for row in some.rows(): ...       # one row group open at a time

A benchmark is a name in `BENCHMARKS` (entry-point group `vlm_eval.benchmarks`) for a `Benchmark`.
Whatever is wrong with data is a `DataError` of one line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.benchmarks.catalog import BENCHMARKS, benchmark, open_benchmark, step_data
from harness.benchmarks.contract import Benchmark
from harness.benchmarks.dataset import Dataset, Filters
from harness.benchmarks.index import IndexEntry

if TYPE_CHECKING:
    from harness.benchmarks.steps import SimpleBenchmark

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Dataset",
    "Filters",
    "IndexEntry",
    "SimpleBenchmark",
    "benchmark",
    "open_benchmark",
    "step_data",
]


def __getattr__(name: str) -> object:
    # What reads pages is not needed to list benchmarks.
    if name == "SimpleBenchmark":
        from harness.benchmarks.steps import SimpleBenchmark

        return SimpleBenchmark
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
