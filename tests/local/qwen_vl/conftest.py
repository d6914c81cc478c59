"""The known answers, and a tiny checkpoint built once a session."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.local.qwen_vl import tiny

if TYPE_CHECKING:
    from adapters.local.contract import Loaded


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Tests share the machine, and tiny matrices gain nothing from more threads."""
    if find_spec("torch") is not None:
        import torch

        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def known() -> Path:
    """The folder with what the original implementation computed."""
    root = os.environ.get("VLM_EVAL_TEST_DATA")
    if not root:
        pytest.skip("VLM_EVAL_TEST_DATA is not set: no known answers to compare with")
    folder = Path(root) / "qwen-vl-tiny"
    assert folder.is_dir(), f"VLM_EVAL_TEST_DATA is set but {folder} is missing"
    return folder


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny checkpoint in the published layout (.bin shards); not to be written to."""
    return tiny.build(tmp_path_factory.mktemp("qwen-vl") / "chat")


@pytest.fixture(scope="session")
def loaded(checkpoint: Path) -> Loaded:
    """The tiny checkpoint in float32 on the CPU."""
    from adapters.local.options import LocalOptions
    from tests.local.examples import load_now as load

    return load(LocalOptions("qwen-vl", model_path=str(checkpoint)), "cpu")
