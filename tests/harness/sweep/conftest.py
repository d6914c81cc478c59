"""Every test in a folder of its own, without the user's keys and caches, and without long waits."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.sweep.child import COMMAND, Child, toml_text
from tests.harness.commands.tool import isolate
from tests.programs import Program


class QuickChild(Child):
    """The process of a cell that starts at once; sweeps that are programs have the real one."""

    def __init__(self, program: Program) -> None:
        self._program = program

    @property
    def pid(self) -> int:
        return self._program.pid

    @classmethod
    async def start(
        cls, options: Mapping[str, Any], log: Path, environment: Mapping[str, str]
    ) -> Child:
        words, given = COMMAND[1:], toml_text(options)
        return cls(Program(*words, given=given, log=log, environment=environment))

    async def ended(self) -> int:
        return await asyncio.to_thread(self._program.wait)

    def interrupt(self) -> None:
        self._program.send_signal(signal.SIGINT)

    def kill(self) -> None:
        self._program.kill()


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setattr("harness.sweep.schedule.Child", QuickChild)
    for name in ("FIRST_WAIT_S", "IN_USE_S", "POLL_S"):
        monkeypatch.setattr(f"harness.sweep.schedule.{name}", 0.05)
    return tmp_path
