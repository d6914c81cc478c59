"""Published weights: complete both ways, equal to the file, and never executed."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch
from safetensors.torch import save_file

from adapters.contract import Fatal
from adapters.local.contract import Loaded
from adapters.local.options import LocalOptions
from tests.local.examples import load_now as load
from tests.local.qwen_vl import tiny

State = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def tensors() -> State:
    return tiny.state(tiny.CONFIG)


def loaded_from(folder: Path) -> Loaded:
    return load(LocalOptions("qwen-vl", model_path=str(folder)), "cpu")


def written(folder: Path, tensors: State, weights: str = "safetensors") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(tiny.CONFIG))
    tiny.vocabulary(folder / "qwen.tiktoken")
    tiny.save(folder, tensors, weights)
    return folder


@pytest.mark.parametrize("weights", ["bin", "safetensors"])
def test_parameters_are_those_of_the_file(tmp_path: Path, tensors: State, weights: str) -> None:
    state = loaded_from(written(tmp_path, tensors, weights)).model.state_dict()
    assert state.keys() == tensors.keys()
    assert all(torch.equal(state[name], tensors[name].float()) for name in tensors)


def test_generation_and_preparation_leave_the_parameters_alone(
    loaded: Loaded, tensors: State
) -> None:
    loaded.model.generate(torch.arange(9)[None], max_new_tokens=3)
    state = loaded.model.state_dict()
    assert all(torch.equal(state[name], tensors[name].float()) for name in tensors)


def test_the_names_of_the_original_are_covered_both_ways(known: Path) -> None:
    from safetensors import safe_open

    from adapters.local.qwen_vl.config import QwenVLConfig
    from adapters.local.qwen_vl.loading import empty_model

    config = json.loads((known / "model/config.json").read_text("utf-8"))
    mine = {k: list(v.shape) for k, v in empty_model(QwenVLConfig.of(config)).state_dict().items()}
    with safe_open(known / "model/model.safetensors", "pt") as stored:
        theirs = {name: stored.get_slice(name).get_shape() for name in stored.keys()}  # noqa: SIM118
    assert mine == theirs


def without(tensors: State) -> State:
    return {name: t for name, t in tensors.items() if not name.endswith("attn.c_proj.weight")}


def renamed(tensors: State) -> State:
    return {f"model.layers.{name}": tensor for name, tensor in tensors.items()}


def reshaped(tensors: State) -> State:
    return tensors | {"lm_head.weight": torch.zeros(520, 64)}


def with_more(tensors: State) -> State:
    return tensors | {"transformer.h.9.ln_1.weight": torch.zeros(128)}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (without, r"2 tensors missing: transformer\.h\.0\.attn\.c_proj\.weight, transformer\.h\.1"),
        (with_more, r"1 tensor unexpected: transformer\.h\.9\.ln_1\.weight$"),
        (reshaped, r"1 tensor of a wrong shape: lm_head\.weight is \[520, 64\] instead of \[520"),
        (renamed, r"another architecture: model\.layers\..* and \d+ more instead of .*transformer"),
    ],
)
@pytest.mark.parametrize("weights", ["bin", "safetensors"])
def test_tensors_that_do_not_fit_are_named(
    tmp_path: Path, tensors: State, change: Callable[[State], State], complaint: str, weights: str
) -> None:
    folder = written(tmp_path, change(tensors), weights)
    with pytest.raises(Fatal, match=complaint) as caught:
        loaded_from(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("weights", "shard"),
    [("bin", "pytorch_model-00002-of-00002.bin"), ("safetensors", "model.safetensors")],
)
@pytest.mark.parametrize("keep", [0, 100, 0.5, 0.999])
def test_a_shard_cut_short_is_named(
    tmp_path: Path, tensors: State, weights: str, shard: str, keep: float
) -> None:
    path = written(tmp_path, tensors, weights) / shard
    content = path.read_bytes()
    path.write_bytes(content[: int(keep if keep > 1 else keep * len(content))])
    with pytest.raises(Fatal, match="damaged") as caught:
        loaded_from(tmp_path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


class Trap:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("zipped", [True, False])
def test_code_in_a_shard_is_not_run(tmp_path: Path, tensors: State, zipped: bool) -> None:
    path = written(tmp_path, tensors, "bin") / "pytorch_model-00001-of-00002.bin"
    if zipped:
        torch.save(Trap(tmp_path / "sprung"), path)
    else:
        path.write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    with pytest.raises(Fatal, match=r"more than tensors|damaged"):
        loaded_from(tmp_path)
    assert not (tmp_path / "sprung").exists()


def test_shards_of_before_torch_1_6_are_read(tmp_path: Path, tensors: State) -> None:
    folder = written(tmp_path, tensors, "bin")
    for path in folder.glob("*.bin"):
        part = torch.load(path, weights_only=True)
        torch.save(part, path, _use_new_zipfile_serialization=False)
    state = loaded_from(folder).model.state_dict()
    assert all(torch.equal(state[name], tensors[name].float()) for name in tensors)


def test_a_shard_that_is_not_there_is_named(tmp_path: Path, tensors: State) -> None:
    written(tmp_path, tensors, "bin")
    (tmp_path / "pytorch_model-00002-of-00002.bin").unlink()
    with pytest.raises(Fatal, match=r"pytorch_model-00002-of-00002\.bin of the 2 shards"):
        loaded_from(tmp_path)


def test_an_index_must_not_lead_out_of_its_folder(tmp_path: Path, tensors: State) -> None:
    folder = written(tmp_path / "model", tensors)
    save_file(tensors, tmp_path / "elsewhere.safetensors")
    index = {"weight_map": dict.fromkeys(tensors, "../elsewhere.safetensors")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(Fatal, match="outside its folder"):
        loaded_from(folder)


@pytest.mark.parametrize("content", ["", "[]", '{"weight_map": 3}'])
def test_an_index_that_is_none_is_named(tmp_path: Path, tensors: State, content: str) -> None:
    written(tmp_path, tensors, "bin")
    (tmp_path / "pytorch_model.bin.index.json").write_text(content)
    with pytest.raises(Fatal, match=r"pytorch_model\.bin\.index\.json: no readable list"):
        loaded_from(tmp_path)
