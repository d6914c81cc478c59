"""Further families that cut pictures into tiles, or take them whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.local.zoo.build import Family, configured, square, text, vision
from tests.local.zoo.patched import LINEAR, PLAIN_ROPE
from tests.local.zoo.tiled import PINPOINTS, TILED
from tests.local.zoo.whole import (
    PIXTRAL_PICTURES,
    PIXTRAL_TOKENS,
)

FURTHER: Mapping[str, Family] = {
    "vipllava": Family(
        lambda ids: configured(
            "VipLlavaConfig",
            vision_config=vision("clip_vision_model", projection_dim=32),
            text_config=text("llama", ids),
            image_token_index=ids["<image>"],
            vision_feature_layer=[-1, -2],
        ),
        {
            "processor_class": "LlavaProcessor",
            "patch_size": 14,
            "vision_feature_select_strategy": "default",
            "num_additional_image_tokens": 1,
        },
        {
            "image_processor_type": "CLIPImageProcessor",
            "size": {"shortest_edge": 28},
            "crop_size": square(28),
            "do_center_crop": True,
        },
    ),
    "llava-next-video": replace(
        TILED["llava-next"],
        config=lambda ids: configured(
            "LlavaNextVideoConfig",
            vision_config=vision("clip_vision_model", projection_dim=32),
            text_config=text("mistral", ids, sliding_window=None),
            image_token_index=ids["<image>"],
            video_token_index=ids["<video>"],
            image_grid_pinpoints=PINPOINTS,
        ),
        processor={
            **TILED["llava-next"].processor,
            "processor_class": "LlavaNextVideoProcessor",
        },
        others=("<video>",),
    ),
    "qianfan-ocr": Family(
        lambda ids: configured(
            "QianfanOCRConfig",
            vision_config=vision("qianfan_ocr_vision", image_size=[56, 56], patch_size=[14, 14]),
            text_config=text("qwen3", ids),
            image_token_id=ids["<IMG_CONTEXT>"],
            image_seq_length=4,
        ),
        {"processor_class": "QianfanOCRProcessor", "image_seq_length": 4},
        dict(TILED["internvl"].pictures),
        mark="<image>",
        tokens=TILED["internvl"].tokens,
    ),
    "minicpm-v-4.6": Family(
        lambda ids: configured(
            "MiniCPMV4_6Config",
            vision_config=vision("minicpmv4_6_vision", image_size=112, patch_size=14),
            text_config=text("qwen3_5_text", ids, **LINEAR),
            insert_layer_id=0,
            image_token_id=ids["<image_pad>"],
            video_token_id=ids["<video_pad>"],
        ),
        {"processor_class": "MiniCPMV4_6Processor"},
        {
            "image_processor_type": "MiniCPMV4_6ImageProcessor",
            "scale_resolution": 112,
            "patch_size": 14,
            "max_slice_nums": 4,
        },
        mark="<image_pad>",
        tokens={
            "image_token": "<image_pad>",
            "video_token": "<video_pad>",
            "image_start_token": "<image>",
            "image_end_token": "</image>",
            "slice_start_token": "<slice>",
            "slice_end_token": "</slice>",
            "image_id_start_token": "<image_id>",
            "image_id_end_token": "</image_id>",
        },
    ),
    "lighton-ocr": Family(
        lambda ids: configured(
            "LightOnOcrConfig",
            vision_config=vision("pixtral", head_dim=16, image_size=112),
            text_config=text("qwen3", ids),
            image_token_id=ids["[IMG]"],
        ),
        {"processor_class": "LightOnOcrProcessor", "patch_size": 14, "spatial_merge_size": 2},
        {**PIXTRAL_PICTURES},
        mark="[IMG]",
        tokens=PIXTRAL_TOKENS,
    ),
    "molmo2": Family(
        lambda ids: configured(
            "Molmo2Config",
            vision_config={
                "hidden_size": 32,
                "intermediate_size": 64,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "num_key_value_heads": 2,
                "head_dim": 16,
                "image_size": [56, 56],
            },
            adapter_config={
                "vision_feature_layer": [-1, -2],
                "hidden_size": 32,
                "num_attention_heads": 2,
                "num_key_value_heads": 2,
                "head_dim": 16,
                "intermediate_size": 64,
                "text_hidden_size": 32,
            },
            text_config=text("molmo2_text", ids, rope_parameters=PLAIN_ROPE),
            image_start_token_id=ids["<im_start>"],
            low_res_image_start_token_id=ids["<low_res_im_start>"],
            image_end_token_id=ids["<im_end>"],
            image_patch_id=ids["<im_patch>"],
            frame_start_token_id=ids["<frame_start>"],
            frame_end_token_id=ids["<frame_end>"],
        ),
        {"processor_class": "Molmo2Processor"},
        {
            "image_processor_type": "Molmo2ImageProcessor",
            "size": square(56),
            "max_crops": 2,
            "overlap_margins": [1, 1],
        },
        mark="<|image|>",
        tokens={"image_token": "<|image|>", "video_token": "<|video|>"},
        others=(
            "<im_patch>",
            "<im_col>",
            "<im_start>",
            "<low_res_im_start>",
            "<frame_start>",
            "<im_end>",
            "<frame_end>",
            "<im_low>",
        ),
        template="{{- bos_token -}}" + Family.template,
        needs_torchvision=True,
    ),
}
