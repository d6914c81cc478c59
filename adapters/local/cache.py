"""Key-value caches that are kept between calls of `generate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import pad
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, StaticLayer

ROOM = 128
"""Columns by which a growing cache is enlarged at a time."""
STEP = 512
"""Columns by which caches of fixed size differ."""
POOLED = 4
"""The most unused caches: one more than the cohorts that are planned for."""
NEXT_ROUND = 1_536
"""Columns set aside for the next round's question, beside its reply."""


class RoomyLayer(DynamicLayer):  # type: ignore[misc]
    """A layer that is enlarged by many columns at a time.

    That of transformers concatenates, which copies the whole cache for every token; at 32 rows of
    2,000 tokens that is as much memory traffic as half the weights of a 7B model.
    """

    def __init__(self) -> None:
        super().__init__()
        self.room = 0
        self.keys: torch.Tensor
        self.values: torch.Tensor
        self._keys: torch.Tensor | None = None
        self._values: torch.Tensor | None = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append columns; returns views of all columns so far."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start = self.get_seq_length()
        end = start + key_states.shape[-2]
        if self._keys is None or self._values is None or self._keys.shape[-2] < end:
            columns = end + self.room
            self._keys = self._grown(self.keys, key_states, start, columns)
            self._values = self._grown(self.values, value_states, start, columns)
        self._keys[..., start:end, :] = key_states
        self._values[..., start:end, :] = value_states
        self.keys, self.values = self._keys[..., :end, :], self._values[..., :end, :]
        return self.keys, self.values

    @staticmethod
    def _grown(old: torch.Tensor, new: torch.Tensor, start: int, columns: int) -> torch.Tensor:
        grown = new.new_empty((*new.shape[:-2], columns, new.shape[-1]))
        if start:
            grown[..., :start, :] = old
        return grown

    def select(self, rows: torch.Tensor) -> None:
        """Keep these rows only, without spare room."""
        self.keys, self.values = self.keys[rows], self.values[rows]
        self._keys, self._values = self.keys, self.values

    def copied(self, rows: torch.Tensor) -> RoomyLayer:
        """A copy of these rows."""
        other = RoomyLayer()
        other.lazy_initialization(self.keys, self.values)
        other.keys, other.values = self.keys[rows], self.values[rows]
        other._keys, other._values = other.keys, other.values
        return other

    @property
    def nbytes(self) -> int:
        """Bytes held, spare room included."""
        held = (self._keys, self._values)
        return sum(t.numel() * t.element_size() for t in held if t is not None)


