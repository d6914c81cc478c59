"""The columns of units in frames, by what a benchmark declares.

A column has the name of the level, group or measure. Where another column has that name, it says
what it holds of it: `task_id` is the id of the task, `gold_operation` the right operation, and
`element_correct` whether the predicted element is right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parsers.measure import PREDICTED, TAKEN

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
