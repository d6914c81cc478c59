"""`vlm-eval train-ranker`: fine-tune a cross-encoder on a benchmark's steps."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from harness.benchmarks import Benchmark, benchmark
from harness.commands.options import DATA, read_options, setting_options
from harness.errors import UserError

_positive = click.IntRange(min=1)


@click.command("train-ranker")
@click.option(
    "--base-model",
    default="microsoft/deberta-v3-base",
    show_default=True,
    help="An encoder: a folder, or of the hub.",
)
@click.option("--revision", help="Of a base model on the hub.")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="A new folder.")
@click.option("--epochs", type=_positive, default=5, show_default=True)
@click.option(
    "--learning-rate",
    type=click.FloatRange(min=0, max=1, min_open=True, max_open=True),
    default=3e-5,
    show_default=True,
)
@click.option("--batch-size", type=_positive, default=32, show_default=True, help="Pairs.")
@click.option(
    "--negatives", type=_positive, default=5, show_default=True, help="Drawn per step and epoch."
)
@click.option(
    "--warmup",
    type=click.FloatRange(min=0, max=1),
    default=0.5,
    show_default=True,
    help="Share of an epoch.",
)
@click.option("--weight-decay", type=click.FloatRange(min=0), default=0.01, show_default=True)
@click.option("--max-tokens", type=_positive, default=512, show_default=True, help="Per pair.")
@click.option("--seed", type=int, default=123, show_default=True)
@click.option("--device", help="cpu, cuda, cuda:1, mps; default: the best there is.")
@click.option("--dtype", default="float32", show_default=True, help="float32 or bfloat16.")
@setting_options(
    DATA,
    splits={"help": "Only this split; may be repeated. Default: those that are not for testing."},
)
def train_ranker(**values: Any) -> int:
    """Fine-tune a cross-encoder to rank candidates, for --ranker cross-encoder:OUT.

    The defaults are those of Mind2Web's DeBERTa. Learn from a benchmark's training data and
    measure on its test data: --benchmark multimodal-mind2web --split train, then vlm-eval recall.
    """
    from harness.evaluation.plan import open_data
    from harness.rankers.checkpoint import Checkpoint, library
    from harness.rankers.training import Recipe, check, train
    from harness.tables import counted

    if values["dtype"] not in ("float32", "bfloat16"):
        raise UserError(f"--dtype is {values['dtype']}; train in float32 or bfloat16")
    recipe = Recipe(**{field.name: values[field.name] for field in fields(Recipe)})
    check(recipe)
    splits = _training_splits(benchmark(values["benchmark"]), values["splits"])
    library()
    base = Checkpoint(
        values["base_model"],
        revision=values["revision"],
        device=values["device"],
        dtype=values["dtype"],
    )
    out: Path = values["out"]
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is there already; name another folder")
    dataset = open_data(read_options(distractors=0, splits=splits)).part
    for notice in dataset.notices:
        click.echo(notice, err=True)
    done = train(
        dataset.rows(),
        base,
        out,
        recipe,
        data={"splits": sorted({e.split for e in dataset.entries}), **dataset.fingerprint},
        told=lambda step, of, loss: click.echo(f"{step} of {of}: loss {loss:.4f}", err=True),
    )
    without = f"; {counted(done.left_out, 'step')} left out" if done.left_out else ""
    click.echo(
        f"{out}: {counted(done.steps, 'step')}, {done.pairs:,} pairs, mean loss "
        f"{done.loss:.4f}{without}"
    )
    click.echo(f"Measure it: vlm-eval recall --ranker cross-encoder:{out} --split ...")
    return 0


def _training_splits(data: Benchmark, asked: tuple[str, ...]) -> tuple[str, ...]:
    """The splits to learn from: never those for testing, unless they were asked for."""
    if not asked:
        others = tuple(split for split in data.splits if split not in data.default_splits)
        if not others:
            raise UserError(f"{data.name} has no split for training; name one with --split")
        return others
    tests = [split for split in asked if split in data.default_splits]
    if tests:
        click.echo(
            f"{', '.join(tests)} of {data.name} is for testing: what a ranker trained on it finds "
            "there says nothing",
            err=True,
        )
    return asked
