"""Families that cannot be asked here, each for a reason of its own."""

from __future__ import annotations

from collections.abc import Mapping

from tests.local.zoo.build import Family, configured, square, text

REFUSED: Mapping[str, Family] = {
    # Its processor takes one list of pictures for all prompts.
    "got-ocr2": Family(
        lambda ids: configured(
            "GotOcr2Config",
            vision_config={"hidden_size": 32, "num_hidden_layers": 2, "image_size": 64},
            text_config=text("qwen2", ids),
            image_token_index=ids["<imgpad>"],
        ),
        {"processor_class": "GotOcr2Processor"},
        {"image_processor_type": "GotOcr2ImageProcessor", "size": square(64)},
        mark="<img><imgpad></img>",
        others=("<img>", "<imgpad>", "</img>"),
    ),
    # Timm has the vision parts of these.
    "perception-lm": Family(
        lambda ids: configured(
            "PerceptionLMConfig",
            text_config=text("llama", ids),
            image_token_id=ids["<|image|>"],
            video_token_id=ids["<|video|>"],
        ),
        {"processor_class": "PerceptionLMProcessor", "patch_size": 14},
        {"image_processor_type": "PerceptionLMImageProcessor", "size": square(28)},
        mark="<|image|>",
        tokens={"image_token": "<|image|>", "video_token": "<|video|>"},
    ),
    "gemma3n": Family(
        lambda ids: configured("Gemma3nConfig", text_config=text("gemma3n_text", ids)),
        {"processor_class": "Gemma3nProcessor"},
        {"image_processor_type": "SiglipImageProcessor", "size": square(28)},
        mark="<image_soft_token>",
        tokens={
            "boi_token": "<start_of_image>",
            "eoi_token": "<end_of_image>",
            "image_token": "<image_soft_token>",
            "boa_token": "<start_of_audio>",
            "eoa_token": "<end_of_audio>",
            "audio_token": "<audio_soft_token>",
        },
    ),
}
