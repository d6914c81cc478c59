"""The vision tower and the resampler, which turn a picture into a fixed number of vectors.

Qwen-VL (Bai et al. 2023, arXiv:2308.12966): a ViT-bigG, and one cross-attention layer
with learned queries. Parameter names are those of the published checkpoints.
"""

from __future__ import annotations

from math import isqrt

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, interpolate, scaled_dot_product_attention

from adapters.local.qwen_vl.config import STORED_SIDE, VisionShape

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
