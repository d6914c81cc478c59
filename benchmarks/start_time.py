"""Time of the shortest run, against the packages that every run has to import.

    python benchmarks/start_time.py

One task of the sample by the policy `random`, from the command to its exit, in turns with an
interpreter that imports click, lxml, msgspec and pyarrow and does nothing. Printed are medians of
the processor's time, which depends little on what else the machine does, and of wall time. Exit
status 1 above 0.9 s on the wall.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST_S = 0.9
RUN = ["run", "--model", "random", "--benchmark", "sample", "--limit", "1", "--progress", "off"]
IMPORTS = "import click, lxml.etree, msgspec, pyarrow.parquet"


def taken(command: list[str], folder: Path) -> tuple[float, float]:
    """Processor's time and wall time of a command, in seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    runs, bare = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(options.rounds):
            bare.append(taken([sys.executable, "-c", IMPORTS], folder))
            command = [
                sys.executable,
                "-m",
                "harness",
                *RUN,
                "--out",
                str(folder / f"run-{number}"),
            ]
            runs.append(taken(command, folder))
    (run_cpu, run_s), (bare_cpu, bare_s) = (
        [statistics.median(column) for column in zip(*times, strict=True)] for times in (runs, bare)
    )
    print(
        f"a run of one task: {run_s:.2f} s (at most {MOST_S} s), processor {run_cpu:.2f} s; "
        f"imports alone: {bare_s:.2f} s, processor {bare_cpu:.2f} s; "
        f"ratio of the processor's time {run_cpu / bare_cpu:.1f}"
    )
    return 0 if run_s <= MOST_S else 1


if __name__ == "__main__":
    sys.exit(main())
