"""Against the original implementation, and against the figures of the published checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch
from PIL import Image

from adapters.local.qwen_vl.config import QwenVLConfig
from adapters.local.qwen_vl.model import QwenVL
from adapters.local.qwen_vl.prompt import pixel_values
from tests.local.qwen_vl import tiny

# The sizes that Qwen-VL-Chat's config.json gives.
PUBLISHED = {
    "vocab_size": 151936,
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "kv_channels": 128,
    "intermediate_size": 22016,
    "seq_length": 2048,
    "max_position_embeddings": 8192,
    "no_bias": True,
    "model_type": "qwen",
    "visual": {
        "heads": 16,
        "image_size": 448,
        "image_start_id": 151857,
        "layers": 48,
        "mlp_ratio": 4.9231,
        "output_dim": 4096,
        "patch_size": 14,
        "width": 1664,
    },
}
CASES = ("b1_text", "b2_image", "b3_long")
Answers = dict[str, np.ndarray[Any, np.dtype[np.float32]]]


@pytest.fixture(scope="module")
def model(known: Path) -> QwenVL:
    config = json.loads((known / "model/config.json").read_text("utf-8"))
    model: QwenVL = QwenVL.from_pretrained(
        known / "model", config=QwenVLConfig.of(config), dtype=torch.float32
    )
    model.eval()
    return model


@pytest.fixture(scope="module")
def answers(known: Path) -> Answers:
    with np.load(known / "expected.npz") as stored:
        return dict(stored)


def case(known: Path, name: str) -> dict[str, Any]:
    cases = json.loads((known / "cases.json").read_text("utf-8"))["cases"]
    (found,) = (one for one in cases if one["name"] == name)
    return dict(found)


def pixels(known: Path, names: list[str]) -> torch.Tensor | None:
    images = [Image.open(known / "images" / name) for name in names]
    return pixel_values(images, 224) if images else None


@pytest.mark.parametrize("name", ["ui_a.png", "ui_b.png"])
def test_pixels_are_equal_and_features_are_close(
    known: Path, model: QwenVL, answers: Answers, name: str
) -> None:
    values = pixels(known, [name])
    assert values is not None
    assert np.array_equal(values[0].numpy(), answers[f"pixels.{name}"])
    with torch.inference_mode():
        features = model.transformer.visual(values)[0].numpy()
    assert np.abs(features - answers[f"visual_features.{name}"]).max() < 1e-4


@pytest.mark.parametrize("attn", ["sdpa", "eager"])
@pytest.mark.parametrize("name", CASES)
def test_greedy_tokens_are_equal_and_logits_are_close(
    known: Path, model: QwenVL, answers: Answers, name: str, attn: str
) -> None:
    one = case(known, name)
    model.config._attn_implementation = attn
    given = {} if not one["images"] else {"pixel_values": pixels(known, one["images"])}
    ids = torch.tensor(one["input_ids"])
    out = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=12,
        do_sample=False,
        return_dict_in_generate=True,
        output_logits=True,
        **given,
    )
    assert out.sequences[:, ids.shape[1] :].tolist() == one["greedy_tokens"]
    logits = torch.stack(out.logits, 1).numpy()
    assert np.abs(logits - answers[f"{name}.step_logits"]).max() < 2e-4
    assert np.abs(logits[:, 0] - answers[f"{name}.last_logits"]).max() < 2e-4


def test_the_published_model_has_as_many_values_as_the_published_files() -> None:
    state = tiny.empty_model(PUBLISHED).state_dict()
    assert len(state) == 853
    assert sum(tensor.numel() for tensor in state.values()) == 9_656_935_168
