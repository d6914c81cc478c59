"""Speed-up of a run that gets its pictures from those that another run has kept on disk.

Rounds of the same screenshots, drawn pages of 3,000 to 7,400 rows: prepared by two processes
without a disk; prepared and kept; and found by a store of a later run. Their medians are compared.
The system has the files in memory by then, as for runs that follow each other.

    python benchmarks/shared_pictures.py --pictures 24 --rounds 5

Exit status 1 when finding is less than 10 times as fast as preparing, or keeping costs more than
15 % of it.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from harness.pictures import PicturePolicy, PictureStore
from harness.pictures.disk import DiskPictures

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.picture_preparation import distinct, drawn_pages, through_store

LEAST_FASTER = 10.0
MOST_SLOWER = 1.15


async def pass_of(
    sources: list[bytes], folder: Path | None, policy: PicturePolicy, workers: int
) -> float:
    """Seconds per picture."""
    disk = DiskPictures(folder, 10**11, print) if folder else None
    async with PictureStore(workers, disk=disk) as store:
        measure = through_store(store)
        if folder is None or not any(folder.iterdir()):
            # Processes are there before the clock starts.
            await measure(distinct(sources[:1], itertools.count(10**6), 2 * workers), policy, 8)
        measured = await measure(sources, policy, 8)
        return measured.seconds / measured.pictures


async def compare(options: argparse.Namespace) -> bool:
    """All three in turns; prints a line per round and the verdict."""
    policy = PicturePolicy.parse(options.policy)
    pages, serial = drawn_pages(6), itertools.count()
    plain, kept, found, size = [], [], [], 0
    for number in range(options.rounds):
        sources = distinct(pages, serial, options.pictures)
        folder = Path(tempfile.mkdtemp())
        try:
            plain.append(await pass_of(sources, None, policy, options.workers))
            kept.append(await pass_of(sources, folder, policy, options.workers))
            found.append(await pass_of(sources, folder, policy, options.workers))
            size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        finally:
            shutil.rmtree(folder)
        print(
            f"round {number + 1}: prepared {1e3 * plain[-1]:.1f} ms, and kept {1e3 * kept[-1]:.1f} "
            f"ms, found {1e3 * found[-1]:.2f} ms a picture",
            flush=True,
        )
    faster = statistics.median(plain) / statistics.median(found)
    slower = statistics.median(kept) / statistics.median(plain)
    mean = size / (options.pictures + 2 * options.workers)
    print(
        f"found {faster:.0f} times as fast as prepared (at least {LEAST_FASTER:g}); keeping takes "
        f"{slower:.2f} times as long (at most {MOST_SLOWER:g}); {mean / 1e3:.0f} kB a picture, "
        f"{options.workers} processes, policy {policy.text}"
    )
    return faster >= LEAST_FASTER and slower <= MOST_SLOWER


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pictures", type=int, default=24, help="screenshots per round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--policy", default="full")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(compare(arguments())) else 1)
