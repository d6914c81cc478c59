"""An adapter next to a model or in its weights is refused; tensors left over are told."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch
from safetensors.torch import load_file, save_file

from adapters import EMBEDDING_MODELS, make
from adapters.contract import Fatal
from adapters.local.checkpoint import Checkpoint as Files
from tests.local.conftest import Checkpoint
from tests.local.qwen_vl import tiny as qwen_vl
from tests.local.test_embedder import folder as encoder  # noqa: F401 (a fixture)
from tests.local.test_seq2seq import folder as t5  # noqa: F401 (a fixture)

Opened = Callable[[Path], Any]
CONFIG = json.dumps({"peft_type": "LORA", "base_model_name_or_path": "org/base", "r": 4})
MERGE = "merge it into the weights (merge_and_unload of peft) and name that folder"


def embedder(folder: Path) -> Any:
    made: Any = EMBEDDING_MODELS.make(f"hf:{folder}", devices="cpu")
    made.load()
    return made


@pytest.fixture(params=["hf", "qwen-vl", "seq2seq", "embedder"])
def kind(
    request: pytest.FixtureRequest, checkpoint: Checkpoint, tmp_path: Path
) -> tuple[Path, Opened]:
    """A copy of a whole checkpoint that may be changed, and what opens it."""
    copy = tmp_path / "model"
    if request.param == "qwen-vl":
        qwen_vl.build(copy, "safetensors")
        return copy, lambda path: make(f"hf:{path}", devices="cpu")
    if request.param == "hf":
        shutil.copytree(checkpoint("llava"), copy)
        return copy, lambda path: make(f"hf:{path}", devices="cpu")
    if request.param == "seq2seq":
        shutil.copytree(request.getfixturevalue("t5"), copy)
        return copy, lambda path: make(f"seq2seq:{path}", devices="cpu")
    shutil.copytree(request.getfixturevalue("encoder"), copy)
    return copy, embedder


def refusal(opened: Opened, folder: Path) -> str:
    with pytest.raises(Fatal) as caught:
        opened(folder)
    said = str(caught.value)
    assert "\n" not in said
    return said


def weights(folder: Path) -> Path:
    (found,) = folder.rglob("model.safetensors")
    return found


def changed(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    tensors = load_file(weights(folder))
    change(tensors)
    save_file(tensors, weights(folder), {"format": "pt"})


@pytest.mark.parametrize(
    "files",
    [
        ("adapter_config.json", "adapter_model.safetensors"),
        ("adapter_model.bin",),
        ("adapters.safetensors",),
        ("non_lora_trainables.bin",),
    ],
)
def test_an_adapter_next_to_a_model_is_refused(
    kind: tuple[Path, Opened], files: tuple[str, ...]
) -> None:
    folder, opened = kind
    for name in files:
        (folder / name).write_text(CONFIG)
    assert refusal(opened, folder) == (
        f"{folder} holds an adapter next to the model ({files[0]}), which would not be applied: "
        f"{MERGE}, or move it elsewhere to run the model without it"
    )


def test_a_folder_with_an_adapter_alone_is_named_as_such(
    kind: tuple[Path, Opened], tmp_path: Path
) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "adapter_model.safetensors").write_bytes(b"")
    name = "adapter_model.safetensors"
    assert refusal(kind[1], alone) == f"{alone} holds an adapter and no model ({name}): {MERGE}"
    (alone / "adapter_config.json").write_text(CONFIG)
    assert refusal(kind[1], alone) == (
        f"{alone} holds an adapter of 'org/base' and no model (adapter_config.json): {MERGE}"
    )


@pytest.mark.parametrize(
    "name",
    [
        "layers.0.q_proj.lora_A.weight",
        "base_model.model.layers.0.q_proj.lora_B.default.weight",
        "layers.0.q_proj.base_layer.weight",
        "layers.1.mlp.hada_w1_a",
    ],
)
def test_tensors_of_an_adapter_in_the_weights_are_refused(
    kind: tuple[Path, Opened], name: str
) -> None:
    folder, opened = kind
    changed(folder, lambda tensors: tensors.update({name: torch.zeros(2, 2)}))
    said = refusal(opened, folder)
    assert "the weights hold an adapter (1 tensors, the first is" in said
    assert name in said
    assert said.endswith(f"which would not be applied: {MERGE}")


def test_tensors_that_are_left_over_are_told(kind: tuple[Path, Opened]) -> None:
    folder, opened = kind
    changed(folder, lambda tensors: tensors.update({"extra.head.weight": torch.zeros(2, 2)}))
    made = opened(folder)
    (notice,) = made.notices()
    assert "does not use all of its tensors (1 are left over, the first is extra.head" in notice
    assert made.notices() == []
    asyncio.run(made.close())


def test_tensors_that_are_missing_are_refused(kind: tuple[Path, Opened]) -> None:
    folder, opened = kind

    def without(tensors: dict[str, torch.Tensor]) -> None:
        del tensors[
            next(name for name in sorted(tensors) if "norm" in name.lower() or "ln" in name)
        ]

    changed(folder, without)
    assert "tensors are missing or have another shape (1," in refusal(opened, folder)


def test_adapters_below_a_folder_are_part_of_its_identity(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    """Code of a checkpoint may load them."""
    folder = Path(shutil.copytree(checkpoint("llava"), tmp_path / "model"))
    plain = Files(folder, None, {}).identity
    (folder / "vision-lora").mkdir()
    (folder / "vision-lora" / "adapter_model.safetensors").write_bytes(b"1")
    one = Files(folder, None, {}).identity
    (folder / "vision-lora" / "adapter_model.safetensors").write_bytes(b"2")
    assert len({plain, one, Files(folder, None, {}).identity}) == 3
