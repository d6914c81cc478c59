"""`vlm-eval rank`: rank the candidates of a benchmark, or convert published scores."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from harness.commands.options import DATA, is_given, read_options, setting_options
from harness.errors import UserError
from harness.printing import say

_MODEL_OPTIONS = ("revision", "device", "dtype", "batch_size")


@click.group(invoke_without_command=True)
@click.option("--ranker", default="lexical", show_default=True, help="One of the rankers above.")
@click.option(
    "--out", "-o", type=click.Path(path_type=Path), help="Parquet file to write the ranks to."
)
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
@click.option(
    "--workers", type=click.IntRange(min=1), help="Number of processes. Default: one per processor."
)
@click.option("--revision", help="Branch, tag or commit of a cross-encoder on the hub.")
@click.option(
    "--device",
    help="Device of a cross-encoder: cpu, cuda, cuda:1, mps. Default: the best there is.",
)
@click.option("--dtype", help="Precision of a cross-encoder: float32 (default), bfloat16, float16.")
@click.option(
    "--batch-size", type=click.IntRange(min=1), help="Pairs that a cross-encoder reads at a time."
)
@setting_options(DATA)
@click.pass_context
def rank(ctx: click.Context, /, **values: Any) -> int:
    """Rank the candidates of every step, best first, and store the ranks in a file.

    \b
    Rankers: lexical            words of the task, no model
             cross-encoder:PATH a checkpoint in a folder or on the hub (needs the extra rank)
             FILE               scores or ranks, JSON or parquet

    If the command is interrupted or killed, run it again to continue. Use the file in a run with
    --candidates ranker --ranker FILE, and measure it with vlm-eval recall.
    """
    if ctx.invoked_subcommand is not None:
        misplaced = [name for name in ctx.params if is_given(ctx, name)]
        if misplaced:
            option = misplaced[0].replace("_", "-")
            raise UserError(
                f"--{option} has no effect before {ctx.invoked_subcommand}; leave it out or put it "
                f"after {ctx.invoked_subcommand}"
            )
        return 0
    return _rank(ctx, values)


@rank.command(short_help="Convert Mind2Web's published scores from their pickle.")
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--out", "-o", required=True, type=click.Path(path_type=Path), help="Parquet file to write."
)
@click.option(
    "--name",
    default="mind2web",
    show_default=True,
    help="Ranker that made the scores. Only mind2web is compared with published rows.",
)
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
def convert(source: Path, out: Path, name: str, overwrite: bool) -> int:
    """Convert SOURCE, a pickle such as scores_all_data.pkl, into a file of ranks.

    A pickle can contain code. Only plain dicts, lists, strings, numbers and the classes
    collections.defaultdict and builtins.dict are accepted; anything else is refused by name before
    anything in the file is called.
    """
    from harness.ranker_models.pickles import convert as convert_pickle

    done = convert_pickle(source, out, ranker=name, overwrite=overwrite)
    parts = " and ".join(done.parts)
    say(f"{out}: {parts} of {done.candidates:,} candidates in {done.steps:,} steps")
    return 0


def with_options(ranker: str, values: dict[str, Any]) -> str:
    """Append the options of a cross-encoder to its name. Raises `UserError` for other rankers."""
    options = {name: values.get(name) for name in _MODEL_OPTIONS if values.get(name) is not None}
    if not options:
        return ranker
    if not ranker.startswith("cross-encoder:"):
        option = next(iter(options)).replace("_", "-")
        raise UserError(f"--{option} is for a cross-encoder, not for --ranker {ranker}")
    return ranker + "".join(f",{name.replace('_', '-')}={value}" for name, value in options.items())


def _rank(ctx: click.Context, values: dict[str, Any]) -> int:
    from adapters.processes import available_cpus
    from harness.benchmarks import recorded_steps
    from harness.planning.data import open_data
    from harness.ranker_models.job import Source, rank_benchmark
    from harness.tables import counted

    out: Path | None = values["out"]
    if out is None:
        raise UserError("name a file for the ranks with --out FILE.parquet")
    ranker = with_options(values["ranker"], values)
    if values["workers"] and ranker.startswith("cross-encoder:"):
        raise UserError(
            "--workers has no effect on a cross-encoder, which runs on one device; leave it out"
        )
    settings = read_options(distractors=0)
    dataset = recorded_steps(open_data(settings).part)
    for notice in dataset.notices:
        say(notice, err=True)
    with click.progressbar(
        length=len(dataset), label="ranking", file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        done = rank_benchmark(
            dataset,
            Source(settings.benchmark, settings.data, settings.splits),
            ranker,
            out,
            workers=values["workers"] or available_cpus(),
            overwrite=values["overwrite"],
            on_progress=lambda count: bar.update(count - bar.pos),
        )
    resumed = f" ({done.resumed} of them by an earlier call)" if done.resumed else ""
    say(f"{out}: ranks of {counted(done.steps, 'step')}{resumed} by {ranker}")
    return 0
