"""`vlm-eval rankers train`: fine-tune a cross-encoder, by default as Mind2Web's authors did.

The defaults are those of Deng et al. 2023, Table 4, and of their candidate generator, which draws
one positive and five negatives per step. Only seed, epoch and step decide which are drawn.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import random
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from harness import __version__
from harness.benchmarks import recorded_steps, step_benchmark
from harness.candidates import page_of
from harness.commands.options import DATA, read_options, setting_options
from harness.errors import DataError, UserError
from harness.planning.data import open_data
from harness.printing import say
from harness.ranker_models.cross_encoder import (
    RECIPE,
    RankerCheckpoint,
    document,
    loaded,
    located,
    query,
)
from harness.records import Row
from harness.runs.files import built_aside

_COUNT, _SHARE = click.IntRange(min=1), click.FloatRange(0, 1)


@click.command(context_settings={"show_default": True}, short_help="Fine-tune a cross-encoder.")
@click.option("--base-model", default="microsoft/deberta-v3-base", help="Encoder to start from.")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="New folder.")
@click.option("--epochs", type=_COUNT, default=5, help="Passes over the training steps.")
@click.option("--learning-rate", type=_SHARE, default=3e-5, help="Peak; it then falls linearly.")
@click.option("--batch-size", type=_COUNT, default=32, help="Pairs per update.")
@click.option("--negatives", type=_COUNT, default=5, help="Negatives per step and epoch.")
@click.option("--warmup", type=_SHARE, default=0.5, help="Warm-up as a share of one epoch.")
@click.option("--weight-decay", type=_SHARE, default=0.01, help="Weight decay of the optimizer.")
@click.option("--max-tokens", type=_COUNT, default=512, help="Longest pair in tokens.")
@click.option("--seed", type=int, default=123, help="Seed of draws and new weights.")
@setting_options(DATA, split={"help": "Only this split. Default: those that are not for testing."})
def train(base_model: str, out: Path, **values: Any) -> int:
    """Fine-tune a cross-encoder to rank candidates; use it with --ranker cross-encoder:OUT.

    The defaults are those of Mind2Web's DeBERTa. BASE_MODEL is a folder or a name on the hub, and
    takes a cross-encoder's settings (NAME,device=cuda,dtype=bfloat16). Train on a training split
    (--benchmark multimodal-mind2web --split train), and measure on the test splits with
    vlm-eval rankers recall. Needs the extra rank.
    """
    benchmark, base = step_benchmark(values["benchmark"]), RankerCheckpoint.read(base_model)
    tests = benchmark.default_splits
    splits = values.pop("split") or tuple(s for s in benchmark.splits if s not in tests)
    if not splits:
        raise UserError(f"{benchmark.name} has no split for training; name one with --split")
    if used := [split for split in splits if split in tests]:
        say(f"{', '.join(used)} is for testing: recall there will mean nothing", err=True)
    if base.dtype == "float16":
        raise UserError("dtype is float16; training works in float32 or bfloat16")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} already exists; name another folder")
    folder = located(base)
    dataset = recorded_steps(open_data(read_options(split=splits)).part)
    for notice in dataset.notices:
        say(notice, err=True)
    recipe = {name: value for name, value in values.items() if name not in DATA}
    pairs, steps, left_out = draw(dataset.rows(), recipe)
    if not steps:
        raise DataError("no step of the selection has both acceptable and other elements")
    model, loss = fit(base, folder, pairs, recipe)
    if not math.isfinite(loss):
        raise DataError(f"the training loss is {loss}; try a lower --learning-rate")
    origin = {"splits": sorted({e.split for e in dataset.entries}), **dataset.fingerprint}
    note = {"version": __version__, "base": base_model, "texts": RECIPE, "steps": steps, **recipe}
    with built_aside(out) as aside:
        model.save_pretrained(str(aside), create_model_card=False)
        text = json.dumps({**note, "data": origin}, indent=1)
        (aside / "training.json").write_text(f"{text}\n", encoding="utf-8")
    say(f"{out}: {steps:,} steps ({left_out:,} left out), {len(pairs):,} pairs, loss {loss:.4f}")
    say(f"Measure it with: vlm-eval rankers recall --ranker 'cross-encoder:{out}' --split ...")
    return 0


def draw(rows: Iterable[Row], recipe: dict[str, Any]) -> tuple[list[Any], int, int]:
    """Return the pairs of all epochs, and the numbers of steps used and left out."""

    def chance(epoch: int, label: str) -> random.Random:
        text = f"{recipe['seed']}\n{epoch}\n{label}".encode()
        return random.Random(int.from_bytes(hashlib.sha256(text).digest(), "big"))

    epochs: list[list[Any]] = [[] for _ in range(recipe["epochs"])]
    steps = left_out = 0
    for row in rows:
        page, known = page_of(row), {candidate.id for candidate in row.detail.positives}
        right = page.elements(known)
        wrong = page.elements(c.id for c in row.detail.negatives if c.id not in known)
        if not right or not wrong:
            left_out += 1
            continue
        steps += 1
        about = query(row.goal, row.detail.history)
        for number, pairs in enumerate(epochs):
            generator = chance(number, row.unit_id)
            drawn = generator.sample(wrong, min(recipe["negatives"], len(wrong)))
            for node_id in [generator.choice(right), *drawn]:
                label = float(node_id in known)
                pairs.append({"document": document(page, node_id), "query": about, "label": label})
    for number, pairs in enumerate(epochs):
        chance(number, "order").shuffle(pairs)
    return [pair for pairs in epochs for pair in pairs], steps, left_out


def fit(base: RankerCheckpoint, folder: Path, pairs: list[Any], recipe: dict[str, Any]) -> Any:
    """Return the model in `folder`, fine-tuned, and its mean training loss."""
    from datasets import Dataset
    from sentence_transformers.cross_encoder import CrossEncoderTrainer as Trainer
    from sentence_transformers.cross_encoder import CrossEncoderTrainingArguments as Arguments
    from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
    from transformers import set_seed

    set_seed(recipe["seed"])  # It decides the weights of a new head.
    model = loaded(base, folder, new_head=True, num_labels=1)
    limit = getattr(model.config, "max_position_embeddings", None) or recipe["max_tokens"]
    model.max_seq_length = min(recipe["max_tokens"], limit)
    updates = math.ceil(len(pairs) / recipe["batch_size"])
    with tempfile.TemporaryDirectory(prefix="train-ranker-") as scratch:
        arguments = Arguments(
            output_dir=scratch,
            num_train_epochs=1,  # The pairs of all epochs follow each other.
            per_device_train_batch_size=recipe["batch_size"],
            learning_rate=recipe["learning_rate"],
            warmup_steps=math.ceil(recipe["warmup"] * updates / recipe["epochs"]),
            weight_decay=recipe["weight_decay"],
            seed=recipe["seed"],
            data_seed=recipe["seed"],
            use_cpu=model.device.type == "cpu",
            logging_steps=max(1, updates // 50),
            logging_nan_inf_filter=False,  # It would count a loss of NaN as 0.
            save_strategy="no",
            dataloader_pin_memory=model.device.type == "cuda",
        )
        data, loss = Dataset.from_list(pairs), BinaryCrossEntropyLoss(model)
        with contextlib.redirect_stdout(sys.stderr):  # The trainer prints its progress.
            done = Trainer(model=model, args=arguments, train_dataset=data, loss=loss).train()
    return model, float(done.training_loss)
