"""What is wrong with a model or a machine, in one line, before anything large is loaded."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch

from adapters import make
from adapters.contract import Fatal
from adapters.local.options import line
from tests.local import zoo
from tests.local.conftest import Checkpoint

Change = Callable[[Path], object]
WITHOUT_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def copy(checkpoint: Checkpoint, tmp_path: Path) -> Path:
    return Path(shutil.copytree(checkpoint("qwen2.5-vl"), tmp_path / "copy"))


def complaint(name: str, **options: object) -> str:
    with pytest.raises(Fatal) as caught:
        make(name, **options)
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 500
    return said


def rewritten(path: Path, **values: object) -> None:
    content = json.loads(path.read_text()) | values
    path.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))


def changed(folder: Path, **values: object) -> None:
    rewritten(folder / "config.json", **values)


def shards(folder: Path) -> None:
    index = {"metadata": {}, "weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}
    (folder / "model.safetensors").rename(folder / "one.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def cut(folder: Path) -> None:
    os.truncate(folder / "model.safetensors", 10_000)


def no_head(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\xff" * 100)


def as_bin(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def without_tensor(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    del tensors[min(tensors)]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def without_template(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()


def broken_template(folder: Path) -> None:
    (folder / "chat_template.jinja").write_text("{% for %}")


CHANGES: dict[str, tuple[Change, str]] = {
    "no configuration": (
        lambda f: (f / "config.json").unlink(),
        "copy is not a checkpoint folder (no",
    ),
    "broken configuration": (
        lambda f: cut_text(f / "config.json"),
        "config.json is not valid JSON",
    ),
    "unknown architecture": (
        lambda f: changed(f, model_type="novel", architectures=["NovelForVision"]),
        "is a checkpoint of NovelForVision, which transformers",
    ),
    "text only": (
        lambda f: changed(f, model_type="qwen2", architectures=["Qwen2ForCausalLM"]),
        "is a checkpoint of Qwen2ForCausalLM, which does not take pictures",
    ),
    "no architecture": (
        lambda f: changed(f, model_type=None, architectures=None),
        "is a checkpoint of none that is named",
    ),
    "code of its own": (
        lambda f: changed(f, model_type="own", auto_map={"AutoConfig": "x.Y"}),
        "then give --adapter-option trust_remote_code=yes",
    ),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "no weights in"),
    "a shard that is missing": (shards, "missing: "),
    "a shard that is cut off": (cut, "model.safetensors is damaged: 10000 bytes instead of"),
    "a shard that is none": (no_head, "model.safetensors is damaged or not a safetensors file"),
    "a file of torch that is none": (as_bin, "pytorch_model.bin is damaged or not a PyTorch file"),
    "a tensor that is missing": (
        without_tensor,
        "tensors are missing or have another shape (1, the first is",
    ),
    "no chat template": (without_template, "no chat template"),
    "a broken chat template": (broken_template, "the chat template"),
    "a template that fails": (
        lambda f: (f / "chat_template.jinja").write_text("{{ 1 / 0 }}"),
        "the chat template refuses the conversation: division by zero",
    ),
    "an encoder": (
        lambda f: changed(f, is_encoder_decoder=True),
        "copy is a checkpoint of Qwen2_5_VLForConditionalGeneration, an encoder-decoder model",
    ),
    "a processor's file that is none": (
        lambda f: (f / "processor_config.json").write_text("[]"),
        "its processor cannot be loaded",
    ),
    "an image processor that is unknown": (
        lambda f: rewritten(f / "preprocessor_config.json", image_processor_type="Novel"),
        "its processor cannot be loaded",
    ),
    "a size that is none": (
        lambda f: rewritten(f / "preprocessor_config.json", size="large"),
        "cannot be",
    ),
    "no tokenizer": (lambda f: (f / "tokenizer.json").unlink(), "its processor cannot be loaded"),
    "no image processor": (
        lambda f: (f / "preprocessor_config.json").unlink(),
        "has no preprocessor_config.json, which says how to prepare its pictures",
    ),
}


def cut_text(path: Path) -> None:
    path.write_text(path.read_text()[:30])


@pytest.mark.parametrize("name", CHANGES)
def test_a_checkpoint_that_is_not_whole_is_told_in_one_line(copy: Path, name: str) -> None:
    change, expected = CHANGES[name]
    change(copy)
    assert expected in complaint(f"hf:{copy}", devices="cpu")


def test_a_shard_that_is_missing_is_named(copy: Path) -> None:
    shards(copy)
    assert complaint(f"hf:{copy}").endswith(f"missing: {copy / 'two.safetensors'}")


def test_a_checkpoint_of_another_family_is_named(checkpoint: Checkpoint) -> None:
    said = complaint("qwen2-vl", model_path=str(checkpoint("qwen3-vl")))
    assert "is a checkpoint of Qwen3VLForConditionalGeneration, not of qwen2-vl" in said
    assert said.endswith("--model qwen3-vl")
    assert complaint("qwen3-vl", model_path=str(checkpoint("llava"))).endswith("--model hf")


def test_the_original_qwen_vl_is_recognised(copy: Path, checkpoint: Checkpoint) -> None:
    changed(copy, model_type="qwen", architectures=["QWenLMHeadModel"], visual={"width": 1})
    assert "qwen.tiktoken" in complaint(f"hf:{copy}")
    said = complaint("qwen3-vl", model_path=str(copy))
    assert "of the original Qwen-VL, not of qwen3-vl: name it with --model qwen-vl" in said
    assert "it is Qwen3VLFor" in complaint("seeclick", model_path=str(checkpoint("qwen3-vl")))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"dtype": "int7"}, "dtype: expected one of auto, bfloat16, float16, float32, not 'int7'"),
        ({"attn": "flash"}, "attn=flash cannot be used here"),
        ({"attn": "flash_attention_2"}, "attn=flash_attention_2 cannot be used here"),
        ({"devices": "gpu7"}, "unknown device 'gpu7'"),
        ({"devices": "cuda:99"}, "no device 'cuda:99': torch sees"),
        ({"devices": "meta"}, "unsupported device 'meta'"),
        ({"devices": "cpu", "device_map": "auto"}, "leave devices out"),
        pytest.param({"device_map": "auto"}, "torch sees none here", marks=WITHOUT_GPU),
        ({"quantization": "3bit"}, "quantization: expected one of 4bit, 8bit, not '3bit'"),
        ({"max_pixels": "many"}, "max_pixels: expected a whole number of at least 1, not 'many'"),
        ({"batch_size": "0"}, "batch_size: expected a whole number of at least 1, not '0'"),
        ({"kv_reuse": "no"}, "takes no option 'kv_reuse'"),
        ({"devices": "cpu,cpu"}, "a model runs on one device here"),
        ({"revision": "main"}, "--adapter-option revision is for models of the hub"),
        ({"detail": "low"}, "takes no option 'detail'"),
    ],
)
def test_options_that_cannot_be_met_are_refused(
    checkpoint: Checkpoint, options: dict[str, Any], expected: str
) -> None:
    assert expected in complaint(f"hf:{checkpoint('qwen2-vl')}", **options)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            "\nXProcessor needs y. Check the instructions on the\ninstallation page: https://y.",
            "XProcessor needs y. Check the instructions on the installation page: https://y.",
        ),
        ("Too much. " + "Tried to get it. " * 20, "Too much." + 17 * " Tried to get it."),
        ("no end " * 100, "no end " * 42 + "..."),
        ("", "ValueError"),
    ],
)
def test_what_a_library_says_is_told_in_whole_sentences(error: str, told: str) -> None:
    assert line(ValueError(error)) == told


def test_a_missing_folder_and_a_missing_name_are_told() -> None:
    assert complaint("hf:/no/such/folder") == "no such folder: /no/such/folder"
    assert complaint("qwen3-vl", model_path="nowhere") == "no such folder: nowhere"
    assert "name it like hf:" in complaint("hf")


@pytest.mark.skipif(find_spec("timm") is not None, reason="timm is installed")
@pytest.mark.parametrize(
    ("family", "reason"),
    [
        ("got-ocr2", "the model's processor refuses the prompt: Nested images are only supported"),
        ("perception-lm", "timm" if find_spec("torchvision") else "which needs torchvision"),
        ("gemma3n", "requires the timm library"),
    ],
)
def test_a_family_that_cannot_be_asked_here_says_why(
    tmp_path: Path, family: str, reason: str
) -> None:
    folder = zoo.build(zoo.REFUSED[family], tmp_path / "model", weights=False)
    assert reason in complaint(f"hf:{folder}", devices="cpu")
