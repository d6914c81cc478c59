"""trackio (https://github.com/gradio-app/trackio): runs in a database on this machine.

`TRACKIO_SPACE_ID` or `TRACKIO_SERVER_URL` make it send them elsewhere, as in all of its uses.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import Any

from harness.trackers.config import package
from harness.trackers.contract import PROJECT, Ending


class TrackioTracker:
    """`trackio:PROJECT`."""

    def __init__(self, project: str = "") -> None:
        self._trackio = package("trackio")
        self._project = project or PROJECT
        self._run: Any = None

    def start(self, name: str, config: Mapping[str, Any]) -> str:
        with redirect_stdout(_Muted(sys.stdout)):
            self._run = self._trackio.init(
                project=self._project,
                name=name,
                config=dict(config),
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
        # A run that was complete before it was tracked has no points.
        values = {} if getattr(self._run, "_next_step", 0) else dict[str, Any](ending.values)
        if ending.rows:
            rows = [list(row.values()) for row in ending.rows]
            values["results"] = self._trackio.Table(columns=list(ending.rows[0]), data=rows)
        if values:
            self._run.log(values, step=ending.settled)
        with redirect_stdout(_Muted(sys.stdout)):
            self._run.finish()


class _Muted:
    """A stream that takes nothing from this thread, while others print as before."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._muted = stream, threading.get_ident()

    def write(self, text: str) -> Any:
        if threading.get_ident() == self._muted:
            return len(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
