"""The vision tower and the resampler, which turn a picture into a fixed number of vectors.

Qwen-VL (Bai et al. 2023, arXiv:2308.12966): a ViT-bigG, and one cross-attention layer
with learned queries. Parameter names are those of the published checkpoints.

Positions beyond the training length: dynamic NTK and log-n attention.

Both are described in Qwen's technical report (Bai et al. 2023, arXiv:2309.16609). A prompt longer
than `seq_length` uses a larger rotary base, and queries late in it are scaled up. The
original computes one alpha for a batch from its padded length; here every row has its own, from
its own length, and its answer does not depend on what else is in the batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import isqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, interpolate, scaled_dot_product_attention
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from adapters.local.qwen_vl.config import STORED_SIDE, QwenVLConfig, VisionShape


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


class RMSNorm(nn.Module):
    """Root-mean-square norm, computed in float32."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, states: Tensor) -> Tensor:
        whole = states.float()
        whole = whole * torch.rsqrt(whole.pow(2).mean(-1, keepdim=True) + self.eps)
        return whole.to(states.dtype) * self.weight


def plain_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    dropout: float,
) -> tuple[Tensor, Tensor]:
    """Attention written out (`attn=eager`): softmax in float32; all [rows, heads, n, size]."""
    weights = query @ key.transpose(2, 3) * scaling
    if attention_mask is not None:
        weights = weights + attention_mask
    weights = weights.softmax(-1, dtype=torch.float32).to(query.dtype)
    return (weights @ value).transpose(1, 2).contiguous(), weights


class Attention(nn.Module):
    """Causal self-attention; `c_attn` gives queries, keys and values in three blocks."""

    is_causal = True
    num_key_value_groups = 1

    def __init__(self, config: QwenVLConfig, layer: int) -> None:
        super().__init__()
        self.config = config
        self.layer_idx = layer
        self.heads, self.size = config.num_attention_heads, config.kv_channels
        self.scaling = self.size**-0.5
        inner = config.attention_size
        self.c_attn = nn.Linear(config.hidden_size, 3 * inner)
        self.c_proj = nn.Linear(inner, config.hidden_size, bias=not config.no_bias)

    def forward(self, states: Tensor, rotation: Rotation, mask: Any, cache: Any) -> Tensor:
        """[rows, columns, hidden] to the same; `cache` is grown in place."""
        rows, columns, _ = states.shape
        parts = self.c_attn(states).view(rows, columns, 3, self.heads, self.size)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        query, key = rotation.queries(query), rotation.keys(key)
        if cache is not None:
            key, value = cache.update(key, value, self.layer_idx)
        attend = ALL_ATTENTION_FUNCTIONS.get_interface(
            self.config._attn_implementation, plain_attention
        )
        mixed, _ = attend(self, query, key, value, mask, dropout=0.0, scaling=self.scaling)
        out: Tensor = self.c_proj(mixed.reshape(rows, columns, -1))
        return out


class GatedMLP(nn.Module):
    """`c_proj(w1(x) * silu(w2(x)))`; `intermediate_size` counts w1 and w2 together."""

    def __init__(self, config: QwenVLConfig) -> None:
        super().__init__()
        inner, bias = config.intermediate_size // 2, not config.no_bias
        self.w1 = nn.Linear(config.hidden_size, inner, bias=bias)
        self.w2 = nn.Linear(config.hidden_size, inner, bias=bias)
        self.c_proj = nn.Linear(inner, config.hidden_size, bias=bias)

    def forward(self, states: Tensor) -> Tensor:
        out: Tensor = self.c_proj(self.w1(states) * nn.functional.silu(self.w2(states)))
        return out


class QwenVLBlock(nn.Module):
    """One layer: attention and gated MLP, each behind a norm and added."""

    def __init__(self, config: QwenVLConfig, layer: int) -> None:
        super().__init__()
        self.ln_1 = RMSNorm(config.hidden_size, config.layer_norm_epsilon)
        self.attn = Attention(config, layer)
        self.ln_2 = RMSNorm(config.hidden_size, config.layer_norm_epsilon)
        self.mlp = GatedMLP(config)

    def forward(self, states: Tensor, rotation: Rotation, mask: Any, cache: Any) -> Tensor:
        states = states + self.attn(self.ln_1(states), rotation, mask, cache)
        out: Tensor = states + self.mlp(self.ln_2(states))
        return out


EPS = 1e-6
# Pictures that go through the tower at a time: at full size, its widest layer needs 16 MB each.
AT_ONCE = 16


