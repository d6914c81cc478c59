"""The program of child processes (`adapters.processes`), and the messages in its pipes.

The child runs this file. It imports only the standard library: a child loads nothing that it does
not need.
"""

from __future__ import annotations

import importlib
import os
import pickle
import queue
import runpy  # noqa: TID251 (a child's entry, given by its parent)
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

Receive = Callable[[], Any]
Send = Callable[[object], None]

_COUNTS = struct.Struct("!QQ")


def send(stream: BinaryIO, message: object) -> None:
    """Write a message to an unbuffered stream. Raises OSError if the other end is closed.

    A message is a header with lengths, a pickle, and the buffers that the pickle refers to. Bytes
    that are wrapped in `pickle.PickleBuffer` are not copied into the pickle.
    """
    buffers: list[pickle.PickleBuffer] = []
    plain = memoryview(pickle.dumps(message, protocol=5, buffer_callback=buffers.append))
    raws = [buffer.raw() for buffer in buffers]
    lengths = struct.pack(f"!{len(raws)}Q", *(raw.nbytes for raw in raws))
    write(stream, memoryview(_COUNTS.pack(len(plain), len(raws)) + lengths))
    for part in (plain, *raws):
        write(stream, part)


def receive(stream: BinaryIO) -> Any:
    """Read a message. Raises EOFError if the other end is closed, even within a message.

    Use it only for pipes between our own processes: reading a pickle can run any code.
    """
    length, count = _COUNTS.unpack(read(stream, _COUNTS.size))
    lengths = struct.unpack(f"!{count}Q", read(stream, 8 * count))
    plain = read(stream, length)
    # The bytes come from a process that this one started, or that started this one.
    return pickle.loads(plain, buffers=[read(stream, size) for size in lengths])  # noqa: S301


def write(stream: BinaryIO, data: memoryview) -> None:
    """Write every byte, however few the system takes at a time."""
    while data:
        written: int | None = stream.write(data)
        data = data[written or 0 :]


def read(stream: BinaryIO, length: int) -> bytearray:
    """Read so many bytes. Raises EOFError if there are fewer."""
    data = bytearray(length)
    view, done = memoryview(data), 0
    into: Callable[[memoryview], int | None] = stream.readinto  # type: ignore[attr-defined]
    while done < length:
        read = into(view[done:])
        if not read:
            raise EOFError
        done += read
    return data


def meaning(status: int) -> str:
    """Say how a process ended, by its return code in Python's sense."""
    if status >= 0:
        return f"exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = "unknown"
    killed = f"killed by signal {-status} ({name})"
    return f"{killed}, so perhaps the machine is out of memory" if status == -9 else killed


def _serve(entry: str) -> None:
    """Run in the child: keep the standard streams for messages, and give libraries others."""
    # The main process handles Ctrl-C and SIGTERM; a scheduler may send the latter to all
    # processes of a job.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    incoming = os.fdopen(os.dup(0), "rb", buffering=0)
    outgoing = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    received: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(incoming, received), daemon=True).start()
    lock = threading.Lock()

    def answer(message: object) -> None:
        with lock:
            try:
                send(outgoing, message)
            except OSError:
                os._exit(0)

    _function(entry)(received.get, answer)


def _listen(incoming: BinaryIO, received: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            received.put(receive(incoming))
    except (EOFError, OSError):
        # The parent is gone or has closed the pipe; there is nothing to save. What this process has
        # started goes with it, and what has left its group first.
        end_descendants()
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(0)
    except BaseException as error:
        # A message that cannot be read here, since it is made of what only the parent knows.
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def descendants() -> list[int]:
    """Return ids of running processes below this one, at any depth; only on Linux."""
    parents: dict[int, int] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # It has just ended.
            # The name, in parentheses, may hold anything.
            state, parent = file.read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state not in "ZX":
                parents[int(file.parent.name)] = int(parent)
    found = [os.getpid()]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


def end_descendants() -> None:
    """Kill what `descendants` finds, and what these start meanwhile."""
    for _ in range(100):
        found = descendants()
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        time.sleep(0.01)


def _function(entry: str) -> Callable[[Receive, Send], None]:
    where, _, name = entry.rpartition(":")
    if where.endswith(".py"):
        function = runpy.run_path(where)[name]
    else:
        function = getattr(importlib.import_module(where), name)
    return cast("Callable[[Receive, Send], None]", function)


if __name__ == "__main__":
    _serve(sys.argv[1])
