"""Read step numbers, and recover them for copies of the data set from before May 2024.

A row without one still holds its own operation and the representations of all actions of its
task, and the rows of a task are in step order. So the step numbers form an increasing sequence of
positions whose representations end with the rows' operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import DataError


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A row without a step number, and what it says about its position.

    actions: the representations of all actions of the task.
    operations: the recorded operation, and its name before HOVER and ENTER were mapped to CLICK.
    value: the text typed or the option selected; "" if none.
    action: the representation of the row's own action, in copies that store it.
    """

    actions: tuple[str, ...]
    operations: tuple[str, ...]
    value: str
    action: str | None = None


def recover(rows: Sequence[Unplaced]) -> tuple[list[int], bool]:
    """Return the positions of a task's rows (in file order), and True if no others are possible.

    If no positions fit, the rows are numbered from 0 in file order, and the result is not certain.

    >>> actions = ("[link]  A -> CLICK", "[box]  B -> TYPE: x", "[link]  C -> CLICK")
    >>> recover([Unplaced(actions, ("TYPE",), "x"), Unplaced(actions, ("CLICK",), "")])
    ([1, 2], True)
    """
    possible = [_possible(row) for row in rows]
    first = _increasing(possible)
    if first is None:
        return list(range(len(rows))), False
    mirrored = _increasing([[-position for position in reversed(p)] for p in reversed(possible)])
    last = [-position for position in reversed(mirrored or [])]
    return first, first == last


def _possible(row: Unplaced) -> list[int]:
    """Return the positions whose representation could be this row's, ascending."""
    if row.action is not None:
        same = [i for i, action in enumerate(row.actions) if action == row.action]
        if same:
            return same
    endings = tuple(
        f" -> {operation}: {row.value}" if row.value else f" -> {operation}"
        for operation in row.operations
    )
    fitting = [i for i, action in enumerate(row.actions) if action.endswith(endings)]
    return fitting or list(range(len(row.actions)))


def _increasing(possible: Sequence[Sequence[int]]) -> list[int] | None:
    """Return the smallest strictly increasing choice of a position per row; None without one."""
    chosen: list[int] = []
    for positions in possible:
        later = [position for position in positions if not chosen or position > chosen[-1]]
        if not later:
            return None
        chosen.append(later[0])
    return chosen


_MOST_STEPS = 1_000_000
"""Longer than any trajectory; a larger number would not fit the tables of runs."""


def whole(text: object, column: str, where: str) -> int | None:
    """Read a step number stored as text ("10") or as a number; None if empty.

    Raises:
        DataError: the value is not a whole number from 0 to a million.
    """
    if text is None or text == "":
        return None
    try:
        number = int(str(text))
    except ValueError:
        number = -1
    if not 0 <= number <= _MOST_STEPS:
        raise DataError(f"{where}: column '{column}' is {text!r}, not a step number")
    return number