def stretched(stored: Tensor, side: int) -> Tensor:
    """Position embeddings of a square grid [n * n, size], interpolated to [side * side, size]."""
    before = isqrt(stored.shape[0])
    if before == side:
        return stored
    grid = stored.float().view(1, before, before, -1).permute(0, 3, 1, 2)
    grid = interpolate(grid, size=(side, side), mode="bicubic", align_corners=False)
    return grid.permute(0, 2, 3, 1).flatten(0, 2).to(stored.dtype)


class VisionAttention(nn.Module):
    """Full self-attention; `in_proj` interleaves queries, keys and values head by head."""

    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.in_proj = nn.Linear(shape.width, 3 * shape.width)
        self.out_proj = nn.Linear(shape.width, shape.width)

    def forward(self, states: Tensor) -> Tensor:
        parts = self.in_proj(states).unflatten(-1, (self.heads, 3, -1))
        query, key, value = parts.permute(3, 0, 2, 1, 4)
        mixed = scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
        out: Tensor = self.out_proj(mixed)
        return out


class VisionMLP(nn.Module):
    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        self.c_fc = nn.Linear(shape.width, shape.mlp)
        self.c_proj = nn.Linear(shape.mlp, shape.width)

    def forward(self, states: Tensor) -> Tensor:
        out: Tensor = self.c_proj(gelu(self.c_fc(states)))
        return out


class VisionBlock(nn.Module):
    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(shape.width, EPS)
        self.attn = VisionAttention(shape)
        self.ln_2 = nn.LayerNorm(shape.width, EPS)
        self.mlp = VisionMLP(shape)

    def forward(self, states: Tensor) -> Tensor:
        states = states + self.attn(self.ln_1(states))
        out: Tensor = states + self.mlp(self.ln_2(states))
        return out


class VisionLayers(nn.Module):
    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        self.resblocks = nn.ModuleList([VisionBlock(shape) for _ in range(shape.layers)])

    def forward(self, states: Tensor) -> Tensor:
        for block in self.resblocks:
            states = block(states)
        return states


class Resampler(nn.Module):
    """Learned queries attend to a picture's patches: [n, patches, width] to [n, queries, output].

    Positions are added to queries and keys, not to values.
    """

    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        size = shape.output
        self.heads, self.grid = shape.pool_heads, shape.grid
        self.query = nn.Parameter(torch.zeros(shape.queries, size))
        self.pos_embed = nn.Parameter(torch.zeros(shape.queries, size), requires_grad=False)
        self.kv_proj = nn.Linear(shape.width, size, bias=False)
        self.ln_q = nn.LayerNorm(size, EPS)
        self.ln_kv = nn.LayerNorm(size, EPS)
        self.attn = PackedProjections(size)

    def forward(self, patches: Tensor) -> Tensor:
        value = self.ln_kv(self.kv_proj(patches))
        key = value + stretched(self.pos_embed, self.grid)
        query = (self.ln_q(self.query) + self.pos_embed).expand(patches.shape[0], -1, -1)
        projected = self.attn(query, key, value)
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in projected
        )
        mixed = scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
        out: Tensor = self.attn.out_proj(mixed)
        return out


class PackedProjections(nn.Module):
    """Projections of queries, keys and values, stored in one matrix of three blocks."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.in_proj_weight = nn.Parameter(torch.zeros(3 * size, size))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * size))
        self.out_proj = nn.Linear(size, size)

    def forward(self, *inputs: Tensor) -> list[Tensor]:
        blocks = zip(inputs, self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3), strict=True)
        return [nn.functional.linear(states, weight, bias) for states, weight, bias in blocks]


class VisionTower(nn.Module):
    """Pixels [n, 3, side, side] to [n, queries, hidden], in the parameters' dtype."""

    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        self.shape = shape
        patch = shape.patch_size
        self.conv1 = nn.Conv2d(3, shape.width, patch, patch, bias=False)
        self.positional_embedding = nn.Parameter(torch.zeros(STORED_SIDE**2, shape.width))
        self.ln_pre = nn.LayerNorm(shape.width, EPS)
        self.transformer = VisionLayers(shape)
        self.attn_pool = Resampler(shape)
        self.ln_post = nn.LayerNorm(shape.output, EPS)
        self.proj = nn.Parameter(torch.zeros(shape.output, shape.output))

    def forward(self, pixels: Tensor) -> Tensor:
        pixels = pixels.to(device=self.conv1.weight.device, dtype=self.conv1.weight.dtype)
        return torch.cat([self._some(part) for part in torch.split(pixels, AT_ONCE)])

    def _some(self, pixels: Tensor) -> Tensor:
        patches = self.conv1(pixels).flatten(2).transpose(1, 2)
        patches = patches + stretched(self.positional_embedding, self.shape.grid)
        patches = self.transformer(self.ln_pre(patches))
        out: Tensor = self.ln_post(self.attn_pool(patches)) @ self.proj
        return out
