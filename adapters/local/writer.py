"""Calls `generate`: a padded batch in, token ids out.

Attention of the Qwen vision towers, many windows at a time.

Transformers cuts the patches of a batch at the bounds of pictures or windows and attends to one
piece after the other. In Qwen2.5-VL a piece is a window of 8 by 8 patches: for 32 screenshots of
1.6 million pixels that is 130,000 calls of a few microseconds' work each, and the GPU waits for the
interpreter for seconds. Here pieces of one length go through the same kernel together.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import GenerationConfig
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer
from transformers.generation.utils import ALL_CACHE_NAMES

from adapters.contract import Fatal
from adapters.conversation import Finish
from adapters.local.contract import Loaded, Padded, Work
from adapters.local.sampling import Draw, FiniteScores, ForbiddenTokens, RowLimits, samples

CACHE: str = ALL_CACHE_NAMES[0]
"""The name of the cache in this version of transformers: `cache` or `past_key_values`."""
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
    if cache.layers and all(type(layer) is DynamicLayer for layer in cache.layers):
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


NAME = "pieces_by_flash_lengths"
"""Registered with transformers, whose towers hand over the bounds of the pieces, instead of the
pieces themselves, to implementations with "flash" in their name."""
CUTTING = {"qwen2_5_vl_vision"}
"""Vision towers that cut pictures into windows."""
MOST = 16_384
"""Pieces in a call: grids of kernels end at 65,535."""


def attend_in_pieces(model: Any) -> bool:
    """Use this attention in a model's vision tower, if the tower cuts pictures into windows and
    its attention is the default one. Returns whether it does.
    """
    config = getattr(getattr(getattr(model, "model", None), "visual", None), "config", None)
    known = getattr(config, "model_type", "") in CUTTING
    if config is None or not known or config._attn_implementation != "sdpa":
        return False
    # Fails with a broken torchvision, which is checked for before a model is loaded.
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, pieces)
    config._attn_implementation = NAME
    return True


def pieces(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float,
    dropout: float,
    cu_seq_lens_q: torch.Tensor,
    cu_seq_lens_k: torch.Tensor,
    max_length_q: Any,
    max_length_k: Any,
    is_causal: bool,
) -> tuple[torch.Tensor, None]:
    """Full attention within each piece: [1, heads, patches, size] to [1, patches, heads, size].

    `cu_seq_lens_q` are the bounds of the pieces, from 0 to the number of patches. Raises
    ValueError for what it does not compute: masks, causal pieces, keys cut in another way.
    """
    if attention_mask is not None or is_causal or cu_seq_lens_k is not cu_seq_lens_q:
        raise ValueError("the pieces of a picture are attended to in full, without a mask")
    whole = [states[0].transpose(0, 1) for states in (query, key, value)]
    out = torch.empty_like(whole[0])
    for rows in _kept_rows(cu_seq_lens_q, query.device):
        flat = rows.flatten()
        q, k, v = (
            states[flat].view(*rows.shape, *states.shape[1:]).transpose(1, 2).contiguous()
            for states in whole
        )
        mixed = scaled_dot_product_attention(q, k, v, scale=scaling)
        out[flat] = mixed.transpose(1, 2).flatten(0, 1)
    return out[None], None


def _kept_rows(bounds: torch.Tensor, device: torch.device) -> list[torch.Tensor]:
    """Return the rows of these bounds, worked out once for all layers that have them on a
    device."""
    kept: dict[torch.device, list[torch.Tensor]] = getattr(bounds, "_rows_of_pieces", {})
    if device not in kept:
        kept[device] = _rows(bounds.tolist(), device)
        bounds._rows_of_pieces = kept  # type: ignore[attr-defined]
    return kept[device]


def _rows(bounds: Sequence[int], device: torch.device) -> list[torch.Tensor]:
    """Return the patches of all pieces, [pieces, length] for every length."""
    starts: dict[int, list[int]] = {}
    for start, end in pairwise(bounds):
        if end > start:
            starts.setdefault(end - start, []).append(start)
    return [
        torch.tensor(some, device=device)[:, None] + torch.arange(length, device=device)
        for length, all_of_it in starts.items()
        for some in (all_of_it[at : at + MOST] for at in range(0, len(all_of_it), MOST))
    ]


class Writer:
    """A model that writes replies. One thread uses it; `interrupt` may come from any."""

    def __init__(self, loaded: Loaded) -> None:
        self._model = loaded.model
        self._family = loaded.family
        self._device = loaded.device
        self._forbidden = ForbiddenTokens(loaded.model.config, loaded.device)
        self._interrupted = threading.Event()
        # `generate` takes its defaults from here: a checkpoint must not decide on sampling.
        self._model.generation_config = GenerationConfig()
        self._model.eval()
        attend_in_pieces(self._model)

    def interrupt(self) -> None:
        """Stop the current batch, which then raises `Fatal`."""
        self._interrupted.set()

    def write(
        self, works: Sequence[Work], padded: Padded, inputs: Mapping[str, Any], cache: Any
    ) -> torch.Tensor:
        """New ids [rows, columns], on the CPU: as many columns as the longest reply has, and after
        the end of a shorter one nothing that counts. The cache then holds all columns but the last.
        """
        start = int(padded.ids.shape[1])
        new = max(work.generation.max_tokens for work in works)
        make_room(cache, new)
        finite = FiniteScores(works, self._device)
        limits = RowLimits(works, start, self._device, self._interrupted, finite)
        choosing: list[Any] = [finite, self._forbidden]
        if any(samples(work.generation) for work in works):
            choosing.append(Draw(works, start, self._device))
        with torch.inference_mode():
            sequences: torch.Tensor = self._model.generate(
                input_ids=self._moved(padded.ids),
                attention_mask=self._moved(padded.mask),
                generation_config=self._greedy(new),
                logits_processor=choosing,
                stopping_criteria=[limits],
                **{CACHE: cache},
                **{name: self._moved(value) for name, value in inputs.items()},
            )
        if self._interrupted.is_set():
            raise Fatal("generation was stopped")
        finite.check(self._model.dtype, self._device)
        return sequences[:, start:].cpu()

    def reply(self, work: Work, ids: Sequence[int]) -> tuple[tuple[int, ...], Finish]:
        """Return a row's ids up to its stop id or its own limit."""
        kept = tuple(ids[: work.generation.max_tokens])
        for count, token in enumerate(kept, 1):
            if token in self._family.stop_ids:
                return kept[:count], Finish.STOP
        return kept, Finish.LENGTH

    def _greedy(self, new: int) -> GenerationConfig:
        """Set every parameter explicitly; no default of a checkpoint or library version applies.
        Rows that sample are left one token to choose from."""
        return GenerationConfig(
            max_new_tokens=new,
            do_sample=False,
            num_beams=1,
            repetition_penalty=1.0,
            use_cache=True,
            eos_token_id=list(self._family.stop_ids) or None,
            pad_token_id=self._family.pad_id,
            return_dict_in_generate=False,
            disable_compile=True,
        )

    def _moved(self, value: Any) -> Any:
        """Move it to the device; from pinned memory, without waiting."""
        if not isinstance(value, torch.Tensor) or value.device.type != "cpu":
            return value
        if torch.device(self._device).type == "cuda":
            value = value.pin_memory()
        return value.to(self._device, non_blocking=True)
