"""Runs a program that dies, for real, in the middle of writing a line of a run.

python tear.py N PROGRAM ARGUMENTS...   where PROGRAM is a file, or `-m` and a module

At the N-th write to a run directory half of the last line is written and the process kills itself.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys

from harness.runs import journal


def tear_at(number: int) -> None:
    write_all = journal.write_all
    left = number

    def torn(handle: int, data: bytes) -> None:
        nonlocal left
        left -= 1
        if left > 0:
            write_all(handle, data)
            return
        start = data.rfind(b"\n", 0, len(data) - 1) + 1
        write_all(handle, data[: start + (len(data) - start) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    journal.write_all = torn


if __name__ == "__main__":
    tear_at(int(sys.argv[1]))
    sys.argv = sys.argv[2:]
    if sys.argv[0] == "-m":
        sys.argv = sys.argv[1:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")
