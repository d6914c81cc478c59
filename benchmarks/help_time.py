"""How long `vlm-eval --help` takes, against the start of the interpreter alone.

    python benchmarks/help_time.py

Both are started in turns in one run; the medians count. Exit status 1 above 0.2 s.
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
    bare = [sys.executable, "-c", "pass"]
    times: dict[str, list[float]] = {"ours": [], "bare": []}
    for _ in range(options.rounds):
        times["bare"].append(seconds(bare))
        times["ours"].append(seconds([*ours, "--help"]))
    help_s, bare_s = (statistics.median(times[name]) for name in ("ours", "bare"))
    print(
        f"vlm-eval --help: {help_s:.3f} s (at most {MOST_S} s), "
        f"{help_s / bare_s:.1f} times the {bare_s:.3f} s of the bare interpreter"
    )
    return 0 if help_s <= MOST_S else 1


if __name__ == "__main__":
    sys.exit(main())
