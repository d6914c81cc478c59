"""`vlm-eval merge`: join the shards of a run, and sum up the joined run."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out", "-o", required=True, type=click.Path(path_type=Path), help="Directory of the new run."
)
def merge(runs: tuple[Path, ...], out: Path) -> int:
    """Join runs that differ only in their shard into a new run.

    No step may be in several of them.
    """
    from harness.benchmarks.scoring import on_record
    from harness.printing import terminal
    from harness.runs import RunDirectory, open_run
    from harness.runs.files import built_aside
    from harness.runs.finding import settings_of
    from harness.runs.shards import merge as merge_shards
    from harness.session.brief import print_result
    from harness.session.rescoring import grid_of
    from harness.session.summary import results_of, summarise

    with built_aside(out) as folder:
        merge_shards(runs, folder)
        run = open_run(folder)
        settings = settings_of(run)
        records = run.records()
        wanted = int(run.manifest.dataset.get("rows", 0)) * settings.times
        settled = sum(record.settled for record in records)
        if settled == wanted:
            with RunDirectory.start(folder, run.manifest) as directory:
                rows = run.manifest.dataset.get("partial_tasks", {})
                source = on_record(settings, run.manifest.declaration)
                found = results_of(records, settings, source, rows)
                summary = summarise(records, settings, source, run.manifest, found)
                directory.finish(summary, complete=True)
    console = terminal()
    print_result(console, grid_of(open_run(out), records, settings))
    state = (
        f"complete: {out}"
        if settled == wanted
        else f"{settled} of {wanted} {run.manifest.declaration.units} are answered: {out}. "
        "To ask about the rest, run a shard's command with this folder and without --shard."
    )
    console.print(state, markup=False, highlight=False, soft_wrap=True)
    return 0 if settled == wanted else 1
