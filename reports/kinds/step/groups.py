"""Groups of recorded steps, in addition to those that their benchmark declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.keys import INDEXES, Group, Key, band, banded

if TYPE_CHECKING:
    from harness.runs import StepUnit
    from reports.frames.rows import RunRows

PAGE_HEIGHTS = (1000, 2000, 4000, 8000)
TARGET_TOPS = (720, 1440, 2880, 5760)
"""The first band is the first screen of a 1280 x 720 window; each further one doubles the depth."""
POSITIVES = (1, 2, 3, 6)


def target_top(record: StepUnit) -> float | None:
    """Top edge in pixels of the highest acceptable element with a non-empty box; None without."""
    boxes = [
        box for box in record.detail.gold.boxes if box is not None and box[2] > 0 and box[3] > 0
    ]
    return min((box[1] for box in boxes), default=None)


def _target_tops(rows: RunRows) -> list[Group]:
    tops = {record.key: target_top(record) for record in rows.run.records()}
    keys = zip(rows.frame[rows.declared.id_column], rows.frame["repeat"], strict=True)
    return [band(tops.get((str(step), int(repeat))), TARGET_TOPS) for step, repeat in keys]


def _distractors(rows: RunRows) -> list[Group]:
    listed = rows.frame["choices"] - rows.frame["gold_shown"].notna().astype("Int64")
    return [(int(count), str(int(count))) for count in listed]


STEP_GROUPS = {
    "positives": Key(
        "how many elements of the page are acceptable", banded("positives", POSITIVES)
    ),
    "page_height": Key("height of the page in pixels", banded("page_height", PAGE_HEIGHTS)),
    "target_top": Key(
        "upper edge of the highest acceptable element, in pixels from the top", _target_tops
    ),
    "step_index": Key("place of the step in its task, from 0", banded("index", INDEXES)),
    "distractors": Key("how many wrong elements were listed", _distractors),
}
