"""Benchmarks: recorded steps, read lazily and in file order, and units of other kinds.

    dataset = open_steps("multimodal-mind2web", splits=["test_task"], data=Path("shards"))
    some = dataset.select(Filters({"website": ("united",)}, limit=10))
    for row in some.rows(): ...       # one row group open at a time

`BENCHMARKS` is the registry of benchmarks (entry-point group `vlm_eval.benchmarks`). Errors in data
raise a `DataError` with a one-line message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.benchmarks.catalog import (
    BENCHMARKS,
    actions_of,
    benchmark,
    declared,
    holding,
    note_of,
    open_benchmark,
    open_steps,
    step_benchmark,
    step_data,
)
from harness.benchmarks.contract import Benchmark, Dataset, Filters, SplitSize
from harness.benchmarks.index import StoredStep
from harness.benchmarks.items import Items
from harness.benchmarks.recorded import StepBenchmark, StepDataset, recorded_steps

if TYPE_CHECKING:
    from harness.benchmarks.steps import SimpleBenchmark

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Dataset",
    "Filters",
    "Items",
    "SimpleBenchmark",
    "SplitSize",
    "StepBenchmark",
    "StepDataset",
    "StoredStep",
    "actions_of",
    "benchmark",
    "declared",
    "holding",
    "note_of",
    "open_benchmark",
    "open_steps",
    "recorded_steps",
    "step_benchmark",
    "step_data",
]


def __getattr__(name: str) -> object:
    # Imported on first use: listing benchmarks does not need the code that reads pages.
    if name == "SimpleBenchmark":
        from harness.benchmarks.steps import SimpleBenchmark

        return SimpleBenchmark
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
