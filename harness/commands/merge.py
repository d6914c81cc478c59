"""`vlm-eval merge`: join the shards of a run."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="The new run.")
def merge(runs: tuple[Path, ...], out: Path) -> int:
    """Join runs that differ in nothing but their shard.

    Steps that several runs hold must be equal. The result is a run like any other.
    """
    from harness.commands.output import output
    from harness.evaluation.merge import merge_runs

    return merge_runs(runs, out, output())
