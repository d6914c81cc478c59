"""`vlm-eval rank` and `vlm-eval train-ranker`.

They rank the candidates of a benchmark or convert published scores, and fine-tune a cross-encoder.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.commands.options import DATA, is_given, read_options, setting_options
from harness.errors import UserError
from harness.printing import say

if TYPE_CHECKING:
    from harness.benchmarks import Benchmark

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


_positive = click.IntRange(min=1)


@click.command("train-ranker")
@click.option(
    "--base-model",
    default="microsoft/deberta-v3-base",
    show_default=True,
    help="Encoder to start from, a folder or a name on the hub.",
)
@click.option("--revision", help="Branch, tag or commit of a base model on the hub.")
@click.option(
    "--out",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    help="New folder for the checkpoint.",
)
@click.option(
    "--epochs", type=_positive, default=5, show_default=True, help="Passes over the training steps."
)
@click.option(
    "--learning-rate",
    type=click.FloatRange(min=0, max=1, min_open=True, max_open=True),
    default=3e-5,
    show_default=True,
    help="Peak learning rate; it then falls linearly.",
)
@click.option(
    "--batch-size", type=_positive, default=32, show_default=True, help="Pairs per update."
)
@click.option(
    "--negatives",
    type=_positive,
    default=5,
    show_default=True,
    help="Negatives drawn per step and epoch.",
)
@click.option(
    "--warmup",
    type=click.FloatRange(min=0, max=1),
    default=0.5,
    show_default=True,
    help="Length of the warm-up as a share of one epoch.",
)
@click.option(
    "--weight-decay",
    type=click.FloatRange(min=0),
    default=0.01,
    show_default=True,
    help="Weight decay of the optimizer.",
)
@click.option(
    "--max-tokens", type=_positive, default=512, show_default=True, help="Longest pair in tokens."
)
@click.option(
    "--seed", type=int, default=123, show_default=True, help="Seed of draws and new weights."
)
@click.option("--device", help="Device: cpu, cuda, cuda:1, mps. Default: the best there is.")
@click.option(
    "--dtype", default="float32", show_default=True, help="Precision: float32 or bfloat16."
)
@setting_options(
    DATA,
    splits={
        "help": "Only this split; may be repeated. Default: the splits that are not for testing."
    },
)
def train_ranker(**values: Any) -> int:
    """Fine-tune a cross-encoder to rank candidates; use it with --ranker cross-encoder:OUT.

    The defaults are those of Mind2Web's DeBERTa. Train on a benchmark's training split, for example
    --benchmark multimodal-mind2web --split train, and measure on its test splits with vlm-eval
    recall. Needs the extra rank.
    """
    from harness.benchmarks import recorded_steps, step_benchmark
    from harness.planning.data import open_data
    from harness.ranker_models.cross_encoder import Checkpoint, library
    from harness.ranker_models.training import Recipe, check, train
    from harness.tables import counted

    if values["dtype"] not in ("float32", "bfloat16"):
        raise UserError(f"--dtype is {values['dtype']}; training works in float32 or bfloat16")
    recipe = Recipe(**{field.name: values[field.name] for field in fields(Recipe)})
    check(recipe)
    splits = _training_splits(step_benchmark(values["benchmark"]), values["splits"])
    library()
    base = Checkpoint(
        values["base_model"],
        revision=values["revision"],
        device=values["device"],
        dtype=values["dtype"],
    )
    out: Path = values["out"]
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} already exists; name another folder")
    dataset = recorded_steps(open_data(read_options(distractors=0, splits=splits)).part)
    for notice in dataset.notices:
        say(notice, err=True)
    done = train(
        dataset.rows(),
        base,
        out,
        recipe,
        data={"splits": sorted({e.split for e in dataset.entries}), **dataset.fingerprint},
        on_progress=lambda step, steps, loss: say(f"{step} of {steps}: loss {loss:.4f}", err=True),
    )
    without = f"; {counted(done.left_out, 'step')} left out" if done.left_out else ""
    say(
        f"{out}: {counted(done.steps, 'step')}, {done.pairs:,} pairs, mean loss "
        f"{done.loss:.4f}{without}"
    )
    ranker = shlex.quote(f"cross-encoder:{out}")
    say(f"Measure it with: vlm-eval recall --ranker {ranker} --split ...")
    return 0


def _training_splits(data: Benchmark, named: tuple[str, ...]) -> tuple[str, ...]:
    """Return the splits to train on: test splits only if they were asked for by name."""
    if not named:
        others = tuple(split for split in data.splits if split not in data.default_splits)
        if not others:
            raise UserError(f"{data.name} has no split for training; name one with --split")
        return others
    tests = [split for split in named if split in data.default_splits]
    if tests:
        say(
            f"{', '.join(tests)} of {data.name} is for testing: the recall there of a ranker "
            "trained on it means nothing",
            err=True,
        )
    return named