class FixedLayer(StaticLayer):  # type: ignore[misc]
    """A layer with a fixed number of columns, as compiled code and CUDA graphs need it."""

    def __init__(self, columns: int) -> None:
        super().__init__(max_cache_len=columns)
        self.max_cache_len: int = columns

    def grow(self, columns: int) -> None:
        """Enlarge the layer to this many columns."""
        if columns > self.max_cache_len:
            more = (0, 0, 0, columns - self.max_cache_len)
            self.max_cache_len = columns
            if self.is_initialized:
                self._hold(pad(self.keys, more), pad(self.values, more))

    def select(self, rows: torch.Tensor) -> None:
        """Keep these rows only."""
        self._hold(self.keys[rows], self.values[rows])

    def copied(self, rows: torch.Tensor) -> FixedLayer:
        """A copy of these rows."""
        other = FixedLayer(self.max_cache_len)
        other.lazy_initialization(self.keys[rows], self.values[rows])
        other._hold(self.keys[rows], self.values[rows])
        other.cumulative_length.copy_(self.cumulative_length)
        return other

    def _hold(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        self.keys, self.values = keys, values
        self.batch_size = keys.shape[0]
        for tensor in (keys, values):
            torch._dynamo.mark_static_address(tensor)

    @property
    def nbytes(self) -> int:
        """Bytes held, free columns included."""
        held = (self.keys, self.values) if self.is_initialized else ()
        return sum(t.numel() * t.element_size() for t in held)


def new_cache(model: Any) -> Cache:
    """An empty cache for a model; models with anything but full attention get their own kind."""
    cache: Cache = DynamicCache(config=model.config)
    if _full_attention(cache):
        cache.layers = [RoomyLayer() for _ in cache.layers]
    return cache


def fixed_cache(model: Any, columns: int) -> Cache:
    """An empty cache of at least so many columns. The number is rounded up, so that few differ."""
    count = len(DynamicCache(config=model.config).layers)
    return Cache(layers=[FixedLayer(_rounded(columns)) for _ in range(count)])


class CachePool:
    """Gives caches to new batches and takes them back.

    Those of fixed size are used again once their dialogues are over: a CUDA graph writes to the
    addresses that it was recorded with.
    """

    def __init__(self, model: Any, fixed: bool) -> None:
        self._model = model
        self._fixed = fixed
        self._free: list[Cache] = []

    def take(self, rows: int, prompt: int, new: int, *, continues: bool) -> Cache:
        """An empty cache for a batch."""
        if not self._fixed:
            return new_cache(self._model)
        columns = prompt + new + (NEXT_ROUND + new if continues else 0)
        for cache in self._free:
            layer = cache.layers[0]
            # Not much larger either: every column is read for every token.
            if layer.batch_size == rows and columns <= layer.max_cache_len < 1.5 * columns:
                self._free.remove(cache)
                with torch.inference_mode():
                    for layer in cache.layers:
                        layer.reset()
                return cache
        return fixed_cache(self._model, columns)

    def give(self, cache: Cache) -> None:
        """Take a cache back."""
        if self._fixed and all(isinstance(layer, FixedLayer) for layer in cache.layers):
            self._free = [cache, *self._free][:POOLED]

    def clear(self) -> bool:
        """Drop all caches. Returns False if there were none."""
        had = bool(self._free)
        self._free.clear()
        return had


def can_be_fixed(model: Any) -> bool:
    """Whether a model takes a cache of fixed size: it declares so and has full attention."""
    return bool(getattr(model, "_can_compile_fullgraph", False)) and _full_attention(
        DynamicCache(config=model.config)
    )


def can_be_kept(cache: Cache) -> bool:
    """Whether rows can be continued behind padding: not with sliding windows or states."""
    return bool(cache.layers) and all(
        isinstance(layer, RoomyLayer | FixedLayer) for layer in cache.layers
    )


def make_room(cache: Cache, prompt: int, new: int) -> None:
    """Provide for a call with `prompt` columns, kept ones included, and at most `new` tokens."""
    for layer in cache.layers:
        if isinstance(layer, RoomyLayer):
            # More would be held by every reply that ends early, and growing costs one copy.
            layer.room = min(new, ROOM)
        elif isinstance(layer, FixedLayer) and prompt + new > layer.max_cache_len:
            layer.grow(_rounded(prompt + new))


def cache_bytes(cache: Cache) -> int:
    return sum(getattr(layer, "nbytes", 0) for layer in cache.layers)


def select_rows(cache: Cache, rows: Sequence[int]) -> None:
    """Keep these rows only, layer by layer so that no second copy of the whole is held."""
    for layer in cache.layers:
        layer.select(_indices(layer, rows))


def copy_rows(cache: Cache, rows: Sequence[int]) -> Cache:
    """A copy of these rows."""
    return Cache(layers=[layer.copied(_indices(layer, rows)) for layer in cache.layers])


def _indices(layer: Any, rows: Sequence[int]) -> torch.Tensor:
    """On the layer's own device: a device map spreads them."""
    return torch.tensor(list(rows), dtype=torch.long, device=layer.keys.device)


def _full_attention(cache: Cache) -> bool:
    return bool(cache.layers) and all(type(layer) is DynamicLayer for layer in cache.layers)


def _rounded(columns: int) -> int:
    return -(-columns // STEP) * STEP
