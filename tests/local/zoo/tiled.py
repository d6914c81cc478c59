"""Families that cut pictures into tiles, or send them to the model as a few sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.local.zoo.build import CHATML, INSTRUCT, VISION, Family, configured, square, text, vision

PINPOINTS = [[28, 56], [56, 28], [56, 56]]
SPLIT_TOKENS = (
    "<fake_token_around_image>",
    "<global-img>",
    "<end_of_utterance>",
    "<video>",
    *(f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)),
)
SPLIT_PICTURES = {
    "do_image_splitting": True,
    "do_pad": True,
    "max_image_size": {"longest_edge": 28},
    "size": {"longest_edge": 84},
}
GOT_PICTURES = {
    "image_processor_type": "GotOcr2ImageProcessor",
    "crop_to_patches": True,
    "min_patches": 1,
    "max_patches": 4,
    "size": square(28),
}


def _idefics(ids: Mapping[str, int], name: str, kind: str, **more: Any) -> Any:
    return configured(
        name,
        vision_config=vision(kind),
        text_config=text("llama", ids),
        image_token_id=ids["<image>"],
        **more,
    )


TILED: Mapping[str, Family] = {
    "llava-next": Family(
        lambda ids: configured(
            "LlavaNextConfig",
            vision_config=vision("clip_vision_model", projection_dim=32),
            text_config=text("mistral", ids, sliding_window=None),
            image_token_index=ids["<image>"],
            image_grid_pinpoints=PINPOINTS,
        ),
        {
            "processor_class": "LlavaNextProcessor",
            "patch_size": 14,
            "vision_feature_select_strategy": "default",
            "num_additional_image_tokens": 1,
        },
        {
            "image_processor_type": "LlavaNextImageProcessor",
            "size": {"shortest_edge": 28},
            "crop_size": square(28),
            "do_center_crop": True,
            "image_grid_pinpoints": PINPOINTS,
        },
        template=INSTRUCT,
    ),
    "llava-onevision": Family(
        lambda ids: configured(
            "LlavaOnevisionConfig",
            vision_config=vision("siglip_vision_model", vision_use_head=False),
            text_config=text("qwen2", ids),
            image_token_index=ids["<image>"],
            video_token_index=ids["<video>"],
            image_grid_pinpoints=PINPOINTS,
        ),
        {
            "processor_class": "LlavaOnevisionProcessor",
            "num_image_tokens": 4,
            "vision_feature_select_strategy": "full",
        },
        {
            "image_processor_type": "LlavaOnevisionImageProcessor",
            "size": square(28),
            "image_grid_pinpoints": PINPOINTS,
        },
        others=("<video>",),
    ),
    "idefics2": Family(
        lambda ids: _idefics(
            ids,
            "Idefics2Config",
            "idefics2_vision",
            perceiver_config={
                "hidden_size": 32,
                "resampler_n_latents": 4,
                "resampler_depth": 1,
                "resampler_n_heads": 2,
                "resampler_head_dim": 16,
                "num_key_value_heads": 1,
            },
        ),
        {"processor_class": "Idefics2Processor", "image_seq_len": 4},
        {
            "image_processor_type": "Idefics2ImageProcessor",
            "size": {"longest_edge": 56, "shortest_edge": 28},
            "do_image_splitting": False,
            "do_pad": True,
        },
        others=("<fake_token_around_image>", "<end_of_utterance>"),
    ),
    "idefics3": Family(
        lambda ids: _idefics(ids, "Idefics3Config", "idefics3_vision"),
        {"processor_class": "Idefics3Processor", "image_seq_len": 1},
        {"image_processor_type": "Idefics3ImageProcessor", **SPLIT_PICTURES},
        others=SPLIT_TOKENS,
    ),
    "smolvlm": Family(
        lambda ids: _idefics(ids, "SmolVLMConfig", "smolvlm_vision"),
        {"processor_class": "SmolVLMProcessor", "image_seq_len": 1},
        {
            "image_processor_type": "SmolVLMImageProcessor",
            **SPLIT_PICTURES,
            "video_sampling": {"fps": 1, "max_frames": 64, "video_size": {"longest_edge": 28}},
        },
        others=SPLIT_TOKENS,
    ),
    "internvl": Family(
        lambda ids: configured(
            "InternVLConfig",
            vision_config=vision("internvl_vision", image_size=[56, 56], patch_size=[14, 14]),
            text_config=text("qwen2", ids),
            image_token_id=ids["<IMG_CONTEXT>"],
            image_seq_length=4,
        ),
        {"processor_class": "InternVLProcessor", "image_seq_length": 4},
        {**GOT_PICTURES, "size": square(56)},
        mark="<IMG_CONTEXT>",
        tokens={
            "start_image_token": "<img>",
            "end_image_token": "</img>",
            "context_image_token": "<IMG_CONTEXT>",
            "video_token": "<video>",
        },
    ),
    "aya-vision": Family(
        lambda ids: configured(
            "AyaVisionConfig",
            vision_config=vision("siglip_vision_model", vision_use_head=False, image_size=56),
            text_config=text("cohere2", ids, sliding_window=16),
            image_token_index=ids["<|IMG_PATCH|>"],
        ),
        {
            "processor_class": "AyaVisionProcessor",
            "patch_size": 14,
            "img_size": 56,
            "downsample_factor": 2,
        },
        {**GOT_PICTURES, "size": square(56)},
        others=(
            "<|START_OF_IMG|>",
            "<|END_OF_IMG|>",
            "<|IMG_PATCH|>",
            "<|IMG_LINE_BREAK|>",
            "TILE_1",
            "TILE_2",
            "TILE_3",
            "TILE_4",
            "TILE_GLOBAL",
        ),
    ),
    "ovis2": Family(
        lambda ids: configured(
            "Ovis2Config",
            vision_config={
                **VISION,
                "model_type": "aimv2_vision_model",
                "vocab_size": 64,
                "hidden_stride": 2,
                "num_visual_indicator_tokens": 5,
                "image_size": 56,
            },
            text_config=text("qwen2", ids),
            image_token_id=ids["<IMG_ATOM>"],
            visual_indicator_token_ids=[
                ids[t] for t in ("<IMG_START>", "<IMG_GRID>", "<IMG_COL>", "<IMG_ROW>", "<IMG_END>")
            ],
            vocab_size=ids["vocab_size"],
            hidden_size=32,
        ),
        {"processor_class": "Ovis2Processor", "image_seq_length": 4},
        {
            "image_processor_type": "Ovis2ImageProcessor",
            "size": square(56),
            "crop_to_patches": True,
            "max_patches": 4,
        },
        others=("<IMG_ATOM>", "<IMG_START>", "<IMG_GRID>", "<IMG_COL>", "<IMG_ROW>", "<IMG_END>"),
    ),
    "mllama": Family(
        lambda ids: configured(
            "MllamaConfig",
            vision_config={
                "hidden_size": 32,
                "intermediate_size": 64,
                "num_hidden_layers": 2,
                "num_global_layers": 1,
                "attention_heads": 2,
                "image_size": 28,
                "patch_size": 14,
                "vision_output_dim": 64,
                "intermediate_layers_indices": [0],
            },
            text_config={
                k: v
                for k, v in text(
                    "mllama_text_model",
                    ids,
                    num_hidden_layers=3,
                    cross_attention_layers=[1],
                    vocab_size=ids["<|image|>"],
                    rope_parameters={"rope_type": "default", "rope_theta": 1e4},
                ).items()
                if k != "head_dim"
            }
            | {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0},
            image_token_index=ids["<|image|>"],
        ),
        {"processor_class": "MllamaProcessor"},
        {
            "image_processor_type": "MllamaImageProcessor",
            "size": square(28),
            "max_image_tiles": 4,
            "do_pad": True,
        },
        mark="<|image|>",
        others=("<|python_tag|>",),
        template="{{- bos_token -}}" + CHATML,
    ),
    "cohere2-vision": Family(
        lambda ids: configured(
            "Cohere2VisionConfig",
            vision_config=vision("siglip_vision_model", vision_use_head=False, image_size=56),
            text_config=text("cohere2", ids, sliding_window=16),
            image_token_id=ids["<|IMG_PATCH|>"],
            alignment_intermediate_size=64,
        ),
        {"processor_class": "Cohere2VisionProcessor"},
        {
            "image_processor_type": "Cohere2VisionImageProcessor",
            "size": square(56),
            "patch_size": 2,
            "crop_to_patches": True,
            "max_patches": 4,
        },
        mark="<|IMG_PATCH|>",
        tokens={
            "boi_token": "<|START_OF_IMG|>",
            "eoi_token": "<|END_OF_IMG|>",
            "image_token": "<|IMG_PATCH|>",
            "img_line_break_token": "<|IMG_LINE_BREAK|>",
        },
        needs_torchvision=True,
    ),
    "llama4": Family(
        lambda ids: configured(
            "Llama4Config",
            vision_config={
                **VISION,
                "num_attention_heads": 2,
                "image_size": 56,
                "vision_output_dim": 64,
                "projector_input_dim": 64,
                "projector_output_dim": 64,
                "intermediate_size": 128,
            },
            text_config=text(
                "llama4_text",
                ids,
                intermediate_size_mlp=64,
                num_local_experts=2,
                interleave_moe_layer_step=2,
                attention_chunk_size=64,
            ),
            image_token_index=ids["<|patch|>"],
            boi_token_index=ids["<|image_start|>"],
            eoi_token_index=ids["<|image_end|>"],
        ),
        {"processor_class": "Llama4Processor", "patch_size": 14},
        {"image_processor_type": "Llama4ImageProcessor", "size": square(56), "max_patches": 4},
        mark="<|image|>",
        others=(
            "<|patch|>",
            "<|image_start|>",
            "<|image_end|>",
            "<|tile_x_separator|>",
            "<|tile_y_separator|>",
        ),
        needs_torchvision=True,
    ),
    "lfm2-vl": Family(
        lambda ids: configured(
            "Lfm2VlConfig",
            vision_config={
                **{k: v for k, v in VISION.items() if k != "image_size"},
                "model_type": "siglip2_vision_model",
                "num_patches": 16,
                "vision_use_head": False,
            },
            text_config={
                k: v
                for k, v in text(
                    "lfm2", ids, layer_types=["conv", "full_attention"], block_multiple_of=8
                ).items()
                if k != "head_dim"
            },
            image_token_id=ids["<image>"],
            projector_hidden_size=32,
        ),
        {"processor_class": "Lfm2VlProcessor"},
        {
            "image_processor_type": "Lfm2VlImageProcessor",
            "encoder_patch_size": 14,
            "tile_size": 56,
            "size": square(56),
            "min_image_tokens": 2,
            "max_image_tokens": 4,
            "max_tiles": 4,
            "do_image_splitting": True,
        },
        others=(
            "<|image_start|>",
            "<|image_end|>",
            "<|img_thumbnail|>",
            *(f"<|img_row_{r}_col_{c}|>" for r in range(1, 5) for c in range(1, 5)),
        ),
        needs_torchvision=True,
    ),
}
