"""The records that travel from a benchmark to a protocol.

A `Row` is the unit of a recorded step with all that its files hold, answer included. A `Step` with
its `Choice`s is what a protocol is shown (`harness.views`): nothing in them says which choice is
right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from adapters.conversation import Picture
from harness.page import Brackets, Candidate, Style
from harness.runs.records import Unit
from parsers.records import Choice as Choice
from parsers.records import Gold, Operation, PastAction, StepInfo, Turn

NO_POSITIVE = "no_positive"
NO_SCREENSHOT = "no_screenshot"
UNREADABLE = "unreadable_row"
SEGMENT_ID = "*"
"""Placeholder for the element's id in `Earlier.segment`; the protocol that shows it fills it in."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Some candidates of a page as text: the page pruned to them, and (id, text) per candidate in
    document order (MindAct's form)."""

    snippet: str
    texts: tuple[tuple[str, str], ...]


class Scene(Protocol):
    """Lookups of a step's page for a protocol while it asks.

    Answers depend on the step and the arguments alone. Where a run is read without its data, the
    scene knows no page: listings then have an empty snippet and the texts of the choices.
    """

    def listing(
        self, ids: Sequence[str], *, brackets: Brackets = "angle", snippet: bool = True
    ) -> Listing:
        """Candidates as text. Without `snippet` the page's is left empty, which is cheaper."""
        ...

    def crop(self, ids: Sequence[str]) -> tuple[Picture, ...]:
        """Return the pictures that the run's policy shows for a question about these candidates."""
        ...

    def marked(self, ids: Sequence[str], marks: Sequence[str]) -> tuple[Picture, ...]:
        """The same with a box and a mark drawn on each of them (SeeAct's image annotation)."""
        ...

    def refined(self, ids: Mapping[str, str], *, style: Style = "refine") -> str:
        """The page pruned to elements and written with ids of their own (AutoWebGLM's form, unless
        another is asked for), by node id; empty where no page is known."""
        ...


@dataclass(frozen=True, slots=True)
class StoredQuestion:
    """The question as a snapshot on disk fixed it: sent as stored, never rendered again.

    `first` and `second` are the messages of round 1 and of round 2 (role and parts; a part is
    `{"type": "text", "text": ...}` or an image part). The bytes of the pictures are in
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
class RowDetail:
    """The detail of a recorded step as its files hold it, until its candidates are listed.

    Attributes:
        action_uid: the recorded action, unique within its task.
        history: representations of the actions before this step, and of those only.
        html: the page before the action.
        screenshot: encoded picture of the full page before the action; None if it was lost.
        positives: acceptable elements.
        negatives: all other candidates.
        problems: every reason why the step cannot be asked about. `Unit.invalid` names
            `no_positive` first, because that stays when an agent accepts rows without a screenshot.
        stored: the question of a snapshot on disk, None for rows that are rendered.
        told: the representation of this step's own action; "" where there is none.
        counts: whether the step counts, as a failed one, where nothing acceptable can be offered.
    """

    action_uid: str
    history: tuple[str, ...] = ()
    html: str = ""
    screenshot: bytes | None = None
    positives: tuple[Candidate, ...] = ()
    negatives: tuple[Candidate, ...] = ()
    operation: Operation = "CLICK"
    value: str = ""
    problems: tuple[str, ...] = ()
    stored: StoredQuestion | None = None
    told: str = ""
    counts: bool = False

    @property
    def candidates(self) -> dict[str, Candidate]:
        """All candidates by id."""
        return {one.id: one for one in (*self.negatives, *self.positives)}

    @property
    def gold(self) -> Gold:
        """The recorded action, with every acceptable element."""
        boxes = tuple(
            (c.box.x, c.box.y, c.box.width, c.box.height) if c.box else None for c in self.positives
        )
        original = next((c.id for c in self.positives if c.original_target), None)
        ids = tuple(c.id for c in self.positives)
        return Gold(self.operation, self.value, ids, boxes, original=original)


Row = Unit[RowDetail]
"""A recorded step, decoded from its files."""


@dataclass(frozen=True, slots=True)
class Said:
    """A call of an earlier step: its place, the text of what was asked, the reply, and what the
    model thought, where the provider hands that out."""

    place: str
    asked: str
    reply: str
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A step before the one that is asked about: what was recorded, or what happened.

    Attributes:
        operation: what was done, in Mind2Web's words; None for any other action, or none.
        value: the text or option of the operation.
        point: the middle of its element in shares of the width and height of the page as it was
            then, None where the box or the page is not on record.
        index: its place in the trajectory, from 0; None if that is not known.
        segment: its element and what was around it (AutoWebGLM's form), with `SEGMENT_ID` as the id
            of the element; "" where that is not needed or not on record.
        words: the action as in `Step.history`.
        pictures: the screenshots that the run's policy shows of it; a dialogue may send those that
            `--history` asks for (`History.of`).
        page_size: width and height of its page in pixels, None without a screenshot.
        said: what was asked and replied, in order; () where nothing is on record.
        outcome: what the environment said of the action, "" for nothing.
        scene: looks up its page; None where that is not at hand.
    """

    operation: Operation | None = None
    value: str = ""
    point: tuple[float, float] | None = None
    index: int | None = None
    segment: str = ""
    words: str = ""
    pictures: tuple[Picture, ...] = ()
    page_size: tuple[int, int] | None = None
    said: tuple[Said, ...] = ()
    outcome: str = ""
    scene: Scene | None = field(default=None, compare=False, repr=False)

    @property
    def thoughts(self) -> str:
        """The model's thoughts before it acted: its first reply of several, else its reasoning,
        else what its reply says ahead of the line of the action."""
        if len(self.said) > 1:
            return self.said[0].reply.strip()
        if not self.said:
            return ""
        (said,) = self.said
        return (said.reasoning or said.reply.rpartition("\n")[0]).strip()


@dataclass(frozen=True, slots=True)
class SeenAction(PastAction):
    """A past action with its candidates and its page, as memories of a conversation show it.

    Attributes:
        candidates: (id, rank) of the elements that the ranker offers, best first, acceptable ones
            among them; without a ranker, those of the row, with rank None. () when a run is scored
            again without its data.
        elements: all candidates of the row, acceptable ones among them, in document order.
        scene: looks up views of its page; it knows no pictures, and, when a run is scored again, no
            texts.
    """

    candidates: tuple[tuple[str, int | None], ...]
    elements: tuple[str, ...]
    scene: Scene = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BrowserState:
    """The browser of a live page.

    Attributes:
        tabs: titles and addresses, where there may be several.
        tab: number of the one that is seen, from 0.
    """

    url: str = ""
    title: str = ""
    tabs: tuple[tuple[str, str], ...] = ()
    tab: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """A step as a protocol sees it: the page before it, the task, the actions so far.

    Attributes:
        shuffle: number of the shuffle, for protocols that deal candidates out at random.
        before: the steps before this one, oldest first, for protocols that look at them or show
            more of them than actions (`--history`); without rows that the data lacks.
        turns: the finished turns of its conversation, oldest first, for protocols that need them.
        scene: looks up further views of the page while the dialogue is open.
        page_size: width and height of the screenshot in pixels, None without one.
        tokens: counts the tokens of a text as the model under test does; None: by cl100k.
        window: the browser of a live page, None for a recorded one.
    """

    step_id: str
    info: StepInfo
    history: tuple[str, ...]
    pictures: tuple[Picture, ...] = ()
    stored: StoredQuestion | None = None
    shuffle: int = 0
    before: tuple[Earlier, ...] = ()
    scene: Scene | None = field(default=None, compare=False, repr=False)
    page_size: tuple[int, int] | None = None
    turns: tuple[Turn[SeenAction], ...] = ()
    tokens: Callable[[str], int] | None = field(default=None, compare=False, repr=False)
    window: BrowserState | None = None
