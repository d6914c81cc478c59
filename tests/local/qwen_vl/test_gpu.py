"""The same answers on a GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch
from PIL import Image

from adapters.local.generate import pad
from adapters.local.options import LocalOptions, full_precision
from adapters.local.qwen_vl.config import QwenVLConfig
from adapters.local.qwen_vl.model import QwenVL
from adapters.local.qwen_vl.prompt import pixel_values
from tests.local.examples import load_now as load
from tests.local.qwen_vl.test_positions import LENGTHS, continued, row

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


def test_greedy_tokens_of_the_original_are_equal(known: Path) -> None:
    full_precision("float32")
    config = json.loads((known / "model/config.json").read_text("utf-8"))
    model = QwenVL.from_pretrained(
        known / "model", config=QwenVLConfig.of(config), dtype=torch.float32, device_map="cuda:0"
    ).eval()
    for case in json.loads((known / "cases.json").read_text("utf-8"))["cases"]:
        images = [Image.open(known / "images" / name) for name in case["images"]]
        given = {"pixel_values": pixel_values(images, 224).cuda()} if images else {}
        ids = torch.tensor(case["input_ids"], device="cuda:0")
        out = model.generate(ids, max_new_tokens=12, do_sample=False, **given)
        assert out[:, ids.shape[1] :].tolist() == case["greedy_tokens"], case["name"]


def test_a_left_padded_batch_says_what_its_rows_say_alone(checkpoint: Path) -> None:
    loaded = load(LocalOptions("qwen-vl", model_path=str(checkpoint), dtype="float32"), "cuda:0")
    rows = [row(loaded, length, pictures=number % 3) for number, length in enumerate(LENGTHS)]
    alone = [continued(loaded, [one])[0] for one in rows]
    assert continued(loaded, rows) == alone


@pytest.mark.parametrize("attn", ["sdpa", "eager"])
def test_sixteen_bits_are_the_default_and_padding_leaves_no_trace(
    checkpoint: Path, attn: str
) -> None:
    loaded = load(LocalOptions("qwen-vl", model_path=str(checkpoint), attn=attn), "cuda:0")
    assert loaded.model.dtype == torch.bfloat16
    rows = [row(loaded, length, pictures=1) for length in LENGTHS]
    padded = pad(rows, loaded.family.pad_id)
    given = {k: v.cuda() for k, v in loaded.family.inputs(loaded.model, padded).items()}
    with torch.inference_mode():
        logits = loaded.model(padded.ids.cuda(), padded.mask.cuda(), **given).logits
    assert logits[padded.mask.bool().cuda()].isfinite().all()
