"""Shared code of scripts that time rendering: the recorded step, and medians of tasks in turn."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet

VARIABLE = "VLM_EVAL_TEST_DATA"


def arguments(doc: str | None, repetitions: int) -> tuple[Path, int]:
    """The folder `seeact-example` and the number of repetitions, off the command line.

    Leaves with status 2 when no folder is named. `doc` begins with a line for the help text,
    `repetitions` is the default.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0] if doc else None)
    parser.add_argument("folder", nargs="?", type=Path, default=os.environ.get(VARIABLE))
    parser.add_argument("--repetitions", type=int, default=repetitions)
    given = parser.parse_args()
    if given.folder is None:
        print(f"name the folder that holds seeact-example/, as an argument or in {VARIABLE}")
        sys.exit(2)
    return Path(given.folder) / "seeact-example", given.repetitions


def read_row(data: Path, columns: list[str]) -> dict[str, Any]:
    """Some columns of the recorded row of Multimodal-Mind2Web."""
    (row,) = parquet.read_table(
        data / "multimodal_mind2web_row.parquet", columns=columns
    ).to_pylist()
    return dict(row)


def medians(tasks: dict[str, Callable[[], object]], repetitions: int) -> dict[str, float]:
    """The median time of each task in milliseconds, the tasks taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repetitions):
        for name, task in tasks.items():
            started = time.perf_counter()
            task()
            seconds[name].append(time.perf_counter() - started)
    return {name: 1000 * statistics.median(times) for name, times in seconds.items()}


def print_times(times: dict[str, float]) -> None:
    """A line for each task."""
    for name, milliseconds in times.items():
        print(f"  {name:28} {milliseconds:6.3f} ms")
