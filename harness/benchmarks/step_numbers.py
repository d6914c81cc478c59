"""Step numbers for copies of the data set from before May 2024, which do not store them.

Such a row still holds the representations of all actions of its task and its own operation, and
the rows of a task stand in step order. So the numbers form an increasing sequence of places whose
representations end like the rows' operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unplaced:
    """What a row says about its place: the task's actions, its operation, and perhaps its action.

    `operations` are the recorded operation and what it was recorded as before mapping (HOVER and
    ENTER are stored as CLICK).
    """

    actions: tuple[str, ...]
    operations: tuple[str, ...]
    value: str
    action: str | None = None


def recover(rows: Sequence[Unplaced]) -> tuple[list[int], bool]:
    """The places of a task's rows (in file order), and whether no other places are possible.

    Where nothing fits, the rows count from 0 as they stand, which is not sure.

    >>> actions = ("[link]  A -> CLICK", "[box]  B -> TYPE: x", "[link]  C -> CLICK")
    >>> recover([Unplaced(actions, ("TYPE",), "x"), Unplaced(actions, ("CLICK",), "")])
    ([1, 2], True)
    """
    possible = [_possible(row) for row in rows]
    first = _increasing(possible)
    if first is None:
        return list(range(len(rows))), False
    mirrored = _increasing([[-place for place in reversed(p)] for p in reversed(possible)])
    last = [-place for place in reversed(mirrored or [])]
    return first, first == last


def _possible(row: Unplaced) -> list[int]:
    """The places whose representation may be this row's, ascending."""
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
    """The smallest strictly increasing choice of one place per row, None when there is none."""
    chosen: list[int] = []
    for places in possible:
        later = [place for place in places if not chosen or place > chosen[-1]]
        if not later:
            return None
        chosen.append(later[0])
    return chosen
