"""`vlm-eval train-ranker`: fine-tune a cross-encoder on a benchmark's steps."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from harness.benchmarks import Benchmark
from harness.commands.options import DATA, read_options, setting_options
from harness.errors import UserError
from harness.printing import say

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
    recall.
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
    say(f"Measure it with: vlm-eval recall --ranker cross-encoder:{out} --split ...")
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
