"""Shards joined, and the joined run summed up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.evaluation.report import print_result
from harness.evaluation.rescoring import settings_of, task_rows_of
from harness.evaluation.summary import summarise
from harness.runs import RunDirectory, merge, open_run

if TYPE_CHECKING:
    from rich.console import Console


def merge_runs(runs: Sequence[Path], into: Path, console: Console) -> int:
    """Join `runs` in a new run, print its table, and finish it when nothing is missing.

    Returns the exit code: 1 when steps are missing or unsettled.
    """
    merge(runs, into)
    run = open_run(into)
    settings = settings_of(run)
    records = run.records()
    wanted = int(run.manifest.dataset.get("rows", 0)) * settings.times
    settled = sum(record.settled for record in records)
    if settled == wanted:
        with RunDirectory.start(into, run.manifest) as directory:
            rows = run.manifest.dataset.get("partial_tasks", {})
            summary = summarise(records, settings, rows, run.manifest)
            directory.finish(summary, complete=True)
    task_rows = task_rows_of(open_run(into), records)
    pictures, top_k = run.manifest.pictures, settings.top_k
    print_result(console, records, settings, task_rows, pictures, top_k)
    told = (
        f"complete: {into}"
        if settled == wanted
        else f"{settled} of {wanted} steps are settled: {into}. "
        "The line of a shard, with this folder and without --shard, asks for the rest."
    )
    console.print(told, markup=False, highlight=False, soft_wrap=True)
    return 0 if settled == wanted else 1
