"""Fine-tune a cross-encoder to rank candidates, by default with the paper's hyper-parameters.

Mind2Web (Deng et al. 2023, Table 4 and the settings of its candidate generator): DeBERTa-v3-base,
5 epochs, learning rate 3e-5, batches of 32, one random positive and five random negatives per step,
a warm-up over half an epoch, binary cross-entropy. Which candidates are drawn depends only on seed,
epoch and step.
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
from harness.ranker_models.cross_encoder import (
    MAX_TOKENS,
    RECIPE,
    Checkpoint,
    check_tokenizer,
    document,
    library,
    located,
    opened,
    query,
)
from harness.runs.files import built_aside

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

    from harness.records import Row


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hyper-parameters; the defaults are the paper's."""

    epochs: int = 5
    learning_rate: float = 3e-5
    batch_size: int = 32
    negatives: int = 5
    """Number drawn per step and epoch, next to one positive."""
    warmup: float = 0.5
    """Share of one epoch."""
    weight_decay: float = 0.01
    seed: int = 123
    max_tokens: int = MAX_TOKENS


@dataclass(frozen=True, slots=True)
class Pair:
    """The text of a candidate, the query, and 1 if the candidate is acceptable, else 0."""

    document: str
    query: str
    label: float


@dataclass(frozen=True, slots=True)
class Trained:
    """Summary of a training."""

    steps: int
    """Steps with both kinds of candidates."""
    left_out: int
    """Steps without."""
    pairs: int
    """Pairs of all epochs together."""
    loss: float
    """Mean training loss."""


def check(recipe: Recipe) -> None:
    """Raise `UserError` for hyper-parameters out of range."""
    for name in ("epochs", "batch_size", "negatives", "max_tokens"):
        if getattr(recipe, name) < 1:
            raise UserError(
                f"{name.replace('_', ' ')} is {getattr(recipe, name)}; it must be 1 or more"
            )
    if not 0 < recipe.learning_rate < 1:
        raise UserError(f"the learning rate is {recipe.learning_rate}; it must be between 0 and 1")


def train(
    rows: Iterable[Row],
    base: Checkpoint,
    out: Path,
    recipe: Recipe,
    *,
    data: Mapping[str, object] | None = None,
    on_progress: Callable[[int, int, float], None] = lambda *_: None,
) -> Trained:
    """Fine-tune a cross-encoder and save it as a checkpoint, for `cross-encoder:OUT`.

    Args:
        rows: the training steps.
        base: an encoder, or a cross-encoder to train further.
        out: a new or empty folder.
        recipe: hyper-parameters.
        data: origin of the rows, for `training.json` next to the weights.
        on_progress: called with the training step, the number of training steps and the loss.

    Raises:
        UserError: the extra is not installed.
        DataError: nothing to learn from, `out` exists, or the base model does not load.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out} already exists; name another folder")
    library()
    pairs, steps, left_out = training_pairs(rows, recipe)
    if not pairs:
        raise DataError("no step of the selection has both acceptable and other elements")
    model = _base(base, recipe)
    loss = _fit(model, pairs, recipe, on_progress)
    _save(model, out, lambda folder: _note(folder, base, recipe, steps, data or {}))
    return Trained(steps, left_out, len(pairs), loss)


def training_pairs(rows: Iterable[Row], recipe: Recipe) -> tuple[list[Pair], int, int]:
    """Draw the pairs of all epochs, in training order.

    Each epoch draws one positive and `negatives` negatives of every step anew. Steps without a
    positive on the page, or without a negative, are left out.

    Returns:
        The pairs, the number of steps used, and the number of steps left out.

    Raises:
        DataError: a page cannot be read.
    """
    epochs: list[list[Pair]] = [[] for _ in range(recipe.epochs)]
    steps = left_out = 0
    for row in rows:
        page = page_of(row)
        right = page.elements(candidate.id for candidate in row.detail.positives)
        known = set(right) | {candidate.id for candidate in row.detail.positives}
        wrong = page.elements(c.id for c in row.detail.negatives if c.id not in known)
        if not right or not wrong:
            left_out += 1
            continue
        steps += 1
        query_text = query(row.goal, row.detail.history)
        for number, epoch in enumerate(epochs):
            generator = _random(recipe.seed, number, row.unit_id)
            drawn = generator.sample(wrong, min(recipe.negatives, len(wrong)))
            for node_id in [generator.choice(right), *drawn]:
                label = float(node_id in known)
                epoch.append(Pair(document(page, node_id), query_text, label))
    for number, epoch in enumerate(epochs):
        _random(recipe.seed, number, "order").shuffle(epoch)
    return [pair for epoch in epochs for pair in epoch], steps, left_out


def _random(seed: int, epoch: int, label: str) -> random.Random:
    text = f"{seed}\n{epoch}\n{label}".encode()
    return random.Random(int.from_bytes(hashlib.sha256(text).digest(), "big"))


def _base(base: Checkpoint, recipe: Recipe) -> CrossEncoder:
    """Load the base model with a head for one score; the seed decides a new head's weights."""
    from transformers import set_seed

    folder = located(base)
    check_tokenizer(base.path, folder)
    set_seed(recipe.seed)
    model = opened(base, folder, what=" as a cross-encoder", num_labels=1)
    limit = getattr(model.config, "max_position_embeddings", None) or recipe.max_tokens
    model.max_seq_length = min(recipe.max_tokens, limit)
    return model


def _fit(
    model: CrossEncoder,
    pairs: list[Pair],
    recipe: Recipe,
    on_progress: Callable[[int, int, float], None],
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
            # The pairs of all epochs follow each other, so the trainer makes one pass.
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
            callbacks=[_progress_callback(on_progress)],
        )
        for callback in (PrinterCallback, ProgressCallback):
            trainer.remove_callback(callback)
        return float(trainer.train().training_loss)


def _progress_callback(on_progress: Callable[[int, int, float], None]) -> Any:
    from transformers import TrainerCallback

    class Progress(TrainerCallback):  # type: ignore[misc, unused-ignore]
        def on_log(
            self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any
        ) -> None:
            if logs and "loss" in logs:
                on_progress(state.global_step, state.max_steps, float(logs["loss"]))

    return Progress()


def _save(model: CrossEncoder, out: Path, note: Callable[[Path], None]) -> None:
    """Write the checkpoint with its note: `out` is never half written."""
    try:
        with built_aside(out) as folder:
            model.save_pretrained(str(folder), create_model_card=False)
            note(folder)
    except OSError as error:
        raise DataError(f"cannot write {out}: {error.strerror or error}") from error


def _note(
    out: Path, base: Checkpoint, recipe: Recipe, steps: int, data: Mapping[str, object]
) -> None:
    """Write `training.json`, the facts of the training, next to the weights."""
    import json

    note = {
        "version": __version__,
        "base": base.path,
        "revision": base.revision,
        "texts": RECIPE,
        "steps": steps,
        **asdict(recipe),
        "data": dict(data),
    }
    path = out / "training.json"
    path.write_text(json.dumps(note, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
