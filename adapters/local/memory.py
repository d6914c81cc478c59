"""Memory planning: the initial batch size, its adjustment, and how much cache may be kept."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

import torch

from adapters.local.checkpoint import UNKNOWN_RAM, free_ram
from adapters.local.contract import Family, Plan

MOST_ROWS = 64
CPU_ROWS = 4
COHORTS = 3
"""Cohorts to plan memory for: one being computed, one between rounds, one being prepared."""
TYPICAL_PAGE = (1280, 2560)
"""Width and height in pixels of the screenshot assumed in planning. Taller ones are shrunk to as
many pixels unless more are asked for; a batch that then runs out of memory is halved."""
TYPICAL_TEXT = 1_200
"""Tokens of a step's texts, both rounds and the replies included."""
OUT_OF_MEMORY = (
    "out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "can't allocate memory",
    "CUDNN_STATUS_ALLOC_FAILED",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that memory ran out; libraries have their own messages."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(part in str(error) for part in OUT_OF_MEMORY)


def give_back(device: str) -> None:
    """Return unused memory to the device."""
    gc.collect()
    if torch.device(device).type == "cuda":
        torch.cuda.empty_cache()


def free_bytes(device: str) -> int:
    """Return the bytes that can still be allocated: on a GPU by this process, on the CPU by any
    process."""
    if torch.device(device).type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(free + cached)
    free = free_ram()
    return free if free < UNKNOWN_RAM else 4 * 2**30


class WorkingSize:
    """The largest batch in cells (rows times columns, new tokens included).

    Unlimited until a batch does not fit; then half of that batch, for the rest of the run.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.cells: int | None = None
        self.too_wide: int | None = None

    def failed(self, rows: int, columns: int) -> None:
        """Record that a batch of this size did not fit. A single row limits `too_wide` instead."""
        if rows == 1:
            self.too_wide = columns if self.too_wide is None else min(self.too_wide, columns)
            return
        half = max(1, rows // 2) * columns
        self.cells = half if self.cells is None else min(self.cells, half)

    def split(self, lengths: Sequence[int]) -> list[list[int]]:
        """Split calls with these lengths into batches that may fit, as lists of their indices.

        The longest come first, to find early that a batch does not fit. A call that
        fits nowhere still gets a batch to itself.
        """
        batches: list[list[int]] = []
        for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
            current = batches[-1] if batches else []
            if current and self.fits(len(current) + 1, lengths[current[0]]):
                current.append(index)
            else:
                batches.append([index])
        return batches

    def hopeless(self, columns: int) -> bool:
        """Return whether a single row of this width, or a narrower one, has already failed."""
        return self.too_wide is not None and columns >= self.too_wide

    def fits(self, rows: int, columns: int) -> bool:
        return rows <= self.rows and (self.cells is None or rows * columns <= self.cells)


class KeptRoom:
    """Decides whether what is kept between rounds leaves enough memory for the next batch.

    On a GPU the need of a batch is measured, as the peak over all batches so far. Elsewhere what is
    kept has a `budget` (bytes), a quarter of the memory that was free at the start.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._gpu = torch.device(device).type == "cuda"
        self._need = 0
        self._before = 0
        self.peak = 0
        self.budget = None if self._gpu else free_bytes(device) // 4

    def begin(self) -> None:
        """Start measuring a batch."""
        if self._gpu:
            torch.cuda.reset_peak_memory_stats(self._device)
            self._before = torch.cuda.memory_allocated(self._device)

    def end(self) -> None:
        """Finish measuring a batch."""
        if self._gpu:
            peak = torch.cuda.max_memory_allocated(self._device)
            self._need = max(self._need, peak - self._before)
            self.peak = max(self.peak, peak)

    def crowded(self, kept: int) -> bool:
        """Return whether caches of `kept` bytes are too much in total; some should be evicted."""
        if self.budget is not None and kept > self.budget:
            return True
        # A tenth more, because free memory is fragmented.
        return self._gpu and free_bytes(self._device) < self._need * 1.1


def plan(
    free: int,
    kept_per_token: int,
    worked_per_token: int,
    tokens: int,
    rows: int | None = None,
    most: int = MOST_ROWS,
) -> Plan:
    """Batch size and open dialogues for steps of `tokens` tokens in `free` bytes.

    `rows` is the batch size if the user set one, `most` its upper bound otherwise.

    The cache of a dialogue takes `kept_per_token` bytes per token, and a batch takes
    `worked_per_token` more during prefill.

    >>> plan(60 * 2**30, 57_344, 250_000, 3_300)
    Plan(rows=40, open_dialogues=132)
    """
    per_row = tokens * (COHORTS * kept_per_token + worked_per_token)
    room = int(free * 0.9)
    if rows is None:
        rows = max(1, min(most, room // max(1, per_row)))
        if rows > 8:
            rows -= rows % 8
    kept = max(1, (room - rows * tokens * worked_per_token) // max(1, tokens * kept_per_token))
    return Plan(rows, max(rows, min((COHORTS + 1) * rows, kept)))


def worked_per_token(model: Any) -> int:
    """Peak bytes per prompt token during prefill, in the language model.

    The gate, up and product of one layer's feed-forward part, and the hidden states around it.
    """
    text = model.config.get_text_config()
    hidden = _largest(text, "hidden_size", 4096)
    inner = _largest(text, "intermediate_size", 4 * hidden)
    size = torch.finfo(model.dtype).bits // 8 if model.dtype.is_floating_point else 2
    return size * (3 * inner + 6 * hidden)


def _largest(config: Any, name: str, otherwise: int) -> int:
    """Return a size in a configuration, the largest where layers differ in it."""
    layers = config.per_layer_config if getattr(config, "is_heterogeneous", False) else [config]
    values: list[int] = []
    for layer in layers:
        value = getattr(layer, name, None)
        values += value if isinstance(value, list | tuple) else [value or 0]
    return max(values, default=0) or otherwise


def typical_tokens(family: Family, context: int | None) -> int:
    """Tokens of a step: a full-page screenshot as large as the model takes it, and the texts."""
    rule = family.image_rule
    picture = rule.tokens(*rule.fit(*TYPICAL_PAGE)) if rule else None
    tokens = (picture or 0) + TYPICAL_TEXT
    return tokens if context is None else min(tokens, context)
