"""Reports of recorded steps, whose target is one of the listed choices."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from harness.runs import StepUnit
from reports.frames.units import Getter, KindColumns, UnitColumn, predicted, unit_column
from reports.keys import INDEXES, Group, Key, band, banded
from reports.kind import KindReports
from reports.names import id_column

if TYPE_CHECKING:
    from reports.frames.rows import RunRows


def _digest(name: str) -> Getter:
    return lambda record: record.digests.get(name)


def _size(place: int) -> Getter:
    return lambda record: record.detail.page_size[place] if record.detail.page_size else None


def _detail(name: str) -> str:
    return f"detail.{name}"


def _said(name: str) -> Getter:
    return predicted(attrgetter(name))


def _listing(record: StepUnit) -> str:
    detail = record.detail
    return "\n".join(
        f"{'*' if detail.accepts(choice) else ' '}{choice.letter} <{choice.tag}> {choice.text}"
        for choice in detail.choices
    )


def _counted(name: str, meaning: str) -> UnitColumn:
    return unit_column(name, "Int64", meaning, _detail(name))


STEP_COLUMNS = KindColumns(
    identity=(
        unit_column("action_uid", "str", "the action of the data set", _detail("action_uid")),
    ),
    detail=(
        unit_column("html_digest", "str", "digest of the page", _digest("html")),
        unit_column(
            "screenshot_digest",
            "str",
            "digest of the screenshot; missing without one",
            _digest("screenshot"),
        ),
        unit_column("page_width", "Int64", "in pixels", _size(0)),
        unit_column("page_height", "Int64", "in pixels", _size(1)),
        _counted("positives", "acceptable elements of the row"),
        _counted("negatives", "other candidates of the row"),
        unit_column(
            "gold_operation", "category", "the recorded operation", _detail("gold.operation")
        ),
        unit_column("gold_shown", "str", "the positive among the choices", _detail("gold.shown")),
        unit_column(
            "choices",
            "Int64",
            "number of listed choices",
            lambda record: len(record.detail.choices),
        ),
        unit_column("none_letter", "category", "letter of 'none of these'", _detail("none_letter")),
        _counted("same_text", "negatives with the same text as the shown positive"),
        _counted("related", "negatives that contain it or lie inside it"),
        unit_column("short", "boolean", "fewer negatives than asked for", _detail("short")),
    ),
    outcome=(
        unit_column("letter", "category", "the chosen letter", _said("letter")),
        unit_column("element", "str", "the chosen element", _said("element")),
        unit_column("operation", "category", "the predicted operation", _said("operation")),
        unit_column("value", "str", "its value", _said("value")),
    ),
    texts=(
        unit_column("task", "str", "the goal in words", "goal"),
        unit_column(
            "history",
            "str",
            "actions so far, one a line",
            lambda record: "\n".join(record.detail.history),
        ),
        unit_column("gold_value", "str", "the recorded value", _detail("gold.value")),
        unit_column(
            "listing",
            "str",
            "the choices as letter, tag and text, one a line; * marks the right ones",
            _listing,
        ),
    ),
    digest=("html_digest", "page"),
)


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
    keys = zip(rows.frame[id_column(rows.declared)], rows.frame["repeat"], strict=True)
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


def target_place(record: StepUnit) -> tuple[float, str]:
    """Return the band of the upper edge of its target, as a number to sort by and in words."""
    start, name = band(target_top(record), TARGET_TOPS)
    return start, f"target at {name} px"


STEP_REPORTS = KindReports(
    errors="reports.kinds.step.errors:STEP_ERRORS",
    analyses=("ceiling", "distractors", "positions"),
    published_keys="reports.published.keys:candidate_keys",
    place=target_place,
    page="reports.kinds.step.page:STEP_PAGE",
    columns=STEP_COLUMNS,
    groups=STEP_GROUPS,
    status_note="An unreadable element counts as wrong; its operation still scores if it can be "
    "read.",
)
