"""Build the files of the sample, and compare a rebuild with the shipped files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from harness.sample import columns
from harness.sample.browser import launch
from harness.sample.columns import Row
from harness.sample.counts import decoys
from harness.sample.recorder import record
from harness.sample.trajectories import Task

_Column = Literal[
    "annotation_id",
    "confirmed_task",
    "website",
    "domain",
    "subdomain",
    "operation",
    "action_reprs",
    "target_action_index",
    "target_action_reprs",
    "cleaned_html",
    "raw_html",
]
_EXACT: tuple[_Column, ...] = get_args(_Column)
_CANDIDATES: tuple[Literal["pos_candidates", "neg_candidates"], ...] = (
    "pos_candidates",
    "neg_candidates",
)


def _quiet(line: str) -> None:
    return None


def rows_of(
    tasks: Iterable[Task],
    browser: Path | None = None,
    on_progress: Callable[[str], None] = _quiet,
) -> dict[str, list[Row]]:
    """Record tasks and return their rows by split; `on_progress` gets one line per task."""
    rows: dict[str, list[Row]] = {}
    with launch(browser) as started:
        for task in tasks:
            steps = list(record(started, task))
            rows.setdefault(task.site.split, []).extend(columns.rows(steps))
            decoyed = sum(bool(decoys(step.root, step.target)) for step in steps)
            on_progress(f"{task.site.site}/{task.name}: {len(steps)} steps, {decoyed} with a decoy")
    return rows


def build(
    tasks: Iterable[Task],
    out: Path,
    browser: Path | None = None,
    on_progress: Callable[[str], None] = _quiet,
) -> list[Path]:
    """Record tasks and write one file per split into the folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for split, content in rows_of(tasks, browser, on_progress).items():
        path = out / f"{split}.parquet"
        columns.write(path, content)
        written.append(path)
    return written


class Comparison(NamedTuple):
    """The result of comparing two builds.

    differences: one line each.
    moved: number of rows whose candidates differ, if only in their boxes. Boxes vary by fractions
        of a pixel with the fonts of the machine, so they are counted separately.
    """

    differences: list[str]
    moved: int


def compare(shipped: Sequence[Row], rebuilt: Sequence[Row]) -> Comparison:
    """Compare rows in order, column by column; screenshots are ignored."""
    differences = []
    if [row["action_uid"] for row in shipped] != [row["action_uid"] for row in rebuilt]:
        differences.append(f"steps: {len(shipped)} shipped, {len(rebuilt)} rebuilt, or their order")
    others = {row["action_uid"]: row for row in rebuilt}
    moved = 0
    for row in shipped:
        if (other := others.get(row["action_uid"])) is None:
            continue
        differences += [f"{_place(row)}: {column}" for column in _differing(row, other)]
        moved += any(row[column] != other[column] for column in _CANDIDATES)
    return Comparison(differences, moved)


def _differing(row: Row, other: Row) -> Iterator[str]:
    for column in _EXACT:
        if row[column] != other[column]:
            yield column
    for entry in _CANDIDATES:
        if [_placeless(text) for text in row[entry]] != [_placeless(text) for text in other[entry]]:
            yield entry


def _place(row: Row) -> str:
    return f"{row['website']}, “{row['confirmed_task'][:40]}…”, step {row['target_action_index']}"


def _placeless(text: str) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(text)
    attributes = json.loads(entry["attributes"])
    attributes.pop("bounding_box_rect")
    return {**entry, "attributes": attributes}
