"""Number of rows of a batch that fit into a device's memory."""

from __future__ import annotations

import gc
from typing import Any

import torch

from adapters.local.checkpoint import UNKNOWN_RAM, free_ram
from adapters.local.contract import Loaded, ModelFamily

MOST_ROWS = 64
CPU_ROWS = 4
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


def batch_size(loaded: Loaded, rows: int | None) -> int:
    """Return the batch size for a loaded model: `rows` if the user set it, else as many typical
    steps as are likely to fit into the memory that is free now."""
    if rows is not None or not loaded.family.together:
        return rows if rows is not None and loaded.family.together else 1
    tokens = typical_tokens(loaded.family, loaded.context_tokens)
    most = CPU_ROWS if loaded.device == "cpu" else MOST_ROWS
    a_token = 2 * cache_bytes(loaded.model) + worked_bytes(loaded.model)
    return rows_in(free_bytes(loaded.device), tokens * a_token, most)


def rows_in(free: int, per_row: int, most: int) -> int:
    """Return how many rows of that many bytes fit into 90 % of the free ones.

    >>> rows_in(60 * 2**30, 3_300 * (2 * 57_344 + 250_000), 64)
    48
    """
    rows = max(1, min(most, int(free * 0.9) // max(1, per_row)))
    return rows if rows <= 8 else rows - rows % 8


def cache_bytes(model: Any) -> int:
    """Return the bytes of a token's keys and values, over all layers, by the configuration.

    An upper bound for models that share keys between layers or keep a window of them only.
    """
    text = model.config.get_text_config()
    queries = _largest(text, "num_attention_heads", 1)
    heads = _largest(text, "num_key_value_heads", queries)
    size = _largest(text, "head_dim", _largest(text, "hidden_size", 4096) // queries)
    return 2 * _largest(text, "num_hidden_layers", 1) * heads * size * _itemsize(model)


def worked_bytes(model: Any) -> int:
    """Return the peak bytes per prompt token during prefill, in the language model.

    The gate, up and product of one layer's feed-forward part, and the hidden states around it.
    """
    text = model.config.get_text_config()
    hidden = _largest(text, "hidden_size", 4096)
    inner = _largest(text, "intermediate_size", 4 * hidden)
    return _itemsize(model) * (3 * inner + 6 * hidden)


def _itemsize(model: Any) -> int:
    return int(model.dtype.itemsize) if model.dtype.is_floating_point else 2


def _largest(config: Any, name: str, otherwise: int) -> int:
    """Return a size in a configuration, the largest where layers differ in it."""
    layers = config.per_layer_config if getattr(config, "is_heterogeneous", False) else [config]
    values: list[int] = []
    for layer in layers:
        value = getattr(layer, name, None)
        values += value if isinstance(value, list | tuple) else [value or 0]
    return max(values, default=0) or otherwise


def typical_tokens(family: ModelFamily, context: int | None) -> int:
    """Tokens of a step: a full-page screenshot as large as the model takes it, and the texts."""
    rule = family.image_rule
    picture = rule.tokens(*rule.fit(*TYPICAL_PAGE)) if rule else None
    tokens = (picture or 0) + TYPICAL_TEXT
    return tokens if context is None else min(tokens, context)
