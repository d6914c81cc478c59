"""Sampling and stopping, row by row.

A row's draws depend on (seed, step, repeat, place, sample) and nothing else: one number in [0, 1)
per token, drawn ahead on the CPU, picks the token from the cumulative probabilities. So a reply is
the same in any batch, and on any device up to rounding.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from typing import Any

import torch

from adapters.contract import Fatal, Generation, Request, unless_sampled

DEFAULT_SEED = 0


def samples(generation: Generation) -> bool:
    return not unless_sampled(generation)


def seed_of(call: Request) -> int:
    """Return the seed of one reply's draws."""
    seed = DEFAULT_SEED if call.generation.seed is None else call.generation.seed
    place = f"{call.place}#{call.sample}" if call.sample else call.place
    text = "\x1f".join((str(seed), call.unit_id, str(call.repeat), place))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


class Draw:
    """A logits processor that leaves one token per sampling row. Greedy rows pass untouched."""

    def __init__(self, calls: Sequence[Request], start: int, device: str) -> None:
        """`start` is the number of columns of the prompt."""
        most = max(call.generation.max_tokens for call in calls)
        # Apple's GPUs have no float64.
        self._exact = torch.float32 if torch.device(device).type == "mps" else torch.float64
        numbers = torch.zeros((len(calls), most), dtype=torch.float64)
        for row, call in enumerate(calls):
            if samples(call.generation):
                tokens, source = call.generation.max_tokens, torch.Generator()
                source.manual_seed(seed_of(call))
                numbers[row, :tokens] = torch.rand(tokens, generator=source, dtype=torch.float64)
        settings = [call.generation for call in calls]
        greedy = torch.tensor([not samples(g) for g in settings])
        temperature = torch.tensor([g.temperature or 1.0 for g in settings])
        share = torch.tensor([1.0 if g.top_p is None else g.top_p for g in settings])
        self._start = start
        self._numbers = numbers.to(self._exact).to(device)
        self._greedy = greedy.to(device)[:, None]
        self._temperature = temperature.to(device)[:, None]
        self._share = share.to(device)[:, None]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        number = self._numbers[:, input_ids.shape[1] - self._start, None]
        ranked, order = (scores / self._temperature).sort(dim=-1, descending=True, stable=True)
        mass = ranked.softmax(dim=-1).cumsum(dim=-1)
        # The smallest set of tokens that together have the share; the first always belongs to it.
        kept = (mass < self._share).sum(dim=-1, keepdim=True).clamp(max=mass.shape[-1] - 1)
        whole = mass.gather(1, kept).to(self._exact)
        place = (mass.to(self._exact) <= number * whole).sum(dim=-1, keepdim=True)
        token = order.gather(1, torch.minimum(place, kept))
        chosen = torch.full_like(scores, float("-inf")).scatter_(1, token, 0.0)
        return torch.where(self._greedy, scores, chosen)


PICTURE_IDS = ("image_token_id", "image_token_index", "video_token_id", "video_token_index")


def picture_ids(config: Any) -> list[int]:
    """Return the ids of picture marks, as far as the model could write them."""
    text = getattr(config, "text_config", None) or config
    # Some models have picture ids beyond what they can write.
    written = getattr(text, "vocab_size", None) or 0
    token_ids = (getattr(config, name, None) for name in PICTURE_IDS)
    return [token for token in token_ids if isinstance(token, int) and 0 <= token < written]


class FiniteScores:
    """A logits processor that notes the rows whose scores are infinite or not numbers (NaN)."""

    def __init__(self, calls: Sequence[Request], device: str) -> None:
        self._calls = calls
        self.broken = torch.zeros(len(calls), dtype=torch.bool, device=device)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        # The largest score is NaN where any is.
        self.broken |= ~scores.amax(dim=-1).isfinite()
        return scores

    def check(self, dtype: torch.dtype, device: str) -> None:
        """Raise `Fatal` if there is such a row."""
        rows = self.broken.nonzero().flatten().tolist()
        if rows:
            name = str(dtype).removeprefix("torch.")
            advice = "its weights may be damaged"
            if name != "float32":
                advice = f"numbers may be too large for {name}: try --adapter-option dtype=float32"
            raise Fatal(
                f"the model on {device} computes scores that are not finite numbers (NaN) for step "
                f"{self._calls[rows[0]].unit_id}: {advice}"
            )


class RowLimits:
    """A stopping criterion: each row has its own token limit, and all stop when interrupted, or
    when the scores of one are not finite."""

    def __init__(
        self,
        calls: Sequence[Request],
        start: int,
        device: str,
        interrupted: threading.Event,
        finite: FiniteScores,
    ) -> None:
        limits = torch.tensor([call.generation.max_tokens for call in calls])
        self._ends = (limits + start).to(device)
        self._interrupted = interrupted
        self._finite = finite

    def __call__(
        self, input_ids: torch.Tensor, scores: torch.Tensor | None, **kwargs: object
    ) -> torch.Tensor:
        if self._interrupted.is_set():
            return torch.ones_like(self._ends, dtype=torch.bool)
        return (self._ends <= input_ids.shape[1]) | self._finite.broken.any()
