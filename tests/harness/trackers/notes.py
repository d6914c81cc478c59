"""Trackers that keep what they are told, and trackers that are a nuisance."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from harness.trackers import Ending

PATIENCE_S = 60


class Notes:
    """Keeps everything."""

    def __init__(self, project: str = "") -> None:
        self.project = project
        self.name = ""
        self.config: Mapping[str, Any] = {}
        self.points: list[tuple[int, dict[str, float]]] = []
        self.ending: Ending | None = None
        self.threads: set[str] = set()

    def start(self, name: str, config: Mapping[str, Any]) -> str:
        self.threads.add(threading.current_thread().name)
        self.name, self.config = name, config
        return ""

    def log(self, settled: int, values: Mapping[str, float]) -> None:
        self.threads.add(threading.current_thread().name)
        self.points.append((settled, dict(values)))

    def finish(self, ending: Ending) -> None:
        self.threads.add(threading.current_thread().name)
        self.ending = ending

    @property
    def everything(self) -> str:
        """All that was told, as one text."""
        ending = asdict(self.ending) if self.ending else None
        run = [self.name, self.config, self.points, ending]
        return json.dumps(run, ensure_ascii=False)


class Known(Notes):
    """Is known by name, and found in `made`."""

    made: ClassVar[list[Notes]] = []

    def __init__(self, project: str = "") -> None:
        super().__init__(project)
        self.made.append(self)


def broken(project: str = "") -> Notes:
    raise KeyError("no")


def odd() -> int:
    return 3


class Raises(Notes):
    """Raises where it is told to."""

    def __init__(self, where: str, error: BaseException) -> None:
        super().__init__()
        self._where = where
        self._error = error

    def _raise(self, here: str) -> None:
        if here == self._where:
            raise self._error

    def start(self, name: str, config: Mapping[str, Any]) -> str:
        self._raise("start")
        return super().start(name, config)

    def log(self, settled: int, values: Mapping[str, float]) -> None:
        self._raise("log")
        super().log(settled, values)

    def finish(self, ending: Ending) -> None:
        self._raise("finish")
        super().finish(ending)


class Hangs(Notes):
    """Does not come back from one of its methods until it is let go."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.entered, self.go = threading.Event(), threading.Event()
        self._where = where

    def _hang(self, here: str) -> None:
        if here == self._where:
            self.entered.set()
            self.go.wait(PATIENCE_S)

    def start(self, name: str, config: Mapping[str, Any]) -> str:
        self._hang("start")
        return super().start(name, config)

    def log(self, settled: int, values: Mapping[str, float]) -> None:
        self._hang("log")
        super().log(settled, values)

    def finish(self, ending: Ending) -> None:
        self._hang("finish")
        super().finish(ending)


class ToFile:
    """Appends everything to a file of JSON lines, at once."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def start(self, name: str, config: Mapping[str, Any]) -> str:
        self._write("start", [name, dict(config)])
        return ""

    def log(self, settled: int, values: Mapping[str, float]) -> None:
        self._write("log", [settled, dict(values)])

    def finish(self, ending: Ending) -> None:
        self._write("finish", asdict(ending))

    def _write(self, what: str, value: Any) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps([what, value]) + "\n")
