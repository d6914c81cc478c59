"""Positions beyond the training length: dynamic NTK and log-n attention.

Both are described in Qwen's technical report (Bai et al. 2023, arXiv:2309.16609). A prompt longer
than `seq_length` uses a larger rotary base, and queries late in it are scaled up. The
original computes one alpha for a batch from its padded length; here every row has its own, from
its own length, and its answer does not depend on what else is in the batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


def ntk_alpha(length: int, trained: int) -> int:
    """Return the factor of the rotary base for a prompt of `length` tokens: 1, 3, 7, 15, ...

    1 up to the `trained` length, then one step for every doubling: 3 up to twice, 7 up to four
    times. Equals max(2**ceil(log2(length / trained) + 1) - 1, 1).
    """
    doublings = max(0, -(-length // trained) - 1).bit_length()
    return int(2 ** (doublings + 1) - 1)


def alphas(lengths: Tensor, trained: int) -> Tensor:
    """Return `ntk_alpha` of each row: [rows] token counts to [rows] float32, on the same device."""
    values = [float(ntk_alpha(int(n), trained)) for n in lengths.tolist()]
    return torch.tensor(values, dtype=torch.float32, device=lengths.device)


def positions(mask: Tensor) -> Tensor:
    """0-based places of the ids that count, [rows, columns]; 0 where the mask is 0."""
    places = mask.long().cumsum(-1) - 1
    return places.masked_fill(mask == 0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Rotation:
    """Cosines and sines for queries and keys, each [rows, 1, columns, head_dim] in float32.

    Those of the queries carry the log-n scale.
    """

    query_cos: Tensor
    query_sin: Tensor
    key_cos: Tensor
    key_sin: Tensor

    @classmethod
    def at(
        cls,
        places: Tensor,
        alpha: Tensor,
        *,
        dim: int,
        base: float,
        trained: int,
        logn: bool,
    ) -> Rotation:
        """Build it for `places` [rows or 1, columns] with the NTK `alpha` [rows or 1]."""
        exponents = torch.arange(0, dim, 2, dtype=torch.float32, device=places.device) / dim
        bases = base * alpha.double() ** (dim / (dim - 2))
        frequencies = 1.0 / bases.float()[:, None] ** exponents
        angles = places[:, :, None].float() * frequencies[:, None, :]
        angles = torch.cat((angles, angles), -1)[:, None]
        cos, sin = angles.cos(), angles.sin()
        if not logn:
            return cls(cos, sin, cos, sin)
        count = (places + 1).clamp(min=trained).float()
        scale = (count.log() / math.log(trained))[:, None, :, None]
        # At the trained length and below the scale is 1 exactly, not nearly.
        scale = torch.where((places < trained)[:, None, :, None], 1.0, scale)
        return cls(cos * scale, sin * scale, cos, sin)

    def to(self, device: torch.device | str, **options: Any) -> Rotation:
        """Move it to another device, where layers are spread over several."""
        names = ("query_cos", "query_sin", "key_cos", "key_sin")
        return Rotation(*(getattr(self, name).to(device, **options) for name in names))

    def queries(self, states: Tensor) -> Tensor:
        """Rotate and scale queries [rows, heads, columns, head_dim]."""
        return _rotated(states, self.query_cos, self.query_sin)

    def keys(self, states: Tensor) -> Tensor:
        """Rotate keys [rows, heads, columns, head_dim]."""
        return _rotated(states, self.key_cos, self.key_sin)


def _rotated(states: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    whole = states.float()
    first, second = whole.chunk(2, -1)
    return (whole * cos + torch.cat((-second, first), -1) * sin).to(states.dtype)
