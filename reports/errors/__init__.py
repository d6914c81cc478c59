"""Error analysis: one class for every unit, and labels given by people.

    from reports.errors import classify_run, errors_table, merge_into, read_labels
    classify_run(open_run(Path("runs/a")))        # a UnitError per row
    merge_into(steps_frame("runs/a"), "runs/a")   # error_class, error_detail, human_label

`classes` has the classes of any unit, and `classifying` the base class for kinds with their own
classes (`reports.kinds.step.errors` has those of recorded steps). `labels` has the labels, kept in
`labels.jsonl` in the run's directory. Importing this package loads none of its modules, because the
command line imports it to print its help.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reports.errors.classes import ClassInfo
    from reports.errors.classifying import UnitError, UnitErrors, classes_of, classify_run
    from reports.errors.frame import ERROR_COLUMNS, errors_frame, merge_into
    from reports.errors.labels import (
        DEFAULT_LABELS,
        LABELS_FILE,
        Label,
        LabelError,
        Labels,
        add_labels,
        export_labels,
        import_labels,
        read_labels,
    )
    from reports.errors.table import errors_table

_HOMES = {
    "ClassInfo": "reports.errors.classes",
    "UnitError": "reports.errors.classifying",
    "UnitErrors": "reports.errors.classifying",
    "classes_of": "reports.errors.classifying",
    "classify_run": "reports.errors.classifying",
    "DEFAULT_LABELS": "reports.errors.labels",
    "LABELS_FILE": "reports.errors.labels",
    "Label": "reports.errors.labels",
    "LabelError": "reports.errors.labels",
    "Labels": "reports.errors.labels",
    "add_labels": "reports.errors.labels",
    "export_labels": "reports.errors.labels",
    "import_labels": "reports.errors.labels",
    "read_labels": "reports.errors.labels",
    "ERROR_COLUMNS": "reports.errors.frame",
    "errors_frame": "reports.errors.frame",
    "errors_table": "reports.errors.table",
    "merge_into": "reports.errors.frame",
}

__all__ = [
    "DEFAULT_LABELS",
    "ERROR_COLUMNS",
    "LABELS_FILE",
    "ClassInfo",
    "Label",
    "LabelError",
    "Labels",
    "UnitError",
    "UnitErrors",
    "add_labels",
    "classes_of",
    "classify_run",
    "errors_frame",
    "errors_table",
    "export_labels",
    "import_labels",
    "merge_into",
    "read_labels",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'reports.errors' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
