"""trackio (https://github.com/gradio-app/trackio): runs in a database on this machine.

`TRACKIO_SPACE_ID` or `TRACKIO_SERVER_URL` make it send them elsewhere, as in all of its uses.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from harness.trackers.config import package
from harness.trackers.contract import PROJECT, Ending, Table, TrackedRun


class TrackioTracker:
    """`trackio:PROJECT`."""

    def __init__(self, project: str = "") -> None:
        self._trackio = package("trackio")
        self._project = project or PROJECT
        self._run: Any = None

    def start(self, run: TrackedRun) -> str:
        with _quiet():
            self._run = self._trackio.init(
                project=self._project,
                name=run.name,
                config=dict(run.config),
                resume="allow",
                private=True,
                embed=False,
                auto_log_cpu=False,
                auto_log_gpu=False,
            )
        return f'look at it with: trackio show --project "{self._project}"'

    def log(self, settled: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=settled)

    def finish(self, ending: Ending) -> None:
        values: dict[str, Any] = {}
        # A run that was complete before it was tracked has no points.
        if not getattr(self._run, "_next_step", 0):
            values |= ending.values
        for name, table in (("results", ending.results), ("texts", ending.texts)):
            if table is not None:
                values[name] = self._table(table)
        if values:
            self._run.log(values, step=ending.settled)
        with _quiet():
            self._run.finish()

    def _table(self, table: Table) -> Any:
        # The dashboard shows plain texts, neither Markdown nor HTML.
        rows = [list(row) for row in table.rows]
        return self._trackio.Table(columns=list(table.columns), data=rows)


class _Muted:
    """A stream that takes nothing from one thread, and everything from the others."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._muted = threading.get_ident()

    def write(self, text: str) -> int:
        if threading.get_ident() == self._muted:
            return len(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep what the package prints out of a run's output, which other threads print meanwhile."""
    stream = sys.stdout
    muted: Any = _Muted(stream)
    sys.stdout = muted
    try:
        yield
    finally:
        if sys.stdout is muted:
            sys.stdout = stream
