"""Time to load runs into a frame: `reports.steps_frame` against a bare read by pyarrow.

    python benchmarks/frames_loading.py --runs 20 --steps 6418

Writes one complete run as the harness would, copies it, and reads all copies both ways, one after
the other and several times over; a busy machine then slows both. The bare read is
`pyarrow.parquet.read_table(...).to_pandas()` of the same files, without types, checks or settings.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from adapters.conversation import Usage
from harness.runs import RunDirectory, Setup, StepUnit
from parsers.mind2web import MIND2WEB
from parsers.records import Choice, Gold, Prediction, Status
from tests.units import step_of

CHOICES = tuple(
    Choice(chr(65 + place), str(place), "a", f"<a id={place}> Link") for place in range(21)
)


def step(number: int) -> StepUnit:
    """A step of a made-up task of six steps; two of five steps are right."""
    task, index = divmod(number, 6)
    right = number % 5 < 2
    letter = "E" if right else "B"
    return step_of(
        step_id=f"task-{task:05d}-of-the-test-splits_action-{number:06d}-of-all",
        repeat=0,
        task_id=f"task-{task:05d}-of-the-test-splits",
        action_uid=f"action-{number:06d}-of-all",
        index=index,
        total_steps=6,
        benchmark="synthetic",
        split=("test_task", "test_website", "test_domain")[task % 3],
        website=f"site-{task % 60}",
        domain=f"domain-{task % 5}",
        subdomain=f"subdomain-{task % 30}",
        task="Find it.",
        history=(),
        invalid="no_positive" if number % 19 == 0 else None,
        asked=True,
        settled=True,
        error=None,
        source=f"test-0000{task % 4}.parquet, row {number}",
        html_digest=f"{number:064x}",
        screenshot_digest=f"{number + 1:064x}",
        page_size=(1280, 720 + number % 4000),
        pictures=(),
        positives=1,
        negatives=468,
        gold=Gold("CLICK", "", ("4",), ((10.0, 20.0, 30.0, 40.0),), "4"),
        choices=CHOICES,
        none_letter="V",
        same_text=0,
        related=0,
        short=False,
        prompt_tokens=900,
        calls=("round-1", "round-2"),
        prediction=Prediction.of(Status.ANSWERED, letter, "4" if right else "1", None, "CLICK", ""),
        scores={
            **dict.fromkeys(MIND2WEB.scores, 1.0),
            **dict.fromkeys(("element", "success"), float(right)),
        },
        usage=Usage(1800, output=120),
        cost=0.0061,
    )


def write_runs(folder: Path, runs: int, steps: int) -> list[Path]:
    """Equal runs of so many steps; only their names differ."""
    first = folder / "run-00"
    setup = Setup(
        declaration=MIND2WEB,
        config={"benchmark": "synthetic"},
        model={"name": "m"},
        dataset={"rows": steps},
    )
    with RunDirectory.start(first, replace(setup, seed=1)) as run:
        for number in range(steps):
            run.append_step(step(number))
        run.finish({}, complete=True)
    copies = [folder / f"run-{number:02d}" for number in range(1, runs)]
    for copy in copies:
        shutil.copytree(first, copy)
    return [first, *copies]


def bare(paths: Sequence[Path]) -> int:
    import pyarrow.parquet as pq

    return sum(len(pq.read_table(path / "steps.parquet").to_pandas()) for path in paths)


def ours(paths: Sequence[Path]) -> int:
    from reports import steps_frame

    return len(steps_frame(paths))


def seconds(read: Callable[[Sequence[Path]], int], paths: Sequence[Path], rows: int) -> float:
    started = time.perf_counter()
    assert read(paths) == rows
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=6418)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = write_runs(Path(folder), given.runs, given.steps)
        rows = given.runs * given.steps
        bare(paths[:1]), ours(paths[:1])  # imports and the disk cache
        pairs = [
            (seconds(bare, paths, rows), seconds(ours, paths, rows)) for _ in range(given.rounds)
        ]
    print(f"{given.runs} runs of {given.steps:,} steps, {rows:,} rows, {given.rounds} rounds")
    for name, place in (("pyarrow, bare", 0), ("steps_frame", 1)):
        taken = [pair[place] for pair in pairs]
        print(f"{name:14} median {statistics.median(taken):.2f} s, best {min(taken):.2f} s")
    ratio = statistics.median(ours / bare for bare, ours in pairs)
    print(f"ratio          {ratio:.2f} (median of rounds)")


if __name__ == "__main__":
    main()
