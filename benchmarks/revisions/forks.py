"""Carries out commands of a revision, each in a process that is forked from this one.

Run by the revision's interpreter: a job per line of standard input, its exit code per line of
standard output. What a command has imported is imported here afterwards, so that the next one
begins at once, with modules that nothing was done with yet.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import sys
import threading
import traceback
from typing import Any, NoReturn

MAIN = ("__main__", "__mp_main__")


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
    before = {*sys.modules, *MAIN}
    code: object = 0
    try:
        importlib.import_module("harness.__main__").main()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    names = [name for name in list(sys.modules) if name not in before]
    os.write(imported, "\n".join(names).encode()[:60_000])
    # What an interpreter does at its end, but for taking apart what all processes share.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


def main() -> None:
    for line in sys.stdin:
        job = json.loads(line)
        gc.collect()
        gc.freeze()
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
