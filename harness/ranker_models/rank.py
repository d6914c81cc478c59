"""`vlm-eval rankers rank`: rank the candidates of a benchmark once and store the ranks.

A ranking may be killed and continued. Finished steps are appended to a file next to the output, a
line of JSON each, below a line that says what is ranked. When every step is there, they are written
to the output in the order of the data, and the file is removed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from filelock import FileLock, Timeout

from harness import __version__
from harness.benchmarks import StepDataset, recorded_steps
from harness.candidates import page_of
from harness.commands.options import DATA, read_options, setting_options
from harness.errors import DataError, UserError
from harness.parquet_writing import check_new
from harness.planning.data import open_data
from harness.printing import say
from harness.rankers import ByScore, open_ranks
from harness.rankers.files import RankedStep, write_ranks
from harness.runs.files import append_lines, cut_torn, read_lines
from harness.settings import allow_code
from harness.tables import counted

STEPS_AT_A_TIME = 32


@click.command(short_help="Rank the candidates of a benchmark, and store the ranks.")
@click.option("--ranker", default="lexical", show_default=True, help="One of the rankers above.")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Parquet file.")
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
@setting_options(DATA)
def rank(ranker: str, out: Path, overwrite: bool, **_: Any) -> int:
    """Rank the candidates of every step, best first, and store the ranks in a file.

    \b
    Rankers: lexical            words of the task, no model
             cross-encoder:PATH a checkpoint in a folder or on the hub (needs the extra rank)
             FILE               scores or ranks, JSON or parquet

    Settings of a cross-encoder follow its path: cross-encoder:PATH,device=cuda,dtype=bfloat16
    (also batch-size= and revision=). If the command is interrupted or killed, run it again to
    continue. Use the file in a run with --benchmark-option candidates=ranker --ranker FILE, and
    measure it with vlm-eval rankers recall.
    """
    dataset = recorded_steps(open_data(read_options()).part)
    for notice in dataset.notices:
        say(notice, err=True)
    allow_code({"ranker": ranker})
    known = rank_benchmark(dataset, ranker, out, overwrite=overwrite)
    resumed = f" ({known} of them by an earlier call)" if known else ""
    say(f"{out}: ranks of {counted(len(dataset), 'step')}{resumed} by {ranker}")
    return 0


def rank_benchmark(dataset: StepDataset, ranker: str, out: Path, *, overwrite: bool = False) -> int:
    """Rank the candidates of every selected step and write the ranks to `out`, a parquet file.

    `ranker` is a name or file for `open_ranks`. Finished steps are kept in `OUT.partial`. Returns
    the number of steps that an earlier, interrupted call had ranked. Raises `UserError`, also if
    `OUT.partial` holds other ranks.
    """
    check_new(out, overwrite=overwrite)
    ranks = open_ranks(ranker)
    settings = {
        "ranker": ranks.name,
        "digest": ranks.digest,
        "version": __version__,
        "benchmark": dataset.fingerprint,
    }
    partial = out.with_name(f"{out.name}.partial")
    bar = click.progressbar(
        length=len(dataset), label="ranking", file=sys.stderr, hidden=not sys.stderr.isatty()
    )
    with _alone(partial), bar:
        places = _places(partial, _line(settings))
        todo = [entry for entry in dataset.entries if entry.unit_id not in places]
        known = len(dataset) - len(todo)
        bar.update(known)
        for start in range(0, len(todo), STEPS_AT_A_TIME):
            some = replace(dataset, entries=tuple(todo[start : start + STEPS_AT_A_TIME]))
            lines = [] if start or places else [_line(settings)]
            for row in some.rows():
                page = page_of(row)
                scored = ranks.scored(row, page) if isinstance(ranks, ByScore) else None
                ids = list(ranks.of(row, page) if scored is None else scored)
                scores = None if scored is None else list(scored.values())
                lines.append(_line([row.unit_id, ids, scores]))
            append_lines(partial, lines)
            bar.update(len(some))
        places = _places(partial, _line(settings))
        ranked = (_entry(partial, places[step.unit_id]) for step in dataset.entries)
        write_ranks(out, settings, ranked, overwrite=overwrite)
        partial.unlink()
    return known


def _entry(partial: Path, place: int) -> RankedStep:
    with partial.open("rb") as file:
        file.seek(place)
        step_id, ids, scores = json.loads(file.readline())
    return RankedStep(step_id, ids, range(len(ids)), scores)


@contextmanager
def _alone(partial: Path) -> Iterator[None]:
    """Keep other processes from ranking into the same file."""
    partial.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(f"{partial}.lock")
    try:
        with lock.acquire(timeout=0):
            try:
                yield
            finally:
                Path(lock.lock_file).unlink(missing_ok=True)
    except Timeout:
        raise DataError(f"another process is ranking into {partial}") from None


def _line(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode() + b"\n"


def _places(partial: Path, settings: bytes) -> dict[str, int]:
    """Return where each finished step begins in the file; raise `UserError` for another file."""
    cut_torn(partial)
    lines = read_lines(partial)
    head = next(lines, None)
    if head is not None and head.data != settings:
        raise UserError(
            f"{partial} holds steps of another ranking (other data, ranker or version); remove it "
            "or name another output file"
        )
    return {json.loads(line.data)[0]: line.offset for line in lines}
