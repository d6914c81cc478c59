"""The figures of published configurations, and of models small enough for any processor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TINY_VOCABULARY = 8_512

Numbers = Mapping[str, Any]
_QWEN2: Numbers = {
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "max_position_embeddings": 128_000,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]},
}
_QWEN3: Numbers = {
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
    "max_position_embeddings": 262_144,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 5e6,
        "mrope_section": [24, 20, 20],
        "mrope_interleaved": True,
    },
}
_TINY: Numbers = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": TINY_VOCABULARY,
    "max_position_embeddings": 32_768,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]},
}
_TINY_VISION: Numbers = {
    "depth": 2,
    "num_heads": 2,
    "hidden_size": 32,
    "out_hidden_size": 64,
    "intermediate_size": 64,
    "window_size": 56,
    "fullatt_block_indexes": [1],
}
_WIDE: Numbers = {
    "hidden_size": 256,
    "intermediate_size": 512,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [8, 12, 12]},
}
HF: Mapping[str, tuple[str, Numbers, Numbers]] = {
    "tiny": ("qwen2.5-vl", _TINY, _TINY_VISION),
    # Heads of 64 dimensions, the least that vLLM takes.
    "tiny-wide": ("qwen2.5-vl", {**_TINY, **_WIDE}, {**_TINY_VISION, "out_hidden_size": 256}),
    "qwen2-vl-7b": (
        "qwen2-vl",
        _QWEN2,
        {"depth": 32, "embed_dim": 1280, "hidden_size": 3584, "num_heads": 16, "mlp_ratio": 4},
    ),
    "qwen2.5-vl-7b": (
        "qwen2.5-vl",
        _QWEN2,
        {
            "depth": 32,
            "num_heads": 16,
            "hidden_size": 1280,
            "out_hidden_size": 3584,
            "intermediate_size": 3420,
            "window_size": 112,
            "fullatt_block_indexes": [7, 15, 23, 31],
        },
    ),
    "qwen3-vl-8b": (
        "qwen3-vl",
        _QWEN3,
        {
            "depth": 27,
            "num_heads": 16,
            "hidden_size": 1152,
            "out_hidden_size": 4096,
            "intermediate_size": 4304,
            "patch_size": 16,
            "num_position_embeddings": 2304,
            "deepstack_visual_indexes": [8, 16, 24],
        },
    ),
}
_VISUAL: Numbers = {
    "heads": 16,
    "image_size": 448,
    "layers": 48,
    "mlp_ratio": 4.9231,
    "n_queries": 256,
    "output_dim": 4096,
    "patch_size": 14,
    "width": 1664,
}
_TINY_VISUAL: Numbers = {
    **_VISUAL,
    "heads": 2,
    "image_size": 56,
    "layers": 2,
    "n_queries": 16,
    "output_dim": 128,
    "width": 32,
}
ORIGINAL: Mapping[str, tuple[Numbers, Numbers]] = {
    "tiny-qwen-vl": (
        {
            "hidden_size": 128,
            "intermediate_size": 256,
            "kv_channels": 32,
            "num_attention_heads": 4,
            "num_hidden_layers": 2,
        },
        _TINY_VISUAL,
    ),
    "qwen-vl": ({}, _VISUAL),
}
SHAPES = (*HF, *ORIGINAL)
ENDOFTEXT = 151_643
"""Ranks of the original vocabulary; the special tokens come behind them."""
