"""`vlm-eval rank`: rank the candidates of a benchmark once, or convert published scores."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from harness.commands.options import DATA, is_given, read_options, setting_options
from harness.errors import UserError

_MODEL_OPTIONS = ("revision", "device", "dtype", "batch_size")


@click.group(invoke_without_command=True)
@click.option("--ranker", default="lexical", show_default=True, help="See above.")
@click.option("--out", "-o", type=click.Path(path_type=Path), help="Parquet file for the ranks.")
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
@click.option(
    "--workers", type=click.IntRange(min=1), help="Processes; default: as many as processors."
)
@click.option("--revision", help="Of a cross-encoder on the hub: a branch, tag or commit.")
@click.option("--device", help="Of a cross-encoder: cpu, cuda, cuda:1, mps; default: the best.")
@click.option("--dtype", help="Of a cross-encoder: float32 (default), bfloat16, float16.")
@click.option("--batch-size", type=click.IntRange(min=1), help="Pairs that a cross-encoder reads.")
@setting_options(DATA)
@click.pass_context
def rank(ctx: click.Context, /, **values: Any) -> int:
    """Rank the candidates of every step, best first, and store the ranks.

    \b
    Rankers: lexical            words of the task, no model
             cross-encoder:PATH a checkpoint, local or of the hub (needs the extra rank)
             FILE               scores in JSON or parquet

    A call that was stopped or killed is continued by the same call. The file goes into a run with
    --candidates ranker --ranker FILE, and into vlm-eval recall.
    """
    if ctx.invoked_subcommand is not None:
        given = [name for name in ctx.params if is_given(ctx, name)]
        if given:
            option = given[0].replace("_", "-")
            raise UserError(
                f"--{option} has no effect before {ctx.invoked_subcommand}; leave it out, or put "
                "it behind"
            )
        return 0
    return _rank(ctx, values)


@rank.command(short_help="Take Mind2Web's published scores out of their pickle.")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Parquet file.")
@click.option(
    "--name",
    default="mind2web",
    show_default=True,
    help="Who made the scores; runs on others do not stand beside published rows.",
)
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
def convert(source: Path, out: Path, name: str, overwrite: bool) -> int:
    """Convert SOURCE, a pickle such as scores_all_data.pkl, into a file of ranks, once.

    A pickle can hold code. Here only plain dicts, lists, strings and numbers and the classes
    collections.defaultdict and builtins.dict are taken; anything else is refused by its name, and
    nothing of the file is ever called.
    """
    from harness.rankers.pickles import convert as take_apart

    done = take_apart(source, out, ranker=name, overwrite=overwrite)
    parts = " and ".join(done.parts)
    click.echo(f"{out}: {parts} of {done.candidates:,} candidates in {done.steps:,} steps")
    return 0


def with_options(ranker: str, values: dict[str, Any]) -> str:
    """The ranker's name with the options of its model, which no other kind of ranker has."""
    given = {name: values.get(name) for name in _MODEL_OPTIONS if values.get(name) is not None}
    if not given:
        return ranker
    if not ranker.startswith("cross-encoder:"):
        option = next(iter(given)).replace("_", "-")
        raise UserError(f"--{option} is for a cross-encoder, not for --ranker {ranker}")
    return ranker + "".join(f",{name.replace('_', '-')}={value}" for name, value in given.items())


def _rank(ctx: click.Context, values: dict[str, Any]) -> int:
    from adapters.processes import available_cpus
    from harness.evaluation.plan import open_data
    from harness.rankers.job import Source, rank_benchmark
    from harness.tables import counted

    out: Path | None = values["out"]
    if out is None:
        raise UserError("name the file for the ranks with --out FILE.parquet")
    ranker = with_options(values["ranker"], values)
    if values["workers"] and ranker.startswith("cross-encoder:"):
        raise UserError("--workers has no effect on a cross-encoder, which fills a device; omit it")
    settings = read_options(distractors=0)
    dataset = open_data(settings).part
    for notice in dataset.notices:
        click.echo(notice, err=True)
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
    click.echo(f"{out}: ranks of {counted(done.steps, 'step')}{resumed} by {ranker}")
    return 0
