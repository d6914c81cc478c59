"""Every test in a folder of its own, without the user's keys, caches and services."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.commands.tool import isolate


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    isolate(monkeypatch, tmp_path)
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_PROJECT", "WANDB_ENTITY", "WANDB_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path
