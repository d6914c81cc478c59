"""The command line, which kills itself for real on the way of a pack to the provider and back.

python kill.py POINT ARGUMENTS...

    spool:N        when the N-th request has been put into a pack
    before:EVENT   before an event of a pack is on record
    after:EVENT    as soon as it is
    line:N         when the N-th line of results has arrived
    call:N         when the N-th call is on record
    writing:N      in the middle of the N-th write of an event
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from adapters import transport
from harness.batches import log
from harness.commands.main import run
from harness.runs import directory


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def at_call(owner: Any, name: str, number: int, *, lasts: bool = False) -> None:
    """Die behind the N-th call of a method."""
    original: Callable[..., Any] = getattr(owner, name)
    left = number

    def counted(*args: Any, **more: Any) -> Any:
        nonlocal left
        result = original(*args, **more)
        left -= 1
        if left == 0:
            die()
        return result

    async def awaited(*args: Any, **more: Any) -> Any:
        nonlocal left
        result = await original(*args, **more)
        left -= 1
        if left == 0:
            die()
        return result

    setattr(owner, name, awaited if lasts else counted)


def at_event(wanted: str, before: bool) -> None:
    note = log.BatchLog.note

    def noted(self: Any, n: int, event: Any, **more: Any) -> Any:
        if before and event == wanted:
            die()
        note(self, n, event, **more)
        if event == wanted:
            die()

    log.BatchLog.note = noted  # type: ignore[method-assign]


def at_line(number: int) -> None:
    lines_of = transport.lines_of

    async def torn(response: Any) -> Any:
        left = number
        async for line in lines_of(response):
            yield line
            left -= 1
            if left == 0:
                die()

    transport.lines_of = torn


def at_write(number: int) -> None:
    module: Any = log
    append_lines = module.append_lines
    left = number

    def torn(path: Any, lines: Any) -> None:
        nonlocal left
        left -= 1
        if left:
            append_lines(path, lines)
            return
        data = b"".join(lines)
        with path.open("ab") as file:
            file.write(data[: len(data) // 2])
            file.flush()
            os.fsync(file.fileno())
        die()

    module.append_lines = torn


def arrange(point: str) -> None:
    kind, _, rest = point.partition(":")
    match kind:
        case "spool":
            at_call(log.NewPack, "add", int(rest))
        case "before" | "after":
            at_event(rest, kind == "before")
        case "line":
            at_line(int(rest))
        case "call":
            at_call(directory.RunDirectory, "record_call", int(rest), lasts=True)
        case "writing":
            at_write(int(rest))
        case _:
            raise SystemExit(f"no such point: {point}")


if __name__ == "__main__":
    arrange(sys.argv[1])
    run(sys.argv[2:])
