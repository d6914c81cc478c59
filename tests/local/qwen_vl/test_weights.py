"""Published weights: complete both ways, equal to the file, and never executed."""

from __future__ import annotations

import json
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

    config = json.loads((known / "model/config.json").read_text("utf-8"))
    mine = {k: list(v.shape) for k, v in tiny.empty_model(config).state_dict().items()}
    with safe_open(known / "model/model.safetensors", "pt") as stored:
        theirs = {name: stored.get_slice(name).get_shape() for name in stored.keys()}  # noqa: SIM118
    assert mine == theirs


def test_an_index_must_not_lead_out_of_its_folder(tmp_path: Path, tensors: State) -> None:
    folder = written(tmp_path / "model", tensors)
    save_file(tensors, tmp_path / "elsewhere.safetensors")
    index = {"weight_map": dict.fromkeys(tensors, "../elsewhere.safetensors")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(Fatal, match="outside its folder"):
        loaded_from(folder)
