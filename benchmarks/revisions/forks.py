"""Carries out commands of a revision, each in a process that is forked from this one.

Run by the revision's interpreter: a job per line of standard input, its exit code per line of
standard output. What a command imported from other packages is imported here afterwards, so that
the next one begins at once. Every command imports the revision itself anew; this module imports
nothing of it.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any, NoReturn

OWN = frozenset({"adapters", "harness", "parsers", "reports", "__main__", "__mp_main__"})


def carry_out(job: dict[str, Any], imported: int) -> NoReturn:
    """The command, in the forked process; names of modules that it imported go to `imported`."""
    files = [os.open(os.devnull, os.O_RDONLY)]
    files += [os.open(job[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for name in ("out", "err")]
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.chdir(job["folder"])
    os.environ.clear()
    os.environ.update(job["environment"])
    sys.argv = ["harness", *job["arguments"]]
    before = set(sys.modules)
    try:
        importlib.import_module("harness.__main__").main()
        raise SystemExit(0)
    finally:
        names = [name for name in list(sys.modules) if name not in before]
        others = [name for name in names if name.partition(".")[0] not in OWN]
        os.write(imported, "\n".join(others).encode()[:60_000])


def main() -> None:
    for line in sys.stdin:
        job = json.loads(line)
        told, tell = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(told)
            carry_out(job, tell)
        os.close(tell)
        _, status = os.waitpid(process, 0)
        with os.fdopen(told, encoding="utf-8") as file:  # no more than the pipe holds was written
            names = file.read().splitlines()
        print(json.dumps(os.waitstatus_to_exitcode(status)), flush=True)
        for name in names:
            try:
                importlib.import_module(name)
            except Exception:  # of a package that is complete only after another one
                continue


if __name__ == "__main__":
    main()
