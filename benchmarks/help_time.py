"""Time of `vlm-eval --help` and `vlm-eval run --help`, against the interpreter alone.

    python benchmarks/help_time.py

All are started in turns in one run; the medians count. Exit status 1 above 0.2 s.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

MOST_S = 0.2
HELP = {"vlm-eval --help": ["--help"], "vlm-eval run --help": ["run", "--help"]}


def seconds(command: Sequence[str]) -> float:
    """Wall time of a command, its output thrown away."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    script = Path(sys.executable).with_name("vlm-eval")
    ours = [str(script)] if script.exists() else [sys.executable, "-m", "harness"]
    commands = {name: [*ours, *arguments] for name, arguments in HELP.items()}
    commands["bare"] = [sys.executable, "-c", "pass"]
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(options.rounds):
        for name, command in commands.items():
            times[name].append(seconds(command))
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    for name in HELP:
        print(
            f"{name}: {medians[name]:.3f} s (at most {MOST_S} s), "
            f"{medians[name] / medians['bare']:.1f} times the {medians['bare']:.3f} s of the bare "
            "interpreter"
        )
    return 0 if max(medians[name] for name in HELP) <= MOST_S else 1


if __name__ == "__main__":
    sys.exit(main())
