"""A cross-encoder as a ranker: it reads a candidate and the query together and gives one score.

    open_ranks("cross-encoder:path/or/repo,device=cuda,dtype=bfloat16")

The texts are those that Mind2Web's DeBERTa was trained with (Deng et al. 2023, section 3.1). The
model is loaded when the first step is scored.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import DataError
from harness.page import Page
from harness.ranker_models.checkpoint import Checkpoint, checked, digest_of, load
from harness.rankers import ByScore, Ranks
from harness.records import Row

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

MAX_TOKENS = 512
"""Longest pair in the training of the paper's ranker, in tokens."""
RECIPE = "mindact-1"
"""Version of the two texts below; part of every digest, because another wording ranks otherwise."""
HISTORY = 3


def query(task: str, history: Sequence[str]) -> str:
    """Write the query: the task and the last three actions.

    >>> query("Book a room", ["[a]  Rooms -> CLICK"])
    'task is: Book a room\\nPrevious actions: [a]  Rooms -> CLICK'
    """
    return f"task is: {task}\nPrevious actions: {'; '.join(history[-HISTORY:])}"


def document(page: Page, node_id: str) -> str:
    """Write a candidate: the last 50 words of the path to it and the first 100 words inside it."""
    text = page.ranking_text(node_id, ancestor_words=50, target_words=100)
    return f"ancestors: {text.ancestors}\ntarget: {text.target}"


class CrossEncoderScorer:
    """The scorer of the ranker `cross-encoder`."""

    parallel = False

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint

    @property
    def name(self) -> str:
        path = self._checkpoint.path
        return f"cross-encoder:{Path(path).resolve().name if self._checkpoint.is_local else path}"

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the texts' version, the length limit and the checkpoint's files."""
        parts = f"{RECIPE}\n{MAX_TOKENS}\n{digest_of(self._checkpoint)}"
        return hashlib.sha256(parts.encode()).hexdigest()

    @cached_property
    def model(self) -> CrossEncoder:
        """The model, loaded on first use; raises as `checkpoint.load` does."""
        model = load(self._checkpoint)
        limit = model.max_seq_length or MAX_TOKENS
        model.max_seq_length = min(limit, MAX_TOKENS)
        return model

    def scores(self, steps: Sequence[tuple[Row, Page, Sequence[str]]]) -> list[list[float]]:
        """Scores are logits: a sigmoid would round many to the same value."""
        return [self._step(row, page, ids) for row, page, ids in steps]

    def _step(self, row: Row, page: Page, ids: Sequence[str]) -> list[float]:
        """Score one step by itself.

        The last digits of a score depend on the rest of the batch, and the order of a step must not
        depend on the other ranked steps.
        """
        import torch

        query_text = query(row.goal, row.detail.history)
        pairs = [(document(page, node_id), query_text) for node_id in ids]
        if not pairs:
            return []
        logits = self.model.predict(
            pairs,
            batch_size=self._checkpoint.batch_size,
            show_progress_bar=False,
            activation_fn=torch.nn.Identity(),
            convert_to_tensor=True,
        )
        scores = [float(score) for score in logits.float().cpu().tolist()]
        if not all(map(math.isfinite, scores)):
            hint = "" if self._checkpoint.dtype == "float32" else "; try --dtype float32"
            raise DataError(
                f"{self.name} gives scores that are not finite in {self._checkpoint.dtype}, in "
                f"step {row.unit_id}{hint}"
            )
        return scores


def cross_encoder(argument: str) -> Ranks:
    """Return the ranker `cross-encoder` for `PATH,name=value,...`.

    Raises:
        UserError: a bad setting, or the extra is not installed.
        DataError: not the checkpoint of a cross-encoder.
    """
    checkpoint = Checkpoint.read(argument)
    checked(checkpoint)
    return ByScore(CrossEncoderScorer(checkpoint))
