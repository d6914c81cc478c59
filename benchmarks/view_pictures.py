"""Time to write a page with pictures, against decoding, resizing and encoding alone.

    python benchmarks/view_pictures.py [--rows 200] [--image-policy candidates]

Every row has a different page and screenshot (see `whole_run.py`). The baseline makes the same
pictures from the same bytes in as many threads, and does nothing else. The estimate for a whole
benchmark is in proportion to its rows. Exit status 1 below 75 % of the baseline.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.whole_run import run_rate, written
from harness.planning.plan import plan_run
from harness.runs import open_run
from harness.settings import Settings
from reports.view.parts import UnitPart
from reports.view.pictures import wanted_of, write_files
from reports.view.write import RunsPage

LEAST_SHARE = 0.75
WHOLE = 6_418


def seconds_of_page(run: Path, out: Path, *, pictures: bool) -> float:
    start = time.perf_counter()
    RunsPage([run], out, pictures=pictures).write()
    return time.perf_counter() - start


def seconds_alone(run: Path, data: Path, folder: Path) -> float:
    """Making all pictures from bytes that are in memory already."""
    folder.mkdir()
    table = pq.read_table(data, columns=["action_uid", "screenshot"]).to_pylist()
    sources = {row["action_uid"]: row["screenshot"]["bytes"] for row in table}
    records = open_run(run).records()
    jobs = [
        (sources[record.detail.action_uid], wanted_of(record, UnitPart(), ())) for record in records
    ]
    start = time.perf_counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: write_files(job[0], job[1], folder, None), jobs))
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--image-policy", default="candidates")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "rows.parquet"
        source = written(data, options.rows, 0, pictures=True)
        settings = Settings(
            model="always-click",
            data=str(data),
            benchmark_option=(("image_policy", options.image_policy),),
            out=str(folder / "run"),
            preflight=False,
        )
        run_rate(plan_run(settings))
        without = seconds_of_page(folder / "run", folder / "without", pictures=False)
        whole = seconds_of_page(folder / "run", folder / "page", pictures=True)
        alone = seconds_alone(folder / "run", data, folder / "alone")
        size = sum(file.stat().st_size for file in (folder / "page" / "pictures").iterdir())
    share = alone / (whole - without)
    print(f"{options.rows} steps from {source}, {os.cpu_count()} cores")
    print(
        f"page without pictures {without:.1f} s, with pictures {whole:.1f} s ({size / 1e6:.0f} MB)"
    )
    print(f"the pictures alone {alone:.1f} s: {share:.0%} (at least {LEAST_SHARE:.0%})")
    minutes = (whole - without) / options.rows * WHOLE / 60
    print(f"in proportion, the pictures of {WHOLE:,} steps take {minutes:.0f} minutes")
    return 0 if share >= LEAST_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
