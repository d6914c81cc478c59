"""Families that take a picture whole, at a fixed size or at its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.local.zoo.build import INSTRUCT, Family, configured, square, text, vision

QWEN_SIZE = {"shortest_edge": 4 * 28 * 28, "longest_edge": 64 * 28 * 28}
QWEN_PICTURES = {
    "image_processor_type": "Qwen2VLImageProcessor",
    "size": QWEN_SIZE,
    "patch_size": 14,
    "merge_size": 2,
    "temporal_patch_size": 2,
}
QWEN_IDS = {
    "image_token_id": "<|image_pad|>",
    "video_token_id": "<|video_pad|>",
    "vision_start_token_id": "<|vision_start|>",
    "vision_end_token_id": "<|vision_end|>",
}
QWEN_VISION: dict[str, Any] = {
    "depth": 2,
    "hidden_size": 32,
    "num_heads": 2,
    "out_hidden_size": 32,
    "intermediate_size": 64,
    "num_position_embeddings": 64,
    "patch_size": 14,
}
QWEN_ROPE: dict[str, Any] = {
    "rope_type": "default",
    "rope_theta": 1e4,
    "mrope_section": [2, 1, 1],
    "mrope_interleaved": True,
}
PIXTRAL_TOKENS = {
    "image_token": "[IMG]",
    "image_break_token": "[IMG_BREAK]",
    "image_end_token": "[IMG_END]",
}
PIXTRAL_PICTURES = {
    "image_processor_type": "PixtralImageProcessor",
    "patch_size": {"height": 14, "width": 14},
    "size": {"longest_edge": 112},
}


def _pixtral(ids: Mapping[str, int], name: str, **more: Any) -> Any:
    return configured(
        name,
        vision_config=vision("pixtral", head_dim=16, image_size=112),
        text_config=text("mistral", ids, sliding_window=None),
        image_token_index=ids["[IMG]"],
        vision_feature_layer=-1,
        **more,
    )


WHOLE: Mapping[str, Family] = {
    "pixtral-in-llava": Family(
        lambda ids: _pixtral(
            ids, "LlavaConfig", image_seq_length=1, vision_feature_select_strategy="full"
        ),
        {"processor_class": "PixtralProcessor", "patch_size": 14},
        {**PIXTRAL_PICTURES},
        mark="[IMG]",
        tokens=PIXTRAL_TOKENS,
        template=INSTRUCT,
        needs_torchvision=True,
    ),
    "mistral3": Family(
        lambda ids: _pixtral(ids, "Mistral3Config", spatial_merge_size=2),
        {"processor_class": "PixtralProcessor", "patch_size": 14, "spatial_merge_size": 2},
        {**PIXTRAL_PICTURES},
        mark="[IMG]",
        tokens=PIXTRAL_TOKENS,
        template=INSTRUCT,
        needs_torchvision=True,
    ),
    "paligemma": Family(
        lambda ids: configured(
            "PaliGemmaConfig",
            vision_config=vision("siglip_vision_model", vision_use_head=False, projection_dim=32),
            text_config=text("gemma2", ids, sliding_window=64, query_pre_attn_scalar=8),
            image_token_index=ids["<image>"],
            projection_dim=32,
            vocab_size=ids["vocab_size"],
        ),
        {"processor_class": "PaliGemmaProcessor"},
        {
            "image_processor_type": "SiglipImageProcessor",
            "size": square(28),
            "image_seq_length": 4,
        },
        others=tuple(f"<loc{n:04}>" for n in range(1024))
        + tuple(f"<seg{n:03}>" for n in range(128)),
    ),
    "gemma3": Family(
        lambda ids: configured(
            "Gemma3Config",
            vision_config=vision("siglip_vision_model", vision_use_head=False),
            text_config=text(
                "gemma3_text",
                ids,
                sliding_window=16,
                query_pre_attn_scalar=8,
                layer_types=["sliding_attention", "full_attention"],
            ),
            mm_tokens_per_image=4,
            boi_token_index=ids["<start_of_image>"],
            eoi_token_index=ids["<end_of_image>"],
            image_token_index=ids["<image_soft_token>"],
        ),
        {"processor_class": "Gemma3Processor", "image_seq_length": 4},
        {"image_processor_type": "Gemma3ImageProcessor", "size": square(28)},
        mark="<start_of_image>",
        tokens={
            "boi_token": "<start_of_image>",
            "eoi_token": "<end_of_image>",
            "image_token": "<image_soft_token>",
        },
    ),
    "gemma4": Family(
        lambda ids: configured(
            "Gemma4Config",
            vision_config=vision(
                "gemma4_vision",
                head_dim=16,
                num_key_value_heads=2,
                pooling_kernel_size=2,
                position_embedding_size=64,
            ),
            audio_config=None,
            text_config=text(
                "gemma4_text",
                ids,
                sliding_window=16,
                hidden_size_per_layer_input=8,
                vocab_size_per_layer_input=ids["vocab_size"],
                num_global_key_value_heads=2,
                layer_types=["sliding_attention", "full_attention"],
                use_bidirectional_attention="vision",
                global_head_dim=16,
                pad_token_id=0,
            ),
            boi_token_id=ids["<|image>"],
            eoi_token_id=ids["<image|>"],
            image_token_id=ids["<|image|>"],
            video_token_id=ids["<|video|>"],
            audio_token_id=ids["<|audio|>"],
            boa_token_id=ids["<|audio>"],
            eoa_token_index=ids["<audio|>"],
        ),
        {"processor_class": "Gemma4Processor", "image_seq_length": 8},
        {
            "image_processor_type": "Gemma4ImageProcessor",
            "patch_size": 14,
            "max_soft_tokens": 70,
            "pooling_kernel_size": 2,
        },
        mark="<|image|>",
        tokens={
            "boi_token": "<|image>",
            "eoi_token": "<image|>",
            "image_token": "<|image|>",
            "boa_token": "<|audio>",
            "eoa_token": "<audio|>",
            "audio_token": "<|audio|>",
        },
        others=("<|video|>",),
        more_files={},
    ),
    "glm4v": Family(
        lambda ids: configured(
            "Glm4vConfig",
            vision_config={
                "depth": 2,
                "hidden_size": 32,
                "num_heads": 2,
                "out_hidden_size": 32,
                "intermediate_size": 64,
                "image_size": 56,
                "patch_size": 14,
            },
            text_config=text(
                "glm4v_text",
                ids,
                rope_parameters={
                    "rope_type": "default",
                    "rope_theta": 1e4,
                    "mrope_section": [1, 1, 2],
                    "partial_rotary_factor": 1.0,
                },
            ),
            image_token_id=ids["<|image|>"],
            video_token_id=ids["<|video|>"],
            image_start_token_id=ids["<|begin_of_image|>"],
            image_end_token_id=ids["<|end_of_image|>"],
            video_start_token_id=ids["<|begin_of_video|>"],
            video_end_token_id=ids["<|end_of_video|>"],
        ),
        {"processor_class": "Glm4vProcessor"},
        {
            "image_processor_type": "Glm4vImageProcessor",
            "size": QWEN_SIZE,
            "patch_size": 14,
            "merge_size": 2,
            "temporal_patch_size": 2,
        },
        mark="<|begin_of_image|><|image|><|end_of_image|>",
        tokens={"image_token": "<|image|>", "video_token": "<|video|>"},
        others=("<|begin_of_image|>", "<|end_of_image|>", "<|begin_of_video|>", "<|end_of_video|>"),
    ),
    "qwen3-vl-moe": Family(
        lambda ids: configured(
            "Qwen3VLMoeConfig",
            vision_config=QWEN_VISION | {"deepstack_visual_indexes": [0]},
            text_config=text(
                "qwen3_vl_moe_text",
                ids,
                num_experts=4,
                num_experts_per_tok=2,
                moe_intermediate_size=16,
                rope_parameters=QWEN_ROPE,
            ),
            **{name: ids[token] for name, token in QWEN_IDS.items()},
        ),
        {"processor_class": "Qwen3VLProcessor"},
        QWEN_PICTURES,
        mark="<|vision_start|><|image_pad|><|vision_end|>",
        others=tuple(QWEN_IDS.values()),
    ),
    "qwen3.5": Family(
        lambda ids: configured(
            "Qwen3_5Config",
            vision_config=QWEN_VISION,
            text_config=text(
                "qwen3_5_text",
                ids,
                linear_key_head_dim=8,
                linear_value_head_dim=8,
                linear_num_key_heads=2,
                linear_num_value_heads=4,
                layer_types=["linear_attention", "full_attention"],
                rope_parameters=QWEN_ROPE | {"partial_rotary_factor": 1.0},
            ),
            **{name: ids[token] for name, token in QWEN_IDS.items()},
        ),
        {"processor_class": "Qwen3VLProcessor"},
        QWEN_PICTURES,
        mark="<|vision_start|><|image_pad|><|vision_end|>",
        others=tuple(QWEN_IDS.values()),
    ),
    "deepseek-vl": Family(
        lambda ids: configured(
            "DeepseekVLConfig",
            vision_config=vision("siglip_vision_model", vision_use_head=False, image_size=56),
            text_config=text("llama", ids),
            image_token_id=ids["<image_placeholder>"],
        ),
        {"processor_class": "DeepseekVLProcessor", "num_image_tokens": 16},
        {"image_processor_type": "DeepseekVLImageProcessor", "size": square(56), "min_size": 14},
        mark="<image_placeholder>",
        tokens={"image_token": "<image_placeholder>"},
    ),
    "kimi-k2.5": Family(
        lambda ids: configured(
            "Kimi_K25Config",
            vision_config={
                "hidden_size": 32,
                "intermediate_size": 64,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "pos_emb_height": 8,
                "pos_emb_width": 8,
                "rope_parameters": {"rope_type": "default", "rope_theta": 1e4},
            },
            text_config={
                k: v
                for k, v in text(
                    "deepseek_v3",
                    ids,
                    num_key_value_heads=4,
                    q_lora_rank=16,
                    kv_lora_rank=16,
                    qk_nope_head_dim=8,
                    qk_rope_head_dim=8,
                    v_head_dim=8,
                    n_routed_experts=4,
                    num_experts_per_tok=2,
                    n_group=1,
                    topk_group=1,
                    moe_intermediate_size=16,
                    first_k_dense_replace=1,
                ).items()
                if k != "head_dim"
            },
            image_token_id=ids["<|media_pad|>"],
            video_token_id=ids["<|kimi_k25_video_placeholder|>"],
            projection_hidden_size=32,
        ),
        {"processor_class": "Kimi_K25Processor"},
        {
            "image_processor_type": "Kimi_K25ImageProcessor",
            "patch_size": 14,
            "merge_size": 2,
            "max_patches": 64,
            "size": {"max_height": 112, "max_width": 112},
        },
        mark="<|media_pad|>",
        others=("<|kimi_k25_video_placeholder|>",),
        needs_torchvision=True,
    ),
}
