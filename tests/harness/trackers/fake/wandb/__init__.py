"""Stands in for the package wandb: keeps what is done with it."""

from __future__ import annotations

import threading
from typing import Any

IMPORTED = threading.current_thread()

STATE: dict[str, Any] = {"mode": "online", "key": "k" * 40, "fails": None}
RUNS: list[Run] = []


class Settings:
    def __init__(self, **given: Any) -> None:
        self.given = given
        self.mode = STATE["mode"]


class Singleton:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings


def setup(settings: Settings | None = None) -> Singleton:
    return Singleton(settings or Settings())


class Table:
    def __init__(self, columns: list[str], data: list[list[Any]], allow_mixed_types: bool) -> None:
        assert allow_mixed_types
        self.columns, self.data = columns, data


class Run:
    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.offline = STATE["mode"] == "offline"
        self.url = None if self.offline else "https://wandb.ai/me/p/runs/x"
        self.dir = "/somewhere/wandb/offline-run-1/files"
        self.metrics: list[tuple[str, str | None]] = []
        self.logged: list[dict[str, Any]] = []
        self.summary: dict[str, Any] = {}
        self.exit_code: int | None = None

    def define_metric(self, name: str, step_metric: str | None = None) -> None:
        self.metrics.append((name, step_metric))

    def log(self, values: dict[str, Any]) -> None:
        self.logged.append(values)

    def finish(self, exit_code: int) -> None:
        self.exit_code = exit_code


def init(**given: Any) -> Run:
    if STATE["fails"]:
        raise STATE["fails"]
    RUNS.append(Run(given))
    return RUNS[-1]
