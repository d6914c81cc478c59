"""`vlm-eval rankers`: list rankers, rank, convert published scores, measure and fine-tune."""

from __future__ import annotations

from pathlib import Path

import click

from harness.commands.listing import print_names
from harness.printing import say
from harness.ranker_models.pickles import convert as convert_pickle
from harness.ranker_models.rank import rank
from harness.ranker_models.recall import recall
from harness.ranker_models.train import train
from harness.rankers import RANKERS


@click.group(invoke_without_command=True)
@click.pass_context
def rankers(ctx: click.Context) -> None:
    """Rank the candidates of pages, and measure and fine-tune rankers.

    Without a command, list the rankers for --ranker, which also takes files of ranks.
    """
    if ctx.invoked_subcommand is None:
        print_names(RANKERS.names().items())


@rankers.command(short_help="Convert Mind2Web's published scores from their pickle.")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Parquet file.")
@click.option("--name", default="mind2web", show_default=True, help="Ranker that made them.")
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
def convert(source: Path, out: Path, name: str, overwrite: bool) -> int:
    """Convert SOURCE, a pickle such as scores_all_data.pkl, into a file of ranks.

    A pickle can contain code. Only plain dicts, lists, strings, numbers and the classes
    collections.defaultdict and builtins.dict are accepted; anything else is refused by name before
    anything in the file is called. Only ranks named mind2web are compared with published rows.
    """
    steps, candidates, parts = convert_pickle(source, out, ranker=name, overwrite=overwrite)
    say(f"{out}: {' and '.join(parts)} of {candidates:,} candidates in {steps:,} steps")
    return 0


for _command in (rank, recall, train):
    rankers.add_command(_command)
