"""`vlm-eval merge`: join the shards of a run, and sum up the joined run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

import click

from harness.errors import RunDiffers, RunError
from harness.runs.directory import RunDirectory
from harness.runs.files import CALLS, STEPS, Blobs, read_lines, read_records
from harness.runs.manifest import (
    Manifest,
    Redone,
    Setup,
    check_reading,
    difference,
    identity,
    read_manifest,
)
from harness.runs.on_record import Head, StepKey, waiting_at

SHARD = "shard"
"""The key of the configuration that may differ between the runs of a merge."""


def merge_shards(runs: Sequence[Path], into: Path) -> None:
    """Write the lines of several runs of one configuration into a new run.

    Raises `RunDiffers` for runs of different setups, `RunError` for no runs, for two that have the
    same step, for one that waits for batches of its provider, or an `into` that exists.
    """
    if not runs:
        raise RunError("there is nothing to merge")
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise RunError(f"{into} exists already")
    for run in runs:
        if waiting := waiting_at(run):
            raise RunError(
                f"{run} waits for {waiting} of its provider: start it again until it is complete, "
                f"or end them with {waiting.command} --cancel"
            )
    manifests = [read_manifest(run) for run in runs]
    setup = _without_shard(manifests[0])
    for run, manifest in zip(runs, manifests, strict=True):
        check_reading(run, manifest)
        lines = difference(identity(setup), identity(_without_shard(manifest)))
        if lines:
            raise RunDiffers(run, lines)
    found: dict[StepKey, Path] = {}
    for run in runs:
        for key in {head.key for head in read_records(run / STEPS, Head)}:
            if key in found:
                raise RunError(f"step {key[0]} is in {found[key]} and {run}: shards share none")
            found[key] = run
    merged = {"merged": [str(run) for run in runs]}
    with RunDirectory.start(into, setup, merged) as directory:
        # No line exists yet: none of this is in the lines.
        directory.note_spent(sum(manifest.unrecorded for manifest in manifests))
        directory.note_redone(reduce(_joined, (manifest.redone for manifest in manifests)))
        for run in runs:
            Blobs(run).copy(directory.blobs)
            directory.copy_lines(_lines(run / CALLS), _lines(run / STEPS))
        for manifest in manifests:
            for role, known in manifest.answerers.items():
                for facts in known:
                    directory.note_answerer(role, facts, again=False)


def _joined(one: Redone | None, other: Redone | None) -> Redone | None:
    return other if one is None else one.joined(other)


def _lines(path: Path) -> Iterator[bytes]:
    return (line.data for line in read_lines(path))


def _without_shard(manifest: Manifest) -> Setup:
    config = {name: value for name, value in manifest.config.items() if name != SHARD}
    return replace(manifest, config=config)


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
    from harness.runs.run import settings_of
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
