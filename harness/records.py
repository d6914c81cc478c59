"""The records that travel from a benchmark to a protocol.

A `Row` is what a benchmark stores, answer included. A `Step` with its `Choice`s is what a protocol
sees: nothing in them says which choice is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from adapters.conversation import Picture
from harness.page import Box, Brackets, Candidate
from parsers.records import Description, Gold, Operation, StepInfo

NO_POSITIVE = "no_positive"
NO_SCREENSHOT = "no_screenshot"


@dataclass(frozen=True, slots=True)
class Choice:
    """A candidate as listed to the model. `box` is in page pixels, None when unknown.

    `letter` is "" where a protocol letters its groups one by one. `rank` counts from 0 among the
    candidates of a ranker. `description` is there for protocols that need it. `place` counts from 0
    in document order among the choices; None where the page is not known.
    """

    letter: str
    id: str
    tag: str
    text: str
    box: Box | None = None
    rank: int | None = None
    description: Description | None = None
    place: int | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """Some candidates of a page as text: the page pruned to them, and (id, text) per candidate in
    document order (MindAct's form)."""

    snippet: str
    texts: tuple[tuple[str, str], ...]


class Scene(Protocol):
    """What a protocol may look up about a step's page while it asks.

    Answers depend on the step and the arguments alone. Where a run is read without its data, the
    scene knows no page: listings then have an empty snippet and the texts of the choices.
    """

    def listing(
        self, ids: Sequence[str], *, brackets: Brackets = "angle", snippet: bool = True
    ) -> Listing:
        """Candidates as text. Without `snippet` the page's is left empty, which is cheaper."""
        ...

    def crop(self, ids: Sequence[str]) -> tuple[Picture, ...]:
        """What the run's screenshot policy shows for a question about these candidates."""
        ...

    def marked(self, ids: Sequence[str], marks: Sequence[str]) -> tuple[Picture, ...]:
        """The same with a box and a mark drawn on each of them (SeeAct's image annotation)."""
        ...


@dataclass(frozen=True, slots=True)
class StoredQuestion:
    """The question as a snapshot on disk fixed it: sent as stored, never rendered again.

    `first` and `second` are the messages of round 1 and of round 2 (role and parts; a part is
    `{"type": "text", "text": ...}` or an image part). The bytes of the pictures stand in
    `pictures`, in the order of the image parts, which do not repeat them. `choices` are the
    candidates as listed; nothing here says which are right. `reply_prefix` is put before the reply
    of round 1 when it is sent back. `recipe` says how the pictures were made, "" when unknown.
    """

    first: tuple[Mapping[str, object], ...]
    second: tuple[Mapping[str, object], ...]
    choices: tuple[Choice, ...]
    pictures: tuple[bytes, ...] = ()
    reply_prefix: str = ""
    recipe: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One recorded step as a benchmark stores it, decoded.

    `history` holds the representations of the actions before this step only. `screenshot` is the
    encoded picture of the full page before the action, None when it was lost. `source` says where
    the row came from (file name and row number), for error messages. `invalid` is None or the
    reason why no right answer can be given (`no_positive`, `no_screenshot`). `problems` holds every
    such reason: of a row that has both, `no_positive` is the one in `invalid`, because it stays
    when an agent opts in to rows without a screenshot.
    """

    info: StepInfo
    history: tuple[str, ...]
    html: str
    screenshot: bytes | None
    positives: tuple[Candidate, ...]
    negatives: tuple[Candidate, ...]
    operation: Operation
    value: str
    source: str = ""
    invalid: str | None = None
    problems: tuple[str, ...] = ()
    stored: StoredQuestion | None = None

    @property
    def step_id(self) -> str:
        return f"{self.info.task_id}_{self.info.action_uid}"

    @property
    def gold(self) -> Gold:
        """The recorded action, with every acceptable element."""
        boxes = tuple(
            (c.box.x, c.box.y, c.box.width, c.box.height) if c.box else None for c in self.positives
        )
        original = next((c.id for c in self.positives if c.original_target), None)
        ids = tuple(c.id for c in self.positives)
        return Gold(self.operation, self.value, ids, boxes, original=original)


@dataclass(frozen=True, slots=True)
class Earlier:
    """A recorded action before a step. `point` is the middle of its element in shares of the width
    and height of the page as it was then, None where the box or the page is not on record."""

    operation: Operation
    value: str
    point: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What a protocol knows of a step: the page before it, the task, the actions so far.

    `shuffle` numbers the shuffles of a protocol that deals candidates out by chance. `earlier` is
    there for protocols that need it. `page_size` is that of the screenshot, None without one.
    """

    step_id: str
    info: StepInfo
    history: tuple[str, ...]
    pictures: tuple[Picture, ...] = ()
    stored: StoredQuestion | None = None
    shuffle: int = 0
    earlier: tuple[Earlier, ...] = ()
    scene: Scene | None = field(default=None, compare=False, repr=False)
    page_size: tuple[int, int] | None = None
