"""vLLM's stand-in in place of the package, and a tiny checkpoint for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

from adapters import make
from adapters.vllm.adapter import VllmAdapter
from tests.local.conftest import Checkpoint

STANDIN = Path(__file__).parent / "standin"
FAMILY = "qwen2.5-vl"
Log = Callable[[str], list[Any]]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Log:
    """What the stand-in was told: the values of a key, in order."""
    path = tmp_path / "standin.jsonl"
    monkeypatch.syspath_prepend(str(STANDIN))
    monkeypatch.setenv("STANDIN_LOG", str(path))
    monkeypatch.delenv("VLLM_BATCH_INVARIANT", raising=False)

    def values(key: str) -> list[Any]:
        lines = path.read_text().splitlines() if path.exists() else []
        return [event[key] for event in map(json.loads, lines) if key in event]

    return values


@pytest.fixture
def engine(log: Log, checkpoint: Checkpoint) -> Iterator[Callable[..., VllmAdapter]]:
    """Makes adapters over the stand-in; what a test leaves open is killed."""
    made: list[VllmAdapter] = []

    def start(family: str = FAMILY, **options: object) -> VllmAdapter:
        adapter = make(f"vllm:{checkpoint(family)}", **options)
        assert isinstance(adapter, VllmAdapter)
        made.append(adapter)
        return adapter

    yield start
    for adapter in made:
        adapter._engine.close()
