"""Appending lines durably, many per disk flush.

A thread writes what has gathered while the last flush was under way, flushes once, and then tells
everybody whose line was among it. So the rate of lines does not hang on the rate of flushes, and a
line that was reported as synced survives whatever happens next.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import RunError
from harness.runs.files import write_error

_flush = getattr(os, "fdatasync", os.fsync)


def write_all(handle: int, data: bytes) -> None:
    """Write every byte, however few the system takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


@dataclass(frozen=True, slots=True)
class _Entry:
    file: int
    data: bytes
    waiter: asyncio.Future[None] | threading.Event | None


class Journal:
    """Open files that lines are appended to.

    Within one flush the files are written in the given order: a line in a later file may
    refer to lines in an earlier one.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(paths)
        self._handles: list[int] = []
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        try:
            for path in paths:
                self._handles.append(os.open(path, flags, 0o644))
        except OSError as error:
            for handle in self._handles:
                os.close(handle)
            raise write_error(path, error) from error
        self._wake = threading.Condition()
        self._queue: list[_Entry] = []
        self._closing = False
        self._error: RunError | None = None
        self._thread = threading.Thread(target=self._work, name="journal", daemon=True)
        self._thread.start()

    def append(self, file: int, data: bytes) -> None:
        """Queue a line and return. Raises the `RunError` that an earlier line ran into."""
        self._put(_Entry(file, data, None))

    async def append_synced(self, file: int, data: bytes) -> None:
        """Append a line and return when it is on disk. Raises `RunError`.

        A cancelled caller's line is written all the same.
        """
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._put(_Entry(file, data, waiter))
        await waiter

    def sync(self) -> None:
        """Return when every line appended so far is on disk. Raises `RunError`."""
        done = threading.Event()
        self._put(_Entry(0, b"", done))
        done.wait()
        if self._error:
            raise self._error

    def close(self) -> None:
        """Write what is queued and close the files. Raises `RunError` when that failed."""
        with self._wake:
            if self._closing:
                return
            self._closing = True
            self._wake.notify()
        self._thread.join()
        for handle in self._handles:
            os.close(handle)
        if self._error:
            raise self._error

    def _put(self, entry: _Entry) -> None:
        with self._wake:
            if self._error:
                raise self._error
            if self._closing:
                raise RunError(f"{self._paths[entry.file]} is closed")
            self._queue.append(entry)
            self._wake.notify()

    def _work(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._closing:
                    self._wake.wait()
                batch, self._queue = self._queue, []
            if not batch:
                return
            error = self._write(batch)
            if error:
                with self._wake:
                    self._error = error
                    batch += self._queue
                    self._queue = []
            _notify(batch, error)
            if error:
                return

    def _write(self, batch: Sequence[_Entry]) -> RunError | None:
        for file, (path, handle) in enumerate(zip(self._paths, self._handles, strict=True)):
            data = b"".join(entry.data for entry in batch if entry.file == file)
            if not data:
                continue
            size = os.fstat(handle).st_size
            try:
                write_all(handle, data)
                _flush(handle)
            except OSError as error:
                # Without this the file would end in half a line, which readers tolerate, but the
                # lines before it were not reported as synced and would be asked for again.
                with contextlib.suppress(OSError):
                    os.ftruncate(handle, size)
                return write_error(path, error)
        return None


def _notify(batch: Sequence[_Entry], error: RunError | None) -> None:
    loops: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for entry in batch:
        if isinstance(entry.waiter, threading.Event):
            entry.waiter.set()
        elif entry.waiter is not None:
            loops.setdefault(entry.waiter.get_loop(), []).append(entry.waiter)
    for loop, waiters in loops.items():
        # A loop that is closed by now has no waiters left.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_wake_up, waiters, error)


def _wake_up(waiters: Sequence[asyncio.Future[None]], error: RunError | None) -> None:
    for waiter in waiters:
        if waiter.done():
            continue
        if error:
            waiter.set_exception(error)
        else:
            waiter.set_result(None)
