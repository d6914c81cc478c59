"""A cross-encoder as a ranker: one score for each pair of candidate and query.

    open_ranks("cross-encoder:path/or/repo,device=cuda,dtype=bfloat16")

What it reads is what Mind2Web's DeBERTa was trained with (Deng et al. 2023, section 3.1). The pairs
of a step are read in batches of similar length; the model is loaded when the first step is scored.
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
from harness.rankers.checkpoint import Checkpoint, checked, digest_of, load
from harness.rankers.contract import ByScore, Ranks
from harness.records import Row

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

MAX_TOKENS = 512
"""The length that the paper's ranker was trained with."""
RECIPE = "mindact-1"
"""Part of every digest: another wording gives other ranks."""
HISTORY = 3


def query(task: str, history: Sequence[str]) -> str:
    """The task and the last three actions.

    >>> query("Book a room", ["[a]  Rooms -> CLICK"])
    'task is: Book a room\\nPrevious actions: [a]  Rooms -> CLICK'
    """
    return f"task is: {task}\nPrevious actions: {'; '.join(history[-HISTORY:])}"


def document(page: Page, node_id: str) -> str:
    """A candidate: the last 50 words of the path to it, and the first 100 inside."""
    text = page.ranking_text(node_id, ancestor_words=50, target_words=100)
    return f"ancestors: {text.ancestors}\ntarget: {text.target}"


class CrossEncoderScorer:
    """The scorer behind the name `cross-encoder`."""

    parallel = False

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint

    @property
    def name(self) -> str:
        path = self._checkpoint.path
        return f"cross-encoder:{Path(path).resolve().name if self._checkpoint.is_local else path}"

    @cached_property
    def digest(self) -> str:
        """Of the recipe and of the checkpoint's files."""
        told = f"{RECIPE}\n{MAX_TOKENS}\n{digest_of(self._checkpoint)}"
        return hashlib.sha256(told.encode()).hexdigest()

    @cached_property
    def model(self) -> CrossEncoder:
        """Loaded once. Raises `DataError` or `UserError`; see `checkpoint.load`."""
        model = load(self._checkpoint)
        limit = model.max_seq_length or MAX_TOKENS
        model.max_seq_length = min(limit, MAX_TOKENS)
        return model

    def scores(self, steps: Sequence[tuple[Row, Page, Sequence[str]]]) -> list[list[float]]:
        """See `Scorer.scores`. Scores are logits: a sigmoid would make many of them equal."""
        return [self._step(row, page, ids) for row, page, ids in steps]

    def _step(self, row: Row, page: Page, ids: Sequence[str]) -> list[float]:
        """A step by itself: the last digits of a score depend on what else is in its batch, and a
        step must have the same order whatever is scored along with it."""
        import torch

        asked = query(row.info.task, row.history)
        pairs = [(document(page, node_id), asked) for node_id in ids]
        if not pairs:
            return []
        found = self.model.predict(
            pairs,
            batch_size=self._checkpoint.batch_size,
            show_progress_bar=False,
            activation_fn=torch.nn.Identity(),
            convert_to_tensor=True,
        )
        scores = [float(score) for score in found.float().cpu().tolist()]
        if not all(map(math.isfinite, scores)):
            hint = "" if self._checkpoint.dtype == "float32" else "; try --dtype float32"
            raise DataError(
                f"{self.name} gives scores that are no numbers in {self._checkpoint.dtype}, in "
                f"step {row.step_id}{hint}"
            )
        return scores


def cross_encoder(argument: str) -> Ranks:
    """The ranker `cross-encoder`. Raises `UserError` or `DataError` for what cannot work."""
    checkpoint = Checkpoint.read(argument)
    checked(checkpoint)
    return ByScore(CrossEncoderScorer(checkpoint))
