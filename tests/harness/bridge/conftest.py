"""Every test in a folder of its own, without the user's keys and caches, and without inspect's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.commands.tool import isolate


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    isolate(monkeypatch, tmp_path)
    for name in ("INSPECT_EVAL_MODEL", "INSPECT_LOG_DIR", "INSPECT_ASYNC_BACKEND"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path
