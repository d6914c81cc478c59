"""Every test in a folder of its own, without the user's keys and caches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.commands.tool import isolate


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    isolate(monkeypatch, tmp_path)
    return tmp_path
