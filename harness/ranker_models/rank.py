"""`vlm-eval rankers rank`: rank the candidates of a benchmark once and store the ranks.

A ranking may be killed and continued. Finished steps are appended to a file next to the output in
the order of the data, a line of JSON each, below a line that says what is ranked. When every step
is there, they are written to the output, and the file is removed.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from harness import __version__
from harness.benchmarks import StepDataset, recorded_steps
from harness.candidates import page_of
from harness.commands.options import DATA, read_options, setting_options
from harness.errors import UserError
from harness.parquet import check_new
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
    ranks, ids = open_ranks(ranker), [entry.unit_id for entry in dataset.entries]
    settings = {
        "ranker": ranks.name,
        "digest": ranks.digest,
        "version": __version__,
        "benchmark": dataset.fingerprint,
    }
    selected = hashlib.sha256("\n".join(ids).encode()).hexdigest()
    head = _line({**settings, "steps": selected})
    partial = out.with_name(f"{out.name}.partial")
    partial.parent.mkdir(parents=True, exist_ok=True)
    cut_torn(partial)
    finished = read_lines(partial)
    first = next(finished, None)
    if first is not None and first.data != head:
        raise UserError(
            f"{partial} holds steps of another ranking (other data, ranker or version); remove it "
            "or name another output file"
        )
    known = sum(1 for _ in finished)
    with click.progressbar(
        length=len(ids), label="ranking", file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        bar.update(known)
        for start in range(known, len(ids), STEPS_AT_A_TIME):
            some = dataset.entries[start : start + STEPS_AT_A_TIME]
            lines: dict[str, bytes] = {}
            for row in replace(dataset, entries=some).rows():
                page = page_of(row)
                scored = ranks.scored(row, page) if isinstance(ranks, ByScore) else None
                order = list(ranks.of(row, page) if scored is None else scored)
                scores = None if scored is None else list(scored.values())
                lines[row.unit_id] = _line([row.unit_id, order, scores])
            begins = [head] if first is None and start == 0 else []
            append_lines(partial, [*begins, *(lines[entry.unit_id] for entry in some)])
            bar.update(len(some))
    stored = (json.loads(line.data) for line in read_lines(partial) if line.number > 1)
    steps = (RankedStep(step_id, order, range(len(order)), s) for step_id, order, s in stored)
    write_ranks(out, settings, steps, overwrite=overwrite)
    partial.unlink(missing_ok=True)
    return known


def _line(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode() + b"\n"
