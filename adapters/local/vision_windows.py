"""Attention of the Qwen vision towers, many windows at a time.

Transformers cuts the patches of a batch at the bounds of pictures or windows and attends to one
piece after the other. In Qwen2.5-VL a piece is a window of 8 by 8 patches: for 32 screenshots of
1.6 million pixels that is 130,000 calls of a few microseconds' work each, and the GPU waits for the
interpreter for seconds. Here pieces of one length go through the same kernel together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

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
    cu_seq_lens_q: torch.Tensor,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Full attention within each piece: [1, heads, patches, size] to [1, patches, heads, size].

    `cu_seq_lens_q` are the bounds of the pieces, from 0 to the number of patches.
    """
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
