"""Fine-tuning a cross-encoder to rank candidates, with the paper's hyper-parameters.

Mind2Web (Deng et al. 2023, Table 4 and the settings of its candidate generator): DeBERTa-v3-base,
5 epochs, learning rate 3e-5, batches of 32, one random positive and five random negatives per step,
a warm-up over half an epoch, binary cross-entropy. Which candidates a step contributes is decided
by seed, epoch and step alone.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import __version__
from harness.candidates import page_of
from harness.errors import DataError, UserError
from harness.rankers.checkpoint import Checkpoint, check_tokenizer, library, located
from harness.rankers.cross_encoder import MAX_TOKENS, RECIPE, document, query

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

    from harness.records import Row


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hyper-parameters; the defaults are the paper's. `warmup` is a share of one epoch."""

    epochs: int = 5
    learning_rate: float = 3e-5
    batch_size: int = 32
    negatives: int = 5
    warmup: float = 0.5
    weight_decay: float = 0.01
    seed: int = 123
    max_tokens: int = MAX_TOKENS


@dataclass(frozen=True, slots=True)
class Pair:
    """A candidate beside a query, and whether it is acceptable."""

    document: str
    query: str
    label: float


@dataclass(frozen=True, slots=True)
class Trained:
    """What was trained: steps that had both kinds of candidates, pairs of all epochs, and loss."""

    steps: int
    left_out: int
    pairs: int
    loss: float


def check(recipe: Recipe) -> None:
    """Raise `UserError` for hyper-parameters that mean nothing."""
    for name in ("epochs", "batch_size", "negatives", "max_tokens"):
        if getattr(recipe, name) < 1:
            raise UserError(f"{name.replace('_', ' ')} is {getattr(recipe, name)}, not 1 or more")
    if not 0 < recipe.learning_rate < 1:
        raise UserError(f"the learning rate is {recipe.learning_rate}, not between 0 and 1")


