"""Families that cut a picture of any size into patches, as Qwen's do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.local.zoo.build import VISION, Family, configured, text, vision
from tests.local.zoo.whole import (
    QWEN_IDS,
    QWEN_PICTURES,
    QWEN_ROPE,
    QWEN_VISION,
    WHOLE,
)

PLAIN_ROPE: dict[str, Any] = {"rope_type": "default", "rope_theta": 1e4}
GLM_ROPE: dict[str, Any] = {
    **PLAIN_ROPE,
    "mrope_section": [1, 1, 2],
    "partial_rotary_factor": 1.0,
}
GLM_VISION: dict[str, Any] = {
    "depth": 2,
    "hidden_size": 32,
    "num_heads": 2,
    "out_hidden_size": 32,
    "intermediate_size": 64,
    "image_size": 56,
    "patch_size": 14,
}
GLM_IDS = {
    "image_token_id": "<|image|>",
    "video_token_id": "<|video|>",
    "image_start_token_id": "<|begin_of_image|>",
    "image_end_token_id": "<|end_of_image|>",
    "video_start_token_id": "<|begin_of_video|>",
    "video_end_token_id": "<|end_of_video|>",
}
LINEAR: dict[str, Any] = {
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "layer_types": ["linear_attention", "full_attention"],
    "rope_parameters": QWEN_ROPE | {"partial_rotary_factor": 1.0},
}
CHATML_QWEN = WHOLE["qwen3.5"]
GLM = WHOLE["glm4v"]


def _named(ids: Mapping[str, int], names: Mapping[str, str]) -> dict[str, int]:
    return {key: ids[token] for key, token in names.items()}


def _glm(ids: Mapping[str, int], name: str, kind: str, **more: Any) -> Any:
    return configured(
        name,
        vision_config=GLM_VISION,
        text_config=text(kind, ids, rope_parameters=GLM_ROPE, **more),
        **_named(ids, GLM_IDS),
    )


PATCHED: Mapping[str, Family] = {
    "glm46v": replace(
        GLM,
        config=lambda ids: _glm(ids, "Glm46VConfig", "glm4v_text"),
        processor={"processor_class": "Glm46VProcessor"},
        pictures={**GLM.pictures, "image_processor_type": "Glm46VImageProcessor"},
    ),
    "glm4v-moe": replace(
        GLM,
        config=lambda ids: _glm(
            ids,
            "Glm4vMoeConfig",
            "glm4v_moe_text",
            moe_intermediate_size=16,
            n_routed_experts=4,
            num_experts_per_tok=2,
        ),
    ),
    "glm-ocr": replace(
        GLM,
        config=lambda ids: _glm(ids, "GlmOcrConfig", "glm_ocr_text"),
        processor={"processor_class": "Glm46VProcessor"},
        pictures={**GLM.pictures, "image_processor_type": "Glm46VImageProcessor"},
    ),
    "qwen3.5-moe": replace(
        CHATML_QWEN,
        config=lambda ids: configured(
            "Qwen3_5MoeConfig",
            vision_config=QWEN_VISION,
            text_config=text(
                "qwen3_5_moe_text",
                ids,
                moe_intermediate_size=16,
                shared_expert_intermediate_size=16,
                num_experts=4,
                num_experts_per_tok=2,
                **LINEAR,
            ),
            **_named(ids, QWEN_IDS),
        ),
    ),
    "exaone4.5": replace(
        CHATML_QWEN,
        config=lambda ids: configured(
            "Exaone4_5_Config",
            vision_config={
                "depth": 2,
                "hidden_size": 32,
                "num_heads": 4,
                "num_key_value_heads": 2,
                "out_hidden_size": 32,
                "intermediate_size": 64,
                "window_size": 56,
                "fullatt_block_indexes": [1],
            },
            text_config=text(
                "exaone4",
                ids,
                sliding_window=16,
                layer_types=["sliding_attention", "full_attention"],
            ),
            image_token_id=ids["<|image_pad|>"],
            video_token_id=ids["<|video_pad|>"],
        ),
        processor={"processor_class": "Exaone4_5_Processor"},
    ),
    "cohere-compass": replace(
        CHATML_QWEN,
        config=lambda ids: configured(
            "CohereCompassConfig",
            vision_config=QWEN_VISION | {"deepstack_visual_indexes": [0]},
            text_config=text(
                "cohere_compass_text",
                ids,
                rope_parameters={"sliding_attention": QWEN_ROPE, "full_attention": None},
                sliding_window=16,
                layer_types=["sliding_attention", "full_attention"],
            ),
            image_token_id=ids["<|IMAGE_PAD|>"],
            video_token_id=ids["<|VIDEO_PAD|>"],
            vision_start_token_id=ids["<|VISION_START|>"],
            vision_end_token_id=ids["<|VISION_END|>"],
        ),
        processor={"processor_class": "CohereCompassProcessor"},
        pictures={**QWEN_PICTURES, "image_processor_type": "CohereCompassImageProcessor"},
        mark="<|VISION_START|><|IMAGE_PAD|><|VISION_END|>",
        others=("<|VISION_START|>", "<|IMAGE_PAD|>", "<|VIDEO_PAD|>", "<|VISION_END|>"),
    ),
    "video-llama-3": replace(
        CHATML_QWEN,
        config=lambda ids: configured(
            "VideoLlama3Config",
            vision_config={
                **{key: value for key, value in VISION.items() if key != "image_size"},
                "model_type": "video_llama_3_vision",
            },
            text_config=text("qwen2", ids),
            image_token_id=ids["<|image_pad|>"],
            video_token_id=ids["<|video_pad|>"],
        ),
        processor={"processor_class": "VideoLlama3Processor"},
        pictures={
            **QWEN_PICTURES,
            "image_processor_type": "VideoLlama3ImageProcessor",
            "temporal_patch_size": 1,
        },
        mark="<|image_pad|>",
    ),
    "paddleocr-vl": replace(
        CHATML_QWEN,
        config=lambda ids: configured(
            "PaddleOCRVLConfig",
            vision_config=vision("paddleocr_vl_vision", image_size=56),
            text_config=text("paddleocr_vl_text", ids, rope_parameters=QWEN_ROPE),
            **_named(ids, QWEN_IDS),
        ),
        processor={"processor_class": "PaddleOCRVLProcessor"},
        pictures={
            **QWEN_PICTURES,
            "image_processor_type": "PaddleOCRVLImageProcessor",
            "temporal_patch_size": 1,
        },
        tokens={"image_token": "<|image_pad|>"},
    ),
    "ernie-4.5-vl-moe": Family(
        lambda ids: configured(
            "Ernie4_5_VLMoeConfig",
            vision_config={
                "depth": 2,
                "hidden_size": 32,
                "num_heads": 2,
                "intermediate_size": 64,
            },
            text_config=text(
                "ernie4_5_vl_moe_text",
                ids,
                moe_intermediate_size=[16, 16],
                moe_k=2,
                moe_num_experts=4,
                rope_parameters={**PLAIN_ROPE, "mrope_section": [1, 1, 2]},
            ),
            image_token_id=ids["<|IMAGE_PLACEHOLDER|>"],
            video_token_id=ids["<|VIDEO_PLACEHOLDER|>"],
            image_start_token_id=ids["<|IMAGE_START|>"],
            image_end_token_id=ids["<|IMAGE_END|>"],
            video_start_token_id=ids["<|VIDEO_START|>"],
            video_end_token_id=ids["<|VIDEO_END|>"],
        ),
        {"processor_class": "Ernie4_5_VLMoeProcessor"},
        {
            **QWEN_PICTURES,
            "image_processor_type": "Ernie4_5_VLMoeImageProcessor",
            "temporal_patch_size": 1,
        },
        mark="<|IMAGE_START|><|IMAGE_PLACEHOLDER|><|IMAGE_END|>",
        tokens={
            "image_token": "<|IMAGE_PLACEHOLDER|>",
            "image_start_token": "<|IMAGE_START|>",
            "image_end_token": "<|IMAGE_END|>",
            "video_token": "<|VIDEO_PLACEHOLDER|>",
            "video_start_token": "<|VIDEO_START|>",
            "video_end_token": "<|VIDEO_END|>",
        },
    ),
    "hunyuan-vl": Family(
        lambda ids: configured(
            "HunYuanVLConfig",
            vision_config={
                "hidden_size": 32,
                "intermediate_size": 64,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "out_hidden_size": 32,
                "text_hidden_size": 32,
                "max_image_size": 256,
                "img_max_token_num": 64,
            },
            text_config=text(
                "hunyuan_vl_text",
                ids,
                rope_parameters={**PLAIN_ROPE, "mrope_section": [1] * 4},
            ),
            image_token_id=ids["<image>"],
            im_start_id=ids["<img>"],
            im_end_id=ids["</img>"],
        ),
        {"processor_class": "HunYuanVLProcessor"},
        {
            "image_processor_type": "HunYuanVLImageProcessor",
            "size": {"shortest_edge": 4 * 32 * 32, "longest_edge": 64 * 32 * 32},
            "patch_size": 16,
            "merge_size": 2,
            "temporal_patch_size": 1,
        },
        mark="<img><image></img>",
        tokens={
            "image_token": "<image>",
            "image_start_token": "<img>",
            "image_end_token": "</img>",
        },
    ),
}
