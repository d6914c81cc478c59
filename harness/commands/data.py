"""`vlm-eval data`: look at data files, and make them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.commands.listing import unit_lines
from harness.commands.main import LazyGroup
from harness.commands.options import DATA, read_options, setting_options
from harness.printing import say

if TYPE_CHECKING:
    from harness.benchmarks import Benchmark
    from harness.settings import Settings


@click.group(
    cls=LazyGroup,
    later={
        "record": ("harness.recording.session:record", "Record a task on your own site."),
    },
)
def data() -> None:
    """Look at the data of a benchmark, and import or record data."""


@data.command(short_help="Check your own steps, or count the rows of a benchmark.")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@setting_options(DATA)
def check(file: Path | None, **_: Any) -> int:
    """Check your own data, or count the rows of a selection.

    With FILE (JSON lines, parquet, a folder of them, or a schema file), read every row of recorded
    steps and check columns, types, ids, pages, elements and screenshots. Each problem is reported
    once, with the number of rows and the first of them; errors end with exit code 2. A folder of
    another benchmark's files is known by its name: its units are counted, and unusual ones are
    printed, with digests. Without FILE, decode every row of the benchmark, and count them by
    split and operation, and how many are valid, or why not.
    """
    from harness.benchmarks import SimpleBenchmark, StepBenchmark, benchmark, holding
    from harness.errors import DataError

    settings = read_options()
    found = [benchmark(settings.benchmark)]
    own = "benchmark" in settings.given and not isinstance(found[0], StepBenchmark)
    if file is not None:
        settings = replace(settings, data=str(file))
        if not own and not isinstance(found[0], SimpleBenchmark):
            found = holding(file) or [SimpleBenchmark()]
    sound = True
    for source in found:
        splits = [settings.split]
        if file is not None and not settings.split:
            # Files of steps are of one split each, by their names or all of them.
            each = () if isinstance(source, StepBenchmark) else source.splits
            splits = [(split,) for split in each] or [()]
        try:
            for some in splits:
                sound &= _check(source, replace(settings, benchmark=source.name, split=some))
        except DataError as error:
            if len(found) == 1 and not error.problems:
                raise
            for problem in error.problems:
                say(f"error: {problem}")
            if not error.problems:
                say(f"{source.name}: error: {error}")
            sound = False
    return 0 if sound else 2


def _check(source: Benchmark, settings: Settings) -> bool:
    """Print the contents of a benchmark's data; return True if it is free of errors."""
    from harness.benchmarks import Items, SimpleBenchmark, recorded_steps
    from harness.benchmarks.check import check_rows, check_steps
    from harness.planning.data import open_data

    if isinstance(source, SimpleBenchmark):
        data = Path(settings.data) if settings.data else None
        checked = check_steps(source, data)
    else:
        dataset = open_data(settings, source).part
        for notice in dataset.notices:
            say(notice, err=True)
        if isinstance(dataset, Items):
            for line in dataset.lines(dataset.declared or source.declared):
                say(line)
            return True
        checked = check_rows(recorded_steps(dataset), source.declared)
    for line in checked.lines():
        say(line)
    return not checked.errors


@data.command("list", short_help="List steps with their tasks and actions.")
@setting_options(DATA)
def list_steps(**_: Any) -> int:
    """List the steps of a selection: number in the task, recorded action, id.

    `vlm-eval show TASK:3` shows the third step of a task as a model would see it.
    """
    from harness.planning.data import open_data

    dataset = open_data(read_options()).part
    for notice in dataset.notices:
        say(notice, err=True)
    for line in unit_lines(dataset.listed()):
        say(line)
    return 0
