"""The recorded steps before a step: their actions, where they took place, their screenshots.

A row holds the page and the boxes of its own action only, so all rows of the selected tasks are
read once more when the first step asks, also rows that the run leaves out: the history that a model
sees does not depend on the selection. The screenshots make this pass as slow as reading the data
once; those of the last rows are kept in memory, as many as a model is shown.

Others show the finished turns of a conversation. Their rows are read once more, too, a conversation
at a time, and their pages again whenever a protocol looks at one (`PastScene`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from adapters.conversation import Picture
from harness.benchmarks.index import StoredStep
from harness.benchmarks.recorded import StepDataset
from harness.benchmarks.step.scene import PageScene, TextScene
from harness.errors import DataError
from harness.options import History
from harness.page import Brackets, Page, PageError, Style
from harness.pictures import PictureError, PicturePolicy, Screenshot, read_size
from harness.records import SEGMENT_ID, Earlier, Listing, Row, SeenAction
from harness.runs.steps import turn_of
from parsers.records import StepInfo, Turn

if TYPE_CHECKING:
    from harness.benchmarks.replies import PastReplies


Planned = Callable[[Screenshot], tuple[Picture, ...]]


@dataclass
class EarlierSteps:
    """The steps of whole tasks, by their position in the trajectory.

    tasks: every row of the tasks, selected or not.
    segments: whether to look up the elements on the pages as well.
    plan: the pictures of a screenshot; None if none are shown.
    memory: what is shown of earlier steps.
    replies: the replies of another run, which then represent what was recorded.
    """

    tasks: StepDataset
    segments: bool = False
    plan: Planned | None = None
    memory: History = field(default_factory=History)
    replies: PastReplies | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: dict[tuple[str, str], dict[int, tuple[str, Earlier]]] | None = None
    _screenshots: OrderedDict[str, bytes | None] = field(default_factory=OrderedDict)

    def before(self, step: StepInfo) -> tuple[Earlier, ...]:
        """Return the steps before a step, in order, without those of rows that are missing from
        the data or cannot be decoded.

        Raises `DataError` when a file is damaged.
        """
        before = self._before(step)
        if self.replies is None:
            return tuple(one for _, one in before)
        return tuple(self.replies.instead(unit_id, one) for unit_id, one in before)

    def sources(self, step: StepInfo) -> dict[str, bytes]:
        """Return the screenshots of the earlier steps whose pictures are shown, by digest."""
        before = self._before(step)
        _, pictured = self.memory.of(len(before))
        found: dict[str, bytes] = {}
        for unit_id, earlier in before[len(before) - pictured :]:
            data = self._screenshot(unit_id) if earlier.pictures else None
            if data is not None:
                found[earlier.pictures[0].digest] = data
        return found

    def seen(self, row: Row) -> None:
        """Keep the screenshot of a row, for the steps after it."""
        if self.plan is not None:
            self._keep(row.unit_id, row.detail.screenshot)

    def _before(self, step: StepInfo) -> list[tuple[str, Earlier]]:
        with self._lock:
            if self._known is None:
                self._known = self._read()
        steps = self._known.get((step.split, step.task_id), {})
        return [steps[index] for index in sorted(steps) if index < step.index]

    def _screenshot(self, unit_id: str) -> bytes | None:
        if unit_id not in self._screenshots:
            self._keep(unit_id, self.tasks.row(unit_id).detail.screenshot)
        return self._screenshots[unit_id]

    def _keep(self, unit_id: str, screenshot: bytes | None) -> None:
        self._screenshots[unit_id] = screenshot
        self._screenshots.move_to_end(unit_id)
        while len(self._screenshots) > self.memory.pictures[1]:
            self._screenshots.popitem(last=False)

    def _read(self) -> dict[tuple[str, str], dict[int, tuple[str, Earlier]]]:
        known: dict[tuple[str, str], dict[int, tuple[str, Earlier]]] = {}
        texts = self.tasks.unpictured
        for entry, row in self.tasks.decoded():
            if isinstance(row, DataError):
                # Reported when the step itself is asked about.
                continue
            scene = PastScene(partial(_page, texts, entry.unit_id))
            earlier = replace(earlier_of(row, self.plan), scene=scene)
            if self.segments:
                earlier = replace(earlier, segment=segment_of(row))
            task = known.setdefault((entry.split, entry.parents["task"]), {})
            task[entry.position] = entry.unit_id, earlier
        return known


class PastScene(TextScene):
    """The page of an action in an earlier turn, without pictures.

    The page is read and parsed when something is asked that was not asked before, and not kept:
    what was told about it is, since every later step of the conversation asks for the same.
    """

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read
        self._listings: dict[tuple[tuple[str, ...], Brackets, bool], Listing] = {}
        self._refined: dict[tuple[tuple[str, str], ...], str] = {}

    def listing(
        self, ids: Sequence[str], *, brackets: Brackets = "angle", snippet: bool = True
    ) -> Listing:
        """Render candidates as text. Raises `ValueError` for an id that is not on the page."""
        key = (tuple(ids), brackets, snippet)
        if key not in self._listings:
            page = self._page()
            self._listings[key] = page.listing(ids, brackets=brackets, snippet=snippet)
        return self._listings[key]

    def refined(self, ids: Mapping[str, str], *, style: Style = "refine") -> str:
        """Write the page around elements. Raises `ValueError` for an id that is not on the page."""
        key = (*ids.items(), ("", style))
        if key not in self._refined:
            self._refined[key] = self._page().refined(ids, style=style)
        return self._refined[key]

    def _page(self) -> PageScene:
        page = Page.parse(self._read())
        return PageScene(page, (), PicturePolicy(name="none"), None, None, None)


def _page(texts: StepDataset, step_id: str) -> str:
    return texts.row(step_id).detail.html


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
        from the data or cannot be decoded, and without turns where nothing is left.

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
            conversation, turn = in_conversation(entry)
            turns.setdefault(conversation, {}).setdefault(turn, []).append(entry)
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
                    scene=PastScene(partial(_page, self._texts, entry.unit_id)),
                )
            )
        return Turn(entries[0].parents["task"], task, tuple(actions))


def in_task(entry: StoredStep) -> tuple[tuple[str, str], int]:
    """Return the task of a step, and its place in it."""
    return (entry.split, entry.parents["task"]), entry.position


def in_conversation(entry: StoredStep) -> tuple[tuple[str, str], int]:
    """Return the conversation of a step, and the number of its turn."""
    return (entry.split, entry.parents.get("conversation", "")), turn_of(entry) or 0


def before_selected(
    selected: StepDataset,
    whole: StepDataset,
    place: Callable[[StoredStep], tuple[tuple[str, str], int]],
) -> list[StoredStep]:
    """Return the steps of `whole` that come before a selected one of their task or conversation."""
    last: dict[tuple[str, str], int] = {}
    for within, number in map(place, selected.entries):
        last[within] = max(last.get(within, 0), number)
    placed = ((entry, *place(entry)) for entry in whole.entries)
    return [entry for entry, within, number in placed if number < last.get(within, 0)]


def earlier_of(row: Row, plan: Planned | None = None) -> Earlier:
    """Return the step of a row, with the centre of its element as shares of the page's size."""
    detail, box = row.detail, row.detail.gold.box
    found = Earlier(detail.operation, detail.value, index=row.position, words=detail.told)
    if not detail.screenshot:
        return found
    # A broken picture is reported when the step itself is asked about.
    with suppress(PictureError):
        page = read_size(detail.screenshot)
        found = replace(found, page_size=(page.width, page.height))
        if box is not None:
            x, y, width, height = box
            point = (x + width / 2) / page.width, (y + height / 2) / page.height
            found = replace(found, point=point)
        if plan is not None and detail.stored is None:
            found = replace(found, pictures=plan(page))
    return found


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
