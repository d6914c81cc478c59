"""Every test in a folder of its own, without the user's keys and caches, and without long waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.commands.tool import isolate


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    isolate(monkeypatch, tmp_path)
    for name in ("FIRST_WAIT_S", "IN_USE_S", "POLL_S"):
        monkeypatch.setattr(f"harness.sweep.schedule.{name}", 0.05)
    return tmp_path
