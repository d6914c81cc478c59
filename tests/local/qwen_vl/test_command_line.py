"""Whole runs of the sample with tiny checkpoints, through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

from tests.harness.commands import tool
from tests.local.qwen_vl import tiny

SMALL: dict[str, Any] = {"num_hidden_layers": 1, "num_attention_heads": 2}
"""For runs of the sample, whose prompts are long in so small a vocabulary."""
ASKED = ("--distractors", "3", "--max-tokens", "8")
QUIET = ("--progress", "off", "--no-cache", "--adapter-option=preflight=no")


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool.isolate(monkeypatch, tmp_path)


def run(out: str, model: str, *more: str) -> dict[str, dict[str, Any]]:
    """The calls of a run by id."""
    line = ("--model", model, *tool.ONE_TASK, *ASKED, *QUIET, "--out", out)
    called = tool.call(*line, *more)
    assert called.code == 0, called.err
    assert all(step["settled"] for step in tool.steps(out))
    return {call["id"]: call for call in tool.calls(out)}


def told(calls: dict[str, dict[str, Any]]) -> dict[str, tuple[Any, Any]]:
    return {name: (call["reply"]["text"], call["reply"]["native"]) for name, call in calls.items()}


def test_two_rounds_of_the_sample_say_the_same_however_they_are_run(tmp_path: Path) -> None:
    """The training length lies where some second rounds, of 1,850 to 2,060 tokens, pass it."""
    folder = tiny.build(tmp_path / "chat", seq_length=1975, **SMALL)
    where = ("--adapter-option", f"model_path={folder}")
    together = run("together", "qwen-vl", *where, "--adapter-option", "batch_size=8")
    assert len(together) == 14
    lengths = [call["reply"]["usage"]["input"] for call in together.values()]
    assert 0 < sum(length > 1975 for length in lengths) < len(lengths)
    alone = run("alone", "qwen-vl", *where, "--adapter-option", "batch_size=1")
    assert told(alone) == told(together)
    manifest = json.loads(Path("together/manifest.json").read_text())
    assert manifest["model"]["settings"]["vocabulary_sha256"]
    assert manifest["sessions"][0]["measured"]["model"]["pillow"]


def test_seeclick_and_a_folder_by_its_own_name_run(tmp_path: Path) -> None:
    """`hf:FOLDER` recognises the original Qwen-VL and needs no code of it."""
    folder = tiny.build(tmp_path / "click", "safetensors", max_position_embeddings=4096, **SMALL)
    named = run("named", "seeclick", "--adapter-option", f"model_path={folder}", *tool.TEXT_ONLY)
    plain = run("plain", f"hf:{folder}", *tool.TEXT_ONLY)
    assert told(named) == told(plain)
