"""Tiny checkpoints, built once a session."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from adapters.local.contract import Loaded
from tests.local import others, tiny, zoo

Checkpoint = Callable[[str], Path]
Load = Callable[[str], Loaded]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Tests share the machine, and tiny matrices gain nothing from more threads."""
    if find_spec("torch") is not None:
        import torch

        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def checkpoint(one_thread: None, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """The folder of a tiny checkpoint, one of `tiny.FAMILIES`, `zoo.FAMILIES` or `llava`; not to be
    written to."""
    pytest.importorskip("torch", reason="the extra 'local' is not installed")
    pytest.importorskip("transformers", reason="the extra 'local' is not installed")
    built: dict[str, Path] = {}

    def at(family: str) -> Path:
        if family in zoo.NOT_HERE:
            pytest.skip(f"'{family}' needs another version of transformers")
        if family not in built:
            folder = tmp_path_factory.mktemp(family)
            if family == "llava":
                built[family] = others.build_llava(folder)
            elif family in zoo.FAMILIES:
                built[family] = zoo.build(zoo.FAMILIES[family], folder)
            else:
                built[family] = tiny.build(family, folder)
        return built[family]

    return at


@pytest.fixture
def copy(checkpoint: Checkpoint, tmp_path: Path) -> Path:
    """A tiny Qwen2.5-VL to change."""
    return Path(shutil.copytree(checkpoint("qwen2.5-vl"), tmp_path / "copy"))


@pytest.fixture(scope="session")
def load(checkpoint: Checkpoint) -> Load:
    """The tiny model of a family on the CPU, in float32; shared, so leave it as it was."""
    from adapters.local.options import LocalOptions
    from tests.local.examples import load_now as load_model

    held: dict[str, Loaded] = {}

    def at(family: str) -> Loaded:
        if family not in held:
            options = LocalOptions("hf", model_path=str(checkpoint(family)))
            held[family] = load_model(options, "cpu")
        return held[family]

    return at
