"""The names of measures in tables and frames of results, in exports and in published rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.tables.results import average_of, coverage
from parsers import Declaration, Measure
from parsers.declaration import Average

NAMES: Mapping[tuple[str, str], str] = {
    ("step", "success"): "step_success",  # beside `task_success`
    ("question", "f1"): "answer_f1",  # a setting is named f1
}
"""By kind of units and name of a measure; others have their own name."""


def name_of(measure: Measure, declared: Declaration) -> str:
    """Return the name of a measure in results."""
    plain = NAMES.get((declared.kind, measure.plain), measure.plain)
    return f"{plain}.{measure.rule}" if measure.rule else plain


def measured_name(measure: Measure, declared: Declaration) -> str:
    """Return the column that says how many units have a score of a measure."""
    return f"{name_of(measure, declared)}_measured"


def main_column(declared: Declaration, average: Average) -> str:
    """Return the column of the main measure in a line of results."""
    main = declared.main
    name = name_of(main, declared)
    return name if main.all_of else f"{name}_{average_of(main, average)}"


def partly_measured(records: Sequence[Mapping[Any, Any]], declared: Declaration) -> list[Measure]:
    """Return the measures that are not over all units on some of these lines."""
    return [
        measure
        for measure in declared.in_tables
        for name in [measured_name(measure, declared)]
        if any(coverage(record.get(name), record.get(declared.units)) for record in records)
    ]
