"""The complete model, with transformers' own `generate`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache, GenerationMixin, PreTrainedModel
from transformers.cache_utils import Cache
from transformers.masking_utils import create_causal_mask
from transformers.modeling_outputs import CausalLMOutputWithPast

from adapters.local.qwen_vl.config import QwenVLConfig
from adapters.local.qwen_vl.vision import (
    QwenVLBlock,
    RMSNorm,
    Rotation,
    VisionTower,
    alphas,
    positions,
)


class Transformer(nn.Module):
    """Everything below the output layer, under the published names."""

    def __init__(self, config: QwenVLConfig) -> None:
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.hidden_size)
        layers = range(config.num_hidden_layers)
        self.h = nn.ModuleList([QwenVLBlock(config, layer) for layer in layers])
        self.ln_f = RMSNorm(config.hidden_size, config.layer_norm_epsilon)
        self.visual = VisionTower(config.vision)


class QwenVL(PreTrainedModel, GenerationMixin):  # type: ignore[misc]
    """The original Qwen-VL for generation.

    In addition to the usual arguments, `forward` and `generate` take `pixel_values` [pictures,
    3, side, side], one picture for each `image_start` id in row order, and `ntk_alpha` [rows],
    the factor of the rotary base that a row's keys were made with (`rotary.ntk_alpha`). Without
    it, `generate` derives it from the mask; nothing is remembered between calls.

    The cache is called `cache` from transformers 5.24 on, and `past_key_values` before.
    """

    config_class = QwenVLConfig
    base_model_prefix = "transformer"
    main_input_name = "input_ids"
    _no_split_modules = ("QwenVLBlock", "VisionTower")
    _skip_keys_device_placement = ("past_key_values", "cache")
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_attention_backend = True

    def __init__(self, config: QwenVLConfig) -> None:
        super().__init__(config)
        self.transformer = Transformer(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Does nothing: weights come from a checkpoint and must not be reinitialised."""

    def get_input_embeddings(self) -> nn.Module:
        return self.transformer.wte

    def get_output_embeddings(self) -> nn.Module:
        return self.lm_head

    def alphas(self, lengths: Tensor) -> Tensor:
        """Return the NTK alpha of rows with `lengths` [rows] prompt tokens: [rows]."""
        if not self.config.use_dynamic_ntk:
            return torch.ones_like(lengths, dtype=torch.float32)
        return alphas(lengths, self.config.seq_length)

    def generate(self, inputs: Tensor | None = None, **kwargs: Any) -> Any:
        """Generate as transformers does; fill in `ntk_alpha` from the prompts' own lengths."""
        ids = kwargs.get("input_ids", inputs)
        if kwargs.get("ntk_alpha") is None and isinstance(ids, Tensor):
            mask = kwargs.get("attention_mask")
            counted = torch.ones_like(ids) if mask is None else mask
            kwargs["ntk_alpha"] = self.alphas(counted.sum(-1))
        return super().generate(inputs, **kwargs)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Any = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        pixel_values: Tensor | None = None,
        ntk_alpha: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        cache: Cache | None = None,
        return_dict: bool | None = None,
    ) -> CausalLMOutputWithPast:
        """Logits [rows, kept columns, vocabulary]; `attention_mask` covers cached columns too.

        Has no `**kwargs`: an input that it does not know must not be lost in silence.
        """
        if inputs_embeds is None:
            if input_ids is None:
                raise ValueError("give input_ids or inputs_embeds")
            inputs_embeds = self._embedded(input_ids, pixel_values)
        use_cache = self.config.use_cache if use_cache is None else use_cache
        cache = past_key_values if cache is None else cache
        if use_cache and cache is None:
            cache = DynamicCache(config=self.config)
        if position_ids is None or ntk_alpha is None:
            seen = int(cache.get_seq_length()) if cache is not None else 0
            counted = self._whole_mask(inputs_embeds, attention_mask, seen)
            if ntk_alpha is None:
                ntk_alpha = self._alpha(counted, seen)
            if position_ids is None:
                position_ids = positions(counted)[:, seen:]
        # By position, since the cache has another name in every few versions.
        mask = create_causal_mask(self.config, inputs_embeds, attention_mask, cache, position_ids)
        rotation = Rotation.at(
            position_ids,
            ntk_alpha.to(inputs_embeds.device),
            dim=self.config.kv_channels,
            base=self.config.rotary_emb_base,
            trained=self.config.seq_length,
            logn=self.config.use_logn_attn,
        )
        states = inputs_embeds
        for block in self.transformer.h:
            states = block(states, rotation, mask, cache=cache)
        states = self.transformer.ln_f(states)
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        logits = self.lm_head(states[:, kept])
        return CausalLMOutputWithPast(None, logits, cache if use_cache else None)

    @staticmethod
    def _whole_mask(embeds: Tensor, mask: Any, seen: int) -> Tensor:
        """Return the mask over cached and new columns; of ones where none was given."""
        if isinstance(mask, Tensor) and mask.ndim == 2:
            return mask
        rows, columns = embeds.shape[:2]
        return torch.ones(rows, seen + columns, dtype=torch.long, device=embeds.device)

    def _alpha(self, mask: Tensor, seen: int) -> Tensor:
        lengths = mask.sum(-1)
        if seen and self.config.use_dynamic_ntk and int(lengths.max()) > self.config.seq_length:
            raise ValueError("ntk_alpha must be given to continue beyond seq_length from a cache")
        return self.alphas(lengths)

    def _embedded(self, ids: Tensor, pixels: Tensor | None) -> Tensor:
        """Token embeddings, with each picture's vectors in place of the ids of its span."""
        embeds: Tensor = self.transformer.wte(ids)
        if pixels is None or not len(pixels):
            return embeds
        shape = self.config.vision
        span = shape.queries + 1
        # A model may say `<img>` in a reply: only a start with its end in place is a picture.
        whole = ids[:, : max(0, ids.shape[1] - span)] == shape.image_start
        row, start = (whole & (ids[:, span:] == shape.image_end)).nonzero(as_tuple=True)
        if len(row) != len(pixels):
            raise ValueError(f"{len(pixels)} pictures for {len(row)} places of {shape.queries} ids")
        columns = start[:, None] + torch.arange(1, shape.queries + 1, device=start.device)
        vectors = self.transformer.visual(pixels).to(device=embeds.device, dtype=embeds.dtype)
        return embeds.index_put((row[:, None].expand_as(columns), columns), vectors)
