"""The family of the original Qwen-VL; see `adapters.local.contract.Family`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, sqrt
from typing import TYPE_CHECKING, Any

import torch
from PIL import Image

from adapters.contract import Coordinates, Fatal, ImageRule
from adapters.conversation import Conversation
from adapters.local.contract import Encoded, Padded
from adapters.local.qwen_vl.config import QwenVLConfig
from adapters.local.qwen_vl.pixels import pixel_values
from adapters.local.qwen_vl.prompt import encoded, stop_ids
from adapters.local.qwen_vl.rotary import ntk_alpha, positions
from adapters.local.qwen_vl.tokenizer import END_OF_TEXT, Tokenizer

if TYPE_CHECKING:
    from adapters.local.qwen_vl.model import QwenVL

SOURCE = "Qwen-VL (arXiv:2308.12966): squeezed to a square of fixed size, 256 vectors"


def image_rule(queries: int, max_pixels: int | None = None) -> ImageRule:
    """Full-size pictures, since the model itself resizes every picture to the same square.

    Shrinking them first would only blur them twice; `max_pixels` limits their size all the same.
    """

    def fit(width: int, height: int) -> tuple[int, int]:
        scale = min(1.0, sqrt(max_pixels / (width * height))) if max_pixels else 1.0
        return max(1, floor(width * scale)), max(1, floor(height * scale))

    return ImageRule(
        fit, lambda width, height: queries, source=SOURCE, seen=lambda width, height: 1.0
    )


def cache_bytes(config: QwenVLConfig, dtype: torch.dtype) -> int:
    """Keys and values of a token, for every head: 0.5 MB at the published size in 16 bits."""
    return int(config.num_hidden_layers * 2 * config.attention_size * dtype.itemsize)


@dataclass(frozen=True, slots=True, eq=False)
class QwenVLFamily:
    """`trained` is the prompt length up to which keys never change; None without dynamic NTK."""

    tokenizer: Tokenizer
    image_size: int
    trained: int | None
    image_rule: ImageRule | None
    coordinates: Coordinates | None
    name: str = "qwen-vl"

    @property
    def opens_thought(self) -> bool:
        return False

    @property
    def together(self) -> bool:
        return True

    @property
    def stop_ids(self) -> tuple[int, ...]:
        return stop_ids(self.tokenizer)

    @property
    def pad_id(self) -> int:
        return self.tokenizer.specials[END_OF_TEXT]

    def encode(self, conversation: Conversation, images: Sequence[Image.Image]) -> Encoded:
        prompt = encoded(conversation, self.tokenizer)
        wanted = len(conversation.pictures)
        if len(images) != wanted:
            raise Fatal(f"{len(images)} images for a conversation with {wanted} pictures")
        pictures = {"pixel_values": pixel_values(images, self.image_size)} if images else {}
        return Encoded(torch.tensor(prompt.ids), None, pictures, prompt.built_on)

    def decode(self, ids: Sequence[int]) -> str:
        """Special tokens are left out, but for boxes: `<ref>..</ref><box>(x1,y1),(x2,y2)</box>`."""
        return self.tokenizer.decode(ids)

    def text_tokens(self, text: str) -> int:
        return len(self.tokenizer.encode(text))

    def inputs(self, model: QwenVL, padded: Padded) -> dict[str, Any]:
        """Positions and the NTK alpha from each row's own length, and the rows' pictures."""
        return {**self.continued_inputs(model, padded, 0), **padded.pictures}

    def continued_inputs(self, model: QwenVL, padded: Padded, cached: int) -> dict[str, Any]:
        lengths = padded.mask.sum(-1)
        return {"position_ids": positions(padded.mask), "ntk_alpha": model.alphas(lengths)}

    def reusable(self, before: int, now: int) -> bool:
        """Return True within one NTK step only: another rotary base makes keys wrong."""
        return self.trained is None or (
            ntk_alpha(before, self.trained) == ntk_alpha(now, self.trained)
        )

    def cache_bytes_per_token(self, model: QwenVL) -> int:
        return cache_bytes(model.config, model.dtype)
