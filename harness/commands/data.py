"""`vlm-eval data`: look at data files, and repack them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from harness.commands.options import DATA, read_options, setting_options
from harness.printing import printable


@click.group()
def data() -> None:
    """Look at the data of a benchmark, or prepare files for reading in little memory."""


@data.command(short_help="Count the rows of a selection.")
@setting_options(DATA)
def check(**_: Any) -> int:
    """Count the rows of a selection: by split, by operation, valid or why not."""
    from harness.evaluation.plan import open_data
    from harness.evaluation.table import counted

    dataset = open_data(read_options(distractors=0)).part
    for notice in dataset.notices:
        click.echo(notice, err=True)
    splits: dict[str, Counter[str]] = {}
    tasks: dict[str, set[str]] = {}
    for row in dataset.rows():
        counts = splits.setdefault(row.split, Counter())
        tasks.setdefault(row.split, set()).add(row.task_id)
        counts["rows"] += 1
        counts[row.operation] += 1
        counts["valid" if row.invalid is None else row.invalid] += 1
    for split, counts in splits.items():
        told = ", ".join(f"{n} {name}" for name, n in sorted(counts.items()) if name != "rows")
        rows, of = counted(counts["rows"], "row"), counted(len(tasks[split]), "task")
        click.echo(printable(f"{split}: {rows}, {of}; {told}"))
    return 0


@data.command(short_help="Rewrite parquet files with small row groups.")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--rows-per-group", type=click.IntRange(min=1), default=None, help="Default: 20.")
def repack(source: Path, target: Path, rows_per_group: int | None) -> int:
    """Rewrite parquet files with small row groups: SOURCE and TARGET are files or folders."""
    from harness.benchmarks.parquet import ROWS_PER_GROUP
    from harness.benchmarks.repack import repack as rewrite

    rewrite(source, target, rows_per_group=rows_per_group or ROWS_PER_GROUP, told=click.echo)
    return 0


@data.command("import-seeact", short_help="Turn SeeAct's query files into steps and ranks.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Parquet file.")
@click.option("--scores", type=click.Path(path_type=Path), help="Parquet file for the ranks.")
@click.option("--overwrite", is_flag=True, help="Replace files that exist.")
def import_seeact(files: tuple[Path, ...], out: Path, scores: Path | None, overwrite: bool) -> int:
    """Turn SeeAct's query files into steps, and their ranks into a file for --ranker.

    FILES are queries.jsonl or folders with such files. The steps have no screenshot, because the
    queries have none: run them with --benchmark multimodal-mind2web --data OUT --lost-rows, or use
    the ranks with Multimodal-Mind2Web itself.
    """
    from harness.evaluation.table import counted
    from harness.rankers.seeact_queries import import_queries

    done = import_queries(files, out, scores, overwrite=overwrite)
    click.echo(f"{out}: {counted(done.steps, 'step')} of {counted(done.lines, 'line')}")
    if scores is not None:
        click.echo(f"{scores}: ranks of {counted(done.ranked, 'step')}")
    return 0
