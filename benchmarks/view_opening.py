"""Time to open the page of a run as large as the benchmark in headless Chromium.

    python benchmarks/view_opening.py [--steps 6418] [--rounds 5]

A run of made-up steps is written, its page built without pictures, and the list of steps opened
from the file by a fresh browser context each time, until its rows are drawn. The slowest counts.
Exit status 1 from 2 s on.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from time import perf_counter

LIMIT_S = 2.0


def opening_times(folder: Path, rounds: int, program: str) -> list[float]:
    """Return seconds from the request for the page to the first rows, in separate contexts."""
    from playwright.sync_api import sync_playwright

    times = []
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=arguments)
        for _ in range(rounds):
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            tab = context.new_page()
            start = perf_counter()
            tab.goto(f"{folder.as_uri()}/index.html#/steps")
            tab.locator("#grid-space .row").first.wait_for()
            times.append(perf_counter() - start)
            context.close()
        browser.close()
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--steps", type=int, default=6418)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        print("Chromium was not found", file=sys.stderr)
        return 2
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.reports.view.pages import many, page

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = many(folder / "run", options.steps)
        start = perf_counter()
        page([run], folder / "view", pictures=False)
        built = perf_counter() - start
        times = opening_times(folder / "view", options.rounds, program)
    listed = ", ".join(f"{seconds:.2f}" for seconds in times)
    print(f"{options.steps:,} steps on {os.cpu_count()} cores: page built in {built:.1f} s,")
    print(f"opened in {listed} s (below {LIMIT_S} s wanted)")
    return 0 if max(times) < LIMIT_S else 1


if __name__ == "__main__":
    sys.exit(main())
