"""Recover step numbers for copies of the data set from before May 2024.

A row without a number still holds its own operation and the representations of all actions of its
task, and the rows of a task are in step order. So the step numbers form an increasing sequence of
positions whose representations end with the rows' operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.runs.records import Unit


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


def fill_in(entries: list[Unit[Any]], hints: Mapping[int, Unplaced]) -> int:
    """Fill in the step numbers of entries with hints; return how many tasks were ambiguous.

    A task is recovered as a whole, because the order of its rows is part of the evidence.
    """
    tasks: dict[tuple[str, str], list[int]] = {}
    for position in hints:
        step = entries[position]
        tasks.setdefault((step.split, step.parents["task"]), []).append(position)
    unsure = 0
    for positions in tasks.values():
        indices, sure = recover([hints[position] for position in positions])
        unsure += not sure
        for position, index in zip(positions, indices, strict=True):
            entries[position] = replace(entries[position], position=index)
    return unsure


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
