"""The columns that frames have for recorded steps: page, target, choices and answer."""

from __future__ import annotations

from operator import attrgetter

from harness.runs import StepUnit
from reports.frames.units import Getter, KindColumns, UnitColumn, predicted, unit_column


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
    parts={"page_width": ("page_size", 0), "page_height": ("page_size", 1)},
    digest=("html_digest", "page"),
)
