"""What is loaded from which files, and what a model says of itself before and after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

from adapters import describe as open_described
from adapters import digests
from adapters.contract import Fatal
from adapters.local import checkpoint as files
from adapters.local.checkpoint import locate
from adapters.local.factory import describe
from adapters.local.options import Dtype, LocalOptions
from tests.local.conftest import Checkpoint
from tests.local.examples import load_now as load
from tests.local.tiny import FAMILIES


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def weights(model: Any) -> dict[str, Any]:
    return dict(model.state_dict())


def same(one: Any, other: Any) -> bool:
    a, b = weights(one), weights(other)
    return a.keys() == b.keys() and all((a[name] == b[name]).all() for name in a)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_goes_by_its_name_and_folder(checkpoint: Checkpoint, family: str) -> None:
    options = LocalOptions("any/name", name=family, model_path=str(checkpoint(family)))
    loaded = load(options, device="cpu")
    assert loaded.family.name == family
    assert (loaded.device, loaded.context_tokens) == ("cpu", 16_384)
    assert loaded.facts["dtype"] == "float32"
    assert loaded.facts["attention"] == "sdpa"
    assert not loaded.model.training


def test_nothing_but_the_ends_is_taken_from_a_published_generation_config(
    checkpoint: Checkpoint,
) -> None:
    loaded = load(LocalOptions(str(checkpoint("qwen2-vl"))), device="cpu")
    # The checkpoint's own file samples, punishes repetition and stops after 31 tokens.
    config = loaded.model.generation_config
    assert not config.do_sample
    for name in ("temperature", "repetition_penalty", "max_length", "top_k", "eos_token_id"):
        assert getattr(config, name) is None
    tokenizer = json.loads((Path(loaded.model.config._name_or_path) / "tokenizer.json").read_text())
    names = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    assert loaded.family.stop_ids == (names["<|im_end|>"], names["<|endoftext|>"])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_the_type_of_numbers_is_the_one_asked_for(checkpoint: Checkpoint, dtype: Dtype) -> None:
    loaded = load(LocalOptions(str(checkpoint("qwen3-vl")), dtype=dtype), device="cpu")
    assert {str(p.dtype) for p in loaded.model.parameters()} == {f"torch.{dtype}"}
    told = describe(LocalOptions(str(checkpoint("qwen3-vl")), dtype=dtype)).info
    assert told.settings["dtype"] == dtype


def test_attention_is_the_one_asked_for(checkpoint: Checkpoint) -> None:
    loaded = load(LocalOptions(str(checkpoint("qwen3-vl")), attn="eager"), device="cpu")
    assert loaded.facts["attention"] == "eager"


def test_shards_and_files_of_torch_load_alike(copy: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    whole = copy / "model.safetensors"
    tensors = load_file(whole)
    expected = load(LocalOptions(str(copy)), device="cpu").model
    names = sorted(tensors)
    whole.unlink()
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for part, own in parts.items():
        save_file({name: tensors[name] for name in own}, copy / part, {"format": "pt"})
    placed = {name: part for part, own in parts.items() for name in own}
    index = {"metadata": {"total_size": 1}, "weight_map": placed}
    (copy / "model.safetensors.index.json").write_text(json.dumps(index))
    assert same(load(LocalOptions(str(copy)), device="cpu").model, expected)
    for path in (*map(copy.joinpath, parts), copy / "model.safetensors.index.json"):
        path.unlink()
    torch.save(tensors, copy / "pytorch_model.bin")
    assert same(load(LocalOptions(str(copy)), device="cpu").model, expected)


def test_code_in_a_pickle_is_not_run(copy: Path, place: Path) -> None:
    import torch

    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (place / "sprung",)

    (copy / "model.safetensors").unlink()
    torch.save({"lm_head.weight": Trap()}, copy / "pytorch_model.bin")
    with pytest.raises(Fatal, match="objects as well as tensors") as caught:
        load(LocalOptions(str(copy)), device="cpu")
    assert "\n" not in str(caught.value)
    assert not (place / "sprung").exists()


def test_a_folder_is_known_by_what_is_in_it(copy: Path, place: Path) -> None:
    first = locate(LocalOptions(str(copy))).identity
    moved = copy.rename(place / "moved")
    assert locate(LocalOptions("x", model_path=str(moved))).identity == first
    weights = moved / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert locate(LocalOptions(str(moved))).identity != first
    (moved / "README.md").write_text("no part of the model")
    assert locate(LocalOptions(str(moved))).identity != first


def test_weights_are_read_for_their_digest_once(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = locate(LocalOptions(str(copy))).identity
    monkeypatch.setattr(digests, "_sha256", lambda path: pytest.fail(f"{path} was read again"))
    assert locate(LocalOptions(str(copy))).identity == first


def test_the_need_of_memory_is_read_from_the_heads_of_files(checkpoint: Checkpoint) -> None:
    found = locate(LocalOptions(str(checkpoint("qwen2-vl"))))
    loaded = load(LocalOptions(str(checkpoint("qwen2-vl"))), device="cpu")
    held = sum(p.nbytes for p in loaded.model.parameters())
    assert files.weight_bytes(found, "float32", None) == held
    assert files.weight_bytes(found, "auto", None) == held
    assert files.weight_bytes(found, "bfloat16", None) == held // 2
    assert files.weight_bytes(found, "bfloat16", "4bit") < held // 5


@pytest.mark.parametrize("family", FAMILIES)
def test_a_description_needs_no_weights_and_fits_the_model(
    checkpoint: Checkpoint, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import PreTrainedModel

    loaded = load(LocalOptions(str(checkpoint(family))), device="cpu")
    monkeypatch.setattr(PreTrainedModel, "from_pretrained", lambda *_, **__: pytest.fail("loaded"))
    told = describe(LocalOptions(str(checkpoint(family)), name=family, max_pixels=70_000)).info
    assert (told.provider, told.billed, told.takes_pictures) == ("local", False, True)
    assert told.name == f"{family}:{checkpoint(family)}"
    assert told.revision == loaded.facts["identity"]
    # The hub's name would claim more than anyone knows of a folder.
    assert told.model == f"{family}@{str(told.revision)[7:19]}"
    assert told.coordinates == loaded.family.coordinates
    assert told.context_tokens == loaded.context_tokens
    assert told.settings == {
        "family": family,
        "max_pixels": 70_000,
        "dtype": "float32",
        "attention": "default",
        "image_processor": "Qwen2VLImageProcessorPil",
        "quantization": None,
    }
    assert told.text_tokens is not None and told.image_rule is not None
    assert told.text_tokens("book a flight<|im_end|>") > 10
    width, height = told.image_rule.fit(1280, 5429)
    assert 0.8 * 70_000 < width * height <= 70_000


def test_a_model_that_is_described_and_loaded_is_read_once(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    from adapters.local import loading, processors

    read: list[object] = []
    plain = processors.load_processor

    def counted(*given: Any) -> Any:
        read.append(given[0])
        return plain(*given)

    monkeypatch.setattr(loading, "load_processor", counted)
    folder = str(checkpoint("qwen2-vl"))
    described = open_described("qwen2-vl", loads=True, model_path=folder, devices="cpu")
    adapter = described.load()
    asyncio.run(adapter.close())
    assert len(read) == 1
    assert adapter.info.revision == described.info.revision
    assert described.info.runs_here


@pytest.mark.parametrize(("dtype", "allowed"), [("bfloat16", True), ("float32", False)])
def test_a_model_in_float32_turns_tf32_off(
    checkpoint: Checkpoint, dtype: Dtype, allowed: bool
) -> None:
    """`test_gpu.py` checks what comes of it."""
    import torch

    flags: tuple[Any, ...] = (torch.backends.cudnn, torch.backends.cuda.matmul)
    before = [flag.allow_tf32 for flag in flags]
    try:
        for flag in flags:
            flag.allow_tf32 = True
        load(LocalOptions("hf", model_path=str(checkpoint("qwen2-vl")), dtype=dtype), "cpu")
        assert [flag.allow_tf32 for flag in flags] == [allowed, allowed]
    finally:
        for flag, value in zip(flags, before, strict=True):
            flag.allow_tf32 = value
