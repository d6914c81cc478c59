"""The published configuration of an original Qwen-VL, and the shapes that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt
from typing import Any

from transformers import PreTrainedConfig

from adapters.contract import Fatal
from adapters.local.checkpoint import QWEN_VL
from adapters.local.options import explained, line

# Side of the grid of the stored position embeddings; other grids are interpolated.
STORED_SIDE = 16
POOL_HEAD_SIZE = 128


@dataclass(frozen=True, slots=True)
class VisionShape:
    """The vision tower's and resampler's sizes (`visual` in `config.json`).

    A picture of `image_size` pixels a side is cut into patches of `patch_size`, `grid` of them a
    side, and comes out as `queries` vectors of `output` values. No id before `image_start`
    belongs to a picture: the next `queries` ids mark the places of its vectors, then comes
    `image_end`.
    """

    image_size: int
    patch_size: int
    width: int
    layers: int
    heads: int
    mlp: int
    output: int
    queries: int
    image_start: int

    @property
    def grid(self) -> int:
        return self.image_size // self.patch_size

    @property
    def image_end(self) -> int:
        return self.image_start + 1

    @property
    def pool_heads(self) -> int:
        return self.output // POOL_HEAD_SIZE

    @classmethod
    def of(cls, visual: Mapping[str, Any]) -> VisionShape:
        """Read from `config.json`'s `visual`. Raises `Fatal` for sizes that do not go together."""
        try:
            shape = cls(
                image_size=int(visual["image_size"]),
                patch_size=int(visual["patch_size"]),
                width=int(visual["width"]),
                layers=int(visual["layers"]),
                heads=int(visual["heads"]),
                mlp=int(visual["width"] * visual["mlp_ratio"]),
                output=int(visual["output_dim"]),
                queries=int(visual.get("n_queries", 256)),
                image_start=int(visual["image_start_id"]),
            )
            square = isqrt(shape.queries) ** 2 == shape.queries
            if not square or shape.image_size % shape.patch_size or shape.width % shape.heads:
                raise ValueError("sizes that do not go together")
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            what = type(error).__name__
            raise Fatal(f"config.json: 'visual' cannot be used: {what}: {line(error)}") from error
        return shape


class QwenVLConfig(PreTrainedConfig):  # type: ignore[misc]
    """`config.json` as published with Qwen-VL-Chat; the values below are that checkpoint's.

    `intermediate_size` counts both halves of the gated layer. `seq_length` is the length that the
    model was trained at: rotary base and attention scale change beyond it.
    """

    model_type = QWEN_VL
    keys_to_ignore_at_inference = ("past_key_values",)

    vocab_size: int = 151936
    hidden_size: int = 4096
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    kv_channels: int = 128
    intermediate_size: int = 22016
    layer_norm_epsilon: float = 1e-6
    initializer_range: float = 0.02
    max_position_embeddings: int = 8192
    seq_length: int = 2048
    rotary_emb_base: float = 10000
    rotary_pct: float = 1.0
    use_dynamic_ntk: bool = True
    use_logn_attn: bool = True
    no_bias: bool = True
    use_cache: bool = True
    tie_word_embeddings: bool = False
    visual: dict[str, Any] | None = None

    @property
    def vision(self) -> VisionShape:
        return VisionShape.of(self.visual or {})

    @property
    def image_token_id(self) -> int:
        """The id that a reply must not contain, because it would refer to a picture."""
        return self.vision.image_start

    @property
    def head_dim(self) -> int:
        return self.kv_channels

    @property
    def num_key_value_heads(self) -> int:
        return self.num_attention_heads

    @property
    def attention_size(self) -> int:
        return self.kv_channels * self.num_attention_heads

    @classmethod
    def of(cls, published: Mapping[str, Any]) -> QwenVLConfig:
        """Read from a parsed `config.json`. Raises `Fatal` for settings that are not supported."""
        with explained("config.json is not an original Qwen-VL's"):
            config = cls(**published)
        shape = config.vision
        for wrong, why in (
            (config.rotary_pct != 1.0, "rotary_pct is not 1"),
            (config.tie_word_embeddings, "tied word embeddings"),
            (not config.scale_attention, "scale_attn_weights is off"),
            (shape.output != config.hidden_size, "visual output_dim differs from hidden_size"),
            (config.seq_length < 2, "seq_length is below 2"),
        ):
            if wrong:
                raise Fatal(f"config.json: not supported for the original Qwen-VL: {why}")
        return config

    @property
    def scale_attention(self) -> bool:
        return bool(getattr(self, "scale_attn_weights", True))
