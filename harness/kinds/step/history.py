"""The recorded actions before a step: how many a model may see, and where they took place.

Some protocols show where, or what was acted upon. A row holds the page and the boxes of its own
action only, so all rows of the selected tasks are read once more when the first step asks, also
rows that the run leaves out: the history that a model sees does not depend on the selection. The
screenshots make this pass as slow as reading the data once.

Others show the finished turns of a conversation. Their rows are read once more, too, a conversation
at a time, and their pages again whenever a protocol looks at one (`PastScene`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from harness.benchmarks import StepDataset, StoredStep
from harness.errors import DataError
from harness.kinds.step.scene import PastScene
from harness.page import Page, PageError
from harness.pictures import PictureError, read_size
from harness.records import SEGMENT_ID, Earlier, Row, SeenAction
from harness.runs.steps import turn_of
from parsers.records import StepInfo, Turn


@dataclass
class EarlierActions:
    """Recorded actions of whole tasks, by their position in the trajectory.

    tasks: every row of the tasks, selected or not.
    segments: whether to look up the elements on the pages as well.
    """

    tasks: StepDataset
    segments: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: dict[tuple[str, str], dict[int, Earlier]] | None = None

    def before(self, step: StepInfo) -> tuple[Earlier, ...]:
        """Return the actions before a step, in order, without those of rows that are missing from
        the data or cannot be decoded.

        Raises `DataError` when a file is damaged.
        """
        with self._lock:
            if self._known is None:
                self._known = self._read()
        actions = self._known.get((step.split, step.task_id), {})
        return tuple(actions[index] for index in sorted(actions) if index < step.index)

    def _read(self) -> dict[tuple[str, str], dict[int, Earlier]]:
        known: dict[tuple[str, str], dict[int, Earlier]] = {}
        for entry, row in self.tasks.decoded():
            if isinstance(row, DataError):
                # Reported when the step itself is asked about.
                continue
            action = action_of(row)
            if self.segments:
                action = replace(action, segment=segment_of(row))
            known.setdefault((entry.split, entry.parents["task"]), {})[entry.position] = action
        return known


Offered = tuple[tuple[str, ...], tuple[tuple[str, int | None], ...], tuple[str, ...]]
"""Acceptable elements, candidates and all elements of a row, as in `SeenAction`."""
_CONVERSATIONS = 2
"""Number of conversations to keep; steps are read in the order of the data."""


@dataclass
class FinishedTurns:
    """The finished turns of conversations, without their pages.

    steps: every row of the conversations, selected or not.
    offered: the candidates of a row. Raises `DataError`.
    """

    steps: StepDataset
    offered: Callable[[Row], Offered]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: OrderedDict[tuple[str, str], list[Turn[SeenAction]]] = field(
        default_factory=OrderedDict
    )

    def before(self, step: StepInfo) -> tuple[Turn[SeenAction], ...]:
        """Return the turns before a step's, in order; without the actions of rows that are missing
        from the data or cannot be decoded, and without turns in which nothing is left.

        Raises `DataError` when a file is damaged.
        """
        number = step.turn
        if not number:
            return ()
        name = step.split, step.conversation
        with self._lock:
            turns = self._known.setdefault(name, [])
            self._known.move_to_end(name)
            while len(self._known) > _CONVERSATIONS:
                self._known.popitem(last=False)
            finished = [
                turn for turn in self._turns.get(name, ()) if (turn_of(turn[0]) or 0) < number
            ]
            turns += map(self._read, finished[len(turns) :])
            return tuple(turn for turn in turns[: len(finished)] if turn.actions)

    @cached_property
    def _turns(self) -> Mapping[tuple[str, str], list[list[StoredStep]]]:
        """The entries of every turn, by split and conversation."""
        turns: dict[tuple[str, str], dict[int, list[StoredStep]]] = {}
        for entry in self._texts.entries:
            of_turn = turns.setdefault((entry.split, entry.parents.get("conversation", "")), {})
            of_turn.setdefault(turn_of(entry) or 0, []).append(entry)
        return {name: [found[turn] for turn in sorted(found)] for name, found in turns.items()}

    @cached_property
    def _texts(self) -> StepDataset:
        return self.steps.unpictured

    def _read(self, entries: list[StoredStep]) -> Turn[SeenAction]:
        task, actions = "", []
        for entry, row in replace(self._texts, entries=tuple(entries)).decoded():
            if isinstance(row, DataError):
                # Reported when the step itself is asked about.
                continue
            task = row.goal
            positives, candidates, elements = self.offered(row)
            actions.append(
                SeenAction(
                    index=entry.position,
                    action_uid=entry.detail.action_uid,
                    told=row.detail.told,
                    operation=row.detail.operation,
                    value=row.detail.value,
                    positives=positives,
                    candidates=candidates,
                    elements=elements,
                    scene=PastScene(partial(self._page, entry.unit_id)),
                )
            )
        return Turn(entries[0].parents["task"], task, tuple(actions))

    def _page(self, step_id: str) -> str:
        return self._texts.row(step_id).detail.html


def entries_before(selected: Iterable[StoredStep], whole: Iterable[StoredStep]) -> list[StoredStep]:
    """The rows of `whole` that are in turns before a selected one of their conversation."""
    last: dict[tuple[str, str], int] = {}
    for entry in selected:
        key = entry.split, entry.parents.get("conversation", "")
        last[key] = max(last.get(key, 0), turn_of(entry) or 0)
    return [
        one
        for one in whole
        if (turn_of(one) or 0) < last.get((one.split, one.parents.get("conversation", "")), 0)
    ]


def action_of(row: Row) -> Earlier:
    """Return the action of a row, with the centre of its element as shares of the page's size."""
    box = row.detail.gold.box
    point = None
    if box is not None and row.detail.screenshot:
        try:
            page = read_size(row.detail.screenshot)
        except PictureError:
            # Reported when the step itself is asked about; here it only lacks a point.
            return Earlier(row.detail.operation, row.detail.value, index=row.position)
        x, y, width, height = box
        point = ((x + width / 2) / page.width, (y + height / 2) / page.height)
    return Earlier(row.detail.operation, row.detail.value, point, row.position)


def segment_of(row: Row) -> str:
    """Return the element of a row's action with what is around it, "" if it is not on the page."""
    gold = row.detail.gold
    try:
        page = Page.parse(row.detail.html)
    except PageError:
        return ""  # Reported when the step itself is asked about.
    wanted = (gold.original, *gold.elements)
    found = next((one for one in wanted if one and page.elements([one])), None)
    return "" if found is None else page.segment(found, {found: SEGMENT_ID})
