"""The recorded actions before a step: how many may be seen, and where they were done.

Some protocols tell where. A row holds its own boxes only, so the rows of the selected tasks are
read once more when the first step asks, those included that the run leaves out: what a model sees
of the history does not depend on the selection. The screenshots make that pass as long as reading
the data once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from harness.benchmarks import Dataset
from harness.pictures import PictureError, read_size
from harness.records import Earlier, Row
from parsers.seeclick import gold_box


@dataclass
class EarlierActions:
    """The actions of tasks by their place in the trajectory; `tasks` has every row of them."""

    tasks: Dataset
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: dict[tuple[str, str], dict[int, Earlier]] | None = None

    def before(self, row: Row) -> tuple[Earlier, ...]:
        """The actions before a row, in order; those of lost rows are missing.

        Raises `DataError` when a row of the tasks cannot be read.
        """
        with self._lock:
            if self._known is None:
                self._known = self._read()
        own = self._known.get((row.split, row.task_id), {})
        return tuple(own[index] for index in sorted(own) if index < row.index)

    def _read(self) -> dict[tuple[str, str], dict[int, Earlier]]:
        known: dict[tuple[str, str], dict[int, Earlier]] = {}
        for row in self.tasks.rows():
            known.setdefault((row.split, row.task_id), {})[row.index] = action_of(row)
        return known


def action_of(row: Row) -> Earlier:
    """What was recorded in a row, with the middle of its element in shares of the page."""
    box = gold_box(row.gold)
    point = None
    if box is not None and row.screenshot:
        try:
            page = read_size(row.screenshot)
        except PictureError:
            # Told for the step itself when it is asked about; here it only has no place.
            return Earlier(row.operation, row.value)
        x, y, width, height = box
        point = ((x + width / 2) / page.width, (y + height / 2) / page.height)
    return Earlier(row.operation, row.value, point)


def latest(history: tuple[str, ...], last: int | None) -> tuple[str, ...]:
    """The actions that may be seen: all, or the last ones. Policies see no more than models do."""
    return history if last is None else history[max(0, len(history) - last) :]
