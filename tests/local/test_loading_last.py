"""A model that takes minutes to load is loaded last, and not at all where nobody is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

from tests.harness.commands import tool
from tests.local.conftest import Checkpoint

QUIET = ("--progress", "off", "--no-cache", "--adapter-option=preflight=no")
ASKED = ("--image-policy", "none", "--max-tokens", "4")


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool.isolate(monkeypatch, tmp_path)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows when a model is loaded."""
    from adapters.local.loading import TransformersModel

    happened: list[str] = []
    real = TransformersModel.load

    def counted(model: TransformersModel) -> object:
        happened.append("loaded")
        return real(model)

    monkeypatch.setattr(TransformersModel, "load", counted)
    return happened


def test_a_run_that_is_complete_or_differs_loads_no_model(
    checkpoint: Checkpoint, loads: list[str]
) -> None:
    line = ("--model", f"hf:{checkpoint('qwen2-vl')}", *tool.ONE_TASK, *ASKED, *QUIET, "-o", "run")
    first = tool.call(*line)
    assert first.code == 0
    assert loads == ["loaded"]
    again = tool.call(*line)
    assert (again.code, again.out) == (0, first.out)
    other = tool.call(*line, "--seed", "7")
    assert other.code == 2
    assert "seed" in other.complaint
    assert loads == ["loaded"]


def test_a_protocol_that_asks_nobody_loads_no_model(
    checkpoint: Checkpoint, loads: list[str]
) -> None:
    protocol = ("--protocol", "classify", "--ranker", "lexical")
    done = tool.call("--model", f"hf:{checkpoint('qwen2-vl')}", *tool.ONE_TASK, *QUIET, *protocol)
    assert done.code == 0
    assert loads == []


def test_missing_data_is_told_before_a_model_is_loaded(
    checkpoint: Checkpoint, loads: list[str]
) -> None:
    model = ("--model", f"hf:{checkpoint('qwen2-vl')}")
    done = tool.call(*model, "--data", "nowhere.parquet", *QUIET)
    assert done.code == 2
    assert "nowhere.parquet" in done.complaint
    assert loads == []