def train(
    rows: Iterable[Row],
    base: Checkpoint,
    out: Path,
    recipe: Recipe,
    *,
    data: Mapping[str, object] | None = None,
    told: Callable[[int, int, float], None] = lambda *_: None,
) -> Trained:
    """Fine-tune and save a checkpoint, for `cross-encoder:OUT`.

    Args:
        rows: what to learn from.
        base: an encoder, or a cross-encoder to go on with.
        out: a folder that is not there yet, or is empty.
        recipe: hyper-parameters.
        data: what the rows are of, for the note beside the weights.
        told: is called with the training step, of how many, and the loss.

    Raises:
        UserError: the extra is not installed, or the hyper-parameters mean nothing.
        DataError: nothing to learn from, `out` is taken, or the base model cannot be loaded.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out} is there already; name another folder")
    library()
    pairs, steps, left_out = training_pairs(rows, recipe)
    if not pairs:
        raise DataError("no step of the selection has both an acceptable element and others")
    model = _base(base, recipe)
    loss = _fit(model, pairs, recipe, out, told)
    _save(model, out, lambda folder: _note(folder, base, recipe, steps, data or {}))
    return Trained(steps, left_out, len(pairs), loss)


def training_pairs(rows: Iterable[Row], recipe: Recipe) -> tuple[list[Pair], int, int]:
    """The pairs of all epochs in order, the number of steps they are of, and of steps left out.

    Each epoch draws anew, one positive and `negatives` negatives of every step. Steps without a
    positive on the page, or without a negative, are left out.

    Raises:
        DataError: a page cannot be read.
    """
    epochs: list[list[Pair]] = [[] for _ in range(recipe.epochs)]
    steps = left_out = 0
    for row in rows:
        page = page_of(row)
        right = page.elements(candidate.id for candidate in row.positives)
        known = set(right) | {candidate.id for candidate in row.positives}
        wrong = page.elements(c.id for c in row.negatives if c.id not in known)
        if not right or not wrong:
            left_out += 1
            continue
        steps += 1
        asked = query(row.info.task, row.history)
        for number, epoch in enumerate(epochs):
            chance = _chance(recipe.seed, number, row.step_id)
            drawn = chance.sample(wrong, min(recipe.negatives, len(wrong)))
            for node_id in [chance.choice(right), *drawn]:
                label = float(node_id in known)
                epoch.append(Pair(document(page, node_id), asked, label))
    for number, epoch in enumerate(epochs):
        _chance(recipe.seed, number, "order").shuffle(epoch)
    return [pair for epoch in epochs for pair in epoch], steps, left_out


def _chance(seed: int, epoch: int, label: str) -> random.Random:
    text = f"{seed}\n{epoch}\n{label}".encode()
    return random.Random(int.from_bytes(hashlib.sha256(text).digest(), "big"))


def _base(base: Checkpoint, recipe: Recipe) -> CrossEncoder:
    """The base model with a head for one score, seeded, as the head starts at random."""
    import torch
    from huggingface_hub.utils.tqdm import disable_progress_bars
    from sentence_transformers import CrossEncoder
    from transformers import set_seed
    from transformers.utils import logging

    folder = located(base)
    check_tokenizer(base.path, folder)
    set_seed(recipe.seed)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    disable_progress_bars()
    try:
        model = CrossEncoder(
            str(folder),
            num_labels=1,
            device=base.device,
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs={"dtype": getattr(torch, base.dtype)},
        )
    except (
        Exception
    ) as error:  # weights, tokenizers and configurations each have errors of their own
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{base.path} cannot be loaded as a cross-encoder: {line}") from error
    limit = getattr(model.config, "max_position_embeddings", None) or recipe.max_tokens
    model.max_seq_length = min(recipe.max_tokens, limit)
    return model


def _fit(
    model: CrossEncoder,
    pairs: list[Pair],
    recipe: Recipe,
    out: Path,
    told: Callable[[int, int, float], None],
) -> float:
    import tempfile

    from datasets import Dataset, disable_progress_bars
    from sentence_transformers.cross_encoder import (
        CrossEncoderTrainer,
        CrossEncoderTrainingArguments,
        losses,
    )
    from transformers import PrinterCallback, ProgressCallback

    disable_progress_bars()
    data = Dataset.from_dict(
        {
            "document": [pair.document for pair in pairs],
            "query": [pair.query for pair in pairs],
            "label": [pair.label for pair in pairs],
        }
    )
    steps = math.ceil(len(pairs) / recipe.batch_size)
    with tempfile.TemporaryDirectory(prefix="train-ranker-") as scratch:
        arguments = CrossEncoderTrainingArguments(
            output_dir=scratch,
            # The epochs were drawn one by one and stand in a row: the trainer goes through once.
            num_train_epochs=1,
            per_device_train_batch_size=recipe.batch_size,
            learning_rate=recipe.learning_rate,
            lr_scheduler_type="linear",
            warmup_steps=math.ceil(recipe.warmup * steps / recipe.epochs),
            weight_decay=recipe.weight_decay,
            max_grad_norm=1.0,
            seed=recipe.seed,
            data_seed=recipe.seed,
            use_cpu=model.device.type == "cpu",
            logging_steps=max(1, steps // 50),
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            dataloader_pin_memory=model.device.type == "cuda",
        )
        trainer = CrossEncoderTrainer(
            model=model,
            args=arguments,
            train_dataset=data,
            loss=losses.BinaryCrossEntropyLoss(model),
            callbacks=[_teller(told)],
        )
        for callback in (PrinterCallback, ProgressCallback):
            trainer.remove_callback(callback)
        return float(trainer.train().training_loss)


def _teller(told: Callable[[int, int, float], None]) -> Any:
    from transformers import TrainerCallback

    class Teller(TrainerCallback):  # type: ignore[misc, unused-ignore]
        def on_log(
            self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any
        ) -> None:
            if logs and "loss" in logs:
                told(state.global_step, state.max_steps, float(logs["loss"]))

    return Teller()


def _save(model: CrossEncoder, out: Path, note: Callable[[Path], None]) -> None:
    """Write the checkpoint beside its place and move it there: half a one must not be found."""
    import shutil

    partial = out.with_name(f".{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        model.save_pretrained(str(partial), create_model_card=False)
        note(partial)
        if out.exists():
            out.rmdir()
        partial.rename(out)
    except OSError as error:
        raise DataError(f"cannot write {out}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _note(
    out: Path, base: Checkpoint, recipe: Recipe, steps: int, data: Mapping[str, object]
) -> None:
    """What the checkpoint is, in a file beside its weights."""
    import json

    told = {
        "version": __version__,
        "base": base.path,
        "revision": base.revision,
        "texts": RECIPE,
        "steps": steps,
        **asdict(recipe),
        "data": dict(data),
    }
    path = out / "training.json"
    path.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
