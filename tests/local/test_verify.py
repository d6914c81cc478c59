"""A model on this machine is verified through its adapter, against its own processor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.commands.tool import call, isolate
from tests.local.conftest import Checkpoint


def test_a_tiny_checkpoint_counts_as_its_own_processor(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    line = ("verify", f"hf:{checkpoint('qwen3-vl')}", "--only", "template,sizes,bytes,usage")
    done = call(*line, "--output", "record.json")
    assert done.code == 0, done.err
    record = json.loads(Path("record.json").read_text("utf-8"))
    found = {check["name"]: check["verdict"] for check in record["checks"]}
    assert found == dict.fromkeys(("template", "sizes", "bytes", "usage"), "ok")
    assert record["model"]["provider"] == "local"
    assert all(record["counts"]["pictures"])
