"""Keys by which the rows of a table can be grouped.

Every key assigns each row of a run to exactly one group. Continuous quantities are binned into
fixed bands, so that tables of different runs have the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from harness.runs import StepRecord
    from parsers import Declaration
    from reports.frames.rows import RunRows

Key = Literal[
    "split",
    "website",
    "domain",
    "subdomain",
    "operation",
    "positives",
    "page_height",
    "target_top",
    "step_index",
    "distractors",
]
KEYS: tuple[Key, ...] = get_args(Key)

MEANINGS: dict[Key, str] = {
    "split": "the split",
    "website": "the website",
    "domain": "its domain",
    "subdomain": "its subdomain",
    "operation": "the recorded operation",
    "positives": "how many elements of the page are acceptable",
    "page_height": "height of the page in pixels",
    "target_top": "upper edge of the highest acceptable element, in pixels from the top",
    "step_index": "place of the step in its task, from 0",
    "distractors": "how many wrong elements were listed",
}
UNKNOWN = "unknown"
PAGE_HEIGHTS = (1000, 2000, 4000, 8000)
TARGET_TOPS = (720, 1440, 2880, 5760)
"""The first band is the first screen of a 1280 x 720 window; each further one doubles the depth."""
STEP_INDEXES = (*range(1, 10), 10, 15, 20)
POSITIVES = (1, 2, 3, 6)

Group = tuple[float, str]
"""A sort key and the name of the group."""


def groups(rows: RunRows, key: Key) -> list[Group]:
    """The group of every row of `rows.frame`, in the same order."""
    if any(group.name == key for group in rows.declared.groups):
        return [(0.0, unit.group(key)) for _, unit in rows.trials]
    return _NUMBERS[key](rows)


def whole_of(declared: Declaration, key: Key) -> str:
    """The outermost level of parents that groups by a key hold whole; "" if they split them all."""
    return next((group.whole for group in declared.groups if group.name == key), "")


def band(value: float | None, starts: Sequence[int]) -> Group:
    """The band of a number; `starts` are the lower bounds of all bands but the first.

    >>> band(1999, (1000, 2000)), band(2000, (1000, 2000)), band(3, (1, 2, 3))
    ((1000, '1000-1999'), (2000, '2000+'), (3, '3+'))
    >>> band(1, (1, 2, 5)), band(None, (1,))
    ((1, '1'), (inf, 'unknown'))
    """
    if value is None:
        return float("inf"), UNKNOWN
    edges = [0, *starts]
    place = max((p for p, edge in enumerate(edges) if edge <= value), default=0)
    low = edges[place]
    if place == len(edges) - 1:
        return low, f"{low}+"
    last = edges[place + 1] - 1
    return low, str(low) if last == low else f"{low}-{last}"


def target_top(record: StepRecord) -> float | None:
    """Top edge in pixels of the highest acceptable element with a non-empty box; None without."""
    boxes = [
        box for box in record.detail.gold.boxes if box is not None and box[2] > 0 and box[3] > 0
    ]
    return min((box[1] for box in boxes), default=None)


def _banded(column: str, starts: Sequence[int]) -> Callable[[RunRows], list[Group]]:
    def of(rows: RunRows) -> list[Group]:
        values = rows.frame[column].astype("object").tolist()
        return [band(v if isinstance(v, int) else None, starts) for v in values]

    return of


def _target_tops(rows: RunRows) -> list[Group]:
    tops = {(record.unit_id, record.repeat): target_top(record) for record in rows.run.records()}
    keys = zip(rows.frame["step_id"], rows.frame["repeat"], strict=True)
    return [band(tops.get((str(step), int(repeat))), TARGET_TOPS) for step, repeat in keys]


def _distractors(rows: RunRows) -> list[Group]:
    listed = rows.frame["choices"] - rows.frame["gold_shown"].notna().astype("Int64")
    return [(int(count), str(int(count))) for count in listed]


_NUMBERS: dict[str, Callable[[RunRows], list[Group]]] = {
    "positives": _banded("positives", POSITIVES),
    "page_height": _banded("page_height", PAGE_HEIGHTS),
    "target_top": _target_tops,
    "step_index": _banded("index", STEP_INDEXES),
    "distractors": _distractors,
}
