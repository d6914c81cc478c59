"""Key-value caches that are kept between calls of `generate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

ROOM = 128
"""Columns added each time a growing cache is enlarged."""


class RoomyLayer(DynamicLayer):  # type: ignore[misc]
    """A layer that is enlarged by many columns at a time.

    The cache of transformers concatenates, which copies all of it for every token; at 32 rows of
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
        """Copy these rows."""
        other = RoomyLayer()
        other.lazy_initialization(self.keys, self.values)
        other.keys, other.values = self.keys[rows], self.values[rows]
        other._keys, other._values = other.keys, other.values
        return other

    @property
    def nbytes(self) -> int:
        """Bytes allocated, spare room included."""
        buffers = (self._keys, self._values)
        return sum(t.numel() * t.element_size() for t in buffers if t is not None)


def new_cache(model: Any) -> Cache:
    """Return an empty cache for a model; models with anything but full attention get their own
    kind."""
    cache: Cache = DynamicCache(config=model.config)
    if _full_attention(cache):
        cache.layers = [RoomyLayer() for _ in cache.layers]
    return cache


def can_be_kept(cache: Cache) -> bool:
    """Return whether rows can be continued behind padding: not with sliding windows or states."""
    return bool(cache.layers) and all(isinstance(layer, RoomyLayer) for layer in cache.layers)


def make_room(cache: Cache, new: int) -> None:
    """Have a cache grow by enough columns for a call that writes at most `new` tokens."""
    for layer in cache.layers:
        if isinstance(layer, RoomyLayer):
            # A larger room would stay allocated for replies that end early; growing costs one copy.
            layer.room = min(new, ROOM)


def cache_bytes(cache: Cache) -> int:
    return sum(getattr(layer, "nbytes", 0) for layer in cache.layers)


def select_rows(cache: Cache, rows: Sequence[int]) -> None:
    """Keep these rows only, layer by layer, to avoid a second copy of the whole cache."""
    for layer in cache.layers:
        layer.select(_indices(layer, rows))


def copy_rows(cache: Cache, rows: Sequence[int]) -> Cache:
    """Copy these rows."""
    return Cache(layers=[layer.copied(_indices(layer, rows)) for layer in cache.layers])


def _indices(layer: Any, rows: Sequence[int]) -> torch.Tensor:
    """Return row numbers on the layer's device: a device map spreads layers."""
    return torch.tensor(list(rows), dtype=torch.long, device=layer.keys.device)


def _full_attention(cache: Cache) -> bool:
    return bool(cache.layers) and all(type(layer) is DynamicLayer for layer in cache.layers)
