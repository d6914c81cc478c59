"""The names of measures in tables and frames of results, in exports and in published rows.

Columns of frames have the name of the level, group or measure. Where another column has that name,
it says what it holds of it: `task_id` is the id of the task, `gold_operation` the right operation,
and `element_correct` whether the predicted element is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.tables.results import average_of, coverage
from parsers import Declaration, Measure
from parsers.measure import PREDICTED, TAKEN, Average

if TYPE_CHECKING:
    from parsers.declaration import Declaration, Group, Level


def id_column(declared: Declaration) -> str:
    """Return the column with the ids of units."""
    return f"{declared.unit}_id"


def total_column(declared: Declaration) -> str:
    """Return the column with the number of units that the innermost parent has in all."""
    return f"total_{declared.units}"


def level_column(level: Level) -> str:
    """Return the column with the parents of a level."""
    return f"{level.one}_id" if level.name in TAKEN else level.name


def group_column(group: Group, declared: Declaration) -> str:
    """Return the column with the groups of a key."""
    for level in declared.levels:
        if level.name == group.name:
            return level_column(level)
    return f"gold_{group.name}" if group.name in PREDICTED else group.name


def score_column(name: str) -> str:
    """Return the column with the scores of a measure."""
    return f"{name}_correct" if name in PREDICTED else name


NAMES: Mapping[tuple[str, str], str] = {
    ("step", "success"): "step_success",  # next to `task_success`
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
