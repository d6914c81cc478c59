"""The language model's layers. Parameter names are those of the published checkpoints."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from adapters.local.qwen_vl.config import QwenVLConfig
from adapters.local.qwen_vl.rotary import Rotation


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
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """Attention written out (`--attn eager`): softmax in float32; all [rows, heads, n, size]."""
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
