"""Records of answers, predictions, recorded actions and scores.

They are frozen and have only plain values, which can be printed, compared and written to a run
directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Literal, NamedTuple, TypeVar

from parsers.actions import Action, Value

A = TypeVar("A")

SPLIT = "split"
"""The group that every unit has."""

READING = 7
"""Edition of the reading rules. It rises whenever some reply is read as something
else than before; runs record it, and older ones are read anew."""

ENVIRONMENT_ERROR, SCORING_ERROR = "environment_error", "scoring_error"
"""Why a unit never counts: its environment failed in every trial, or its scorer raised."""
LOST = frozenset({ENVIRONMENT_ERROR, SCORING_ERROR})

ELEMENT_ONLY = "element-only"
"""Flag of predictions by a protocol that does not ask for an operation."""

Operation = Literal["CLICK", "TYPE", "SELECT"]
"""An operation of Mind2Web."""
OPERATIONS: tuple[Operation, ...] = ("CLICK", "TYPE", "SELECT")
"""The operations of Mind2Web."""

F1Variant = Literal["mind2web", "mind2web-lc", "cl100k-lc", "mind2web-np"]
"""Tokens that operation F1 compares; `token_f1` describes the variants."""
F1_VARIANTS: tuple[F1Variant, ...] = ("mind2web", "mind2web-lc", "cl100k-lc")
"""Those of Mind2Web. `mind2web-np` is MT-Mind2Web's for answers that are written."""


class Status(StrEnum):
    """The end of a step. Every status except `NO_REPLY` is final: the step has a result."""

    ANSWERED = "answered"
    """One of the offered elements was chosen."""
    NONE = "none"
    """The model said that none of the options is correct."""
    AMBIGUOUS = "ambiguous"
    """Several options were named, and it is unclear which one is meant."""
    NO_ELEMENT = "no_element"
    """There is an answer line for the element, but it names no option."""
    OUT_OF_RANGE = "out_of_range"
    """The letter lies beyond the list."""
    PARSE_ERROR = "parse_error"
    """Neither an element nor an operation could be read."""
    REFUSAL = "refusal"
    """The model declined to answer."""
    OUT_OF_TURNS = "out_of_turns"
    """The model went on looking until it might look no more, and did not act."""
    EMPTY = "empty"
    """The reply holds no text."""
    TRUNCATED = "truncated"
    """The reply ran into the output limit before a complete answer."""
    CONTENT_FILTER = "content_filter"
    """The provider withheld the reply."""
    PROVIDER_REFUSED = "provider_refused"
    """The provider answered this prompt with an error (an unreadable picture, say)."""
    TOO_LONG = "too_long"
    """The prompt exceeds the model's context length; it was not sent, or was rejected."""
    NOT_OFFERED = "not_offered"
    """No acceptable element was among the ranker's candidates, so the model was not asked."""
    NO_REPLY = "no_reply"
    """No reply after all retries; only present if the run was closed with such steps."""


UNDELIVERED = frozenset(
    {Status.TOO_LONG, Status.PROVIDER_REFUSED, Status.CONTENT_FILTER, Status.EMPTY}
)
"""Statuses for which a wrong deployment may be the reason: no reply says anything."""

STATUS_WORDS = {
    Status.ANSWERED: "answered",
    Status.NONE: "none of these",
    Status.AMBIGUOUS: "ambiguous",
    Status.NO_ELEMENT: "without an element",
    Status.OUT_OF_RANGE: "beyond the list",
    Status.PARSE_ERROR: "unreadable",
    Status.REFUSAL: "refused",
    Status.OUT_OF_TURNS: "out of turns",
    Status.EMPTY: "empty",
    Status.TRUNCATED: "cut off",
    Status.CONTENT_FILTER: "filtered by the provider",
    Status.PROVIDER_REFUSED: "refused by the provider",
    Status.TOO_LONG: "too long to ask",
    Status.NOT_OFFERED: "missed by the ranker",
    Status.NO_REPLY: "without a reply",
}
"""Statuses in the words of a result."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The parsed content of one reply, in terms of the offered options.

    Attributes:
        option: index among the listed choices, from 0.
        flags: short names of what the parser had to ignore or repair (`multiple`, `in_text`,
            `text_mismatch`, `mapped_operation`, `missing_value`, `truncated`, ...), in alphabetical
            order.
    """

    status: Status
    option: int | None = None
    operation: Operation | None = None
    value: str = ""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prediction:
    """The action that a model settled on, or why there is none.

    Attributes:
        letter: of the chosen option, where options were lettered.
        under: the smallest candidate whose box contains the point of the action.
        parsed: what else was read from the replies, by name, for measures that need more than the
            action (the box that a point is the centre of, the reading of a benchmark's own scorer).
        votes: number of samples behind each different answer, this one's first; () where a unit is
            asked once.
        sample: number of the sample that gave this one, from 0; None where a unit is asked once.
        by_rule: what further rules read in the same replies (`Measure.rule`), where it differs.
    """

    status: Status
    action: Action | None = None
    flags: tuple[str, ...] = ()
    letter: str | None = None
    under: str | None = None
    parsed: Mapping[str, Value] = field(default_factory=dict)
    votes: tuple[int, ...] = ()
    sample: int | None = None
    by_rule: Mapping[str, Prediction] = field(default_factory=dict)

    @property
    def agreement(self) -> float | None:
        """Share of the samples that gave this answer; None where a unit is asked once."""
        return self.votes[0] / sum(self.votes) if self.votes else None

    @classmethod
    def of(
        cls,
        status: Status,
        letter: str | None = None,
        element: str | None = None,
        point: tuple[float, float] | None = None,
        operation: Operation | None = None,
        value: str = "",
        flags: tuple[str, ...] = (),
        under: str | None = None,
    ) -> Prediction:
        """Return the prediction of a recorded step: an element or a point, operation and value."""
        action = None
        if operation or element is not None or point is not None or value:
            arguments = {"value": value} if value else {}
            action = Action(operation or "", element, point, arguments)
        return cls(status, action, flags, letter, under)

    @property
    def element(self) -> str | None:
        """Node id of the element that the action is done to."""
        return self.action.element if self.action else None

    @property
    def point(self) -> tuple[float, float] | None:
        """(x, y) in page pixels, for models that answer with coordinates."""
        return self.action.point if self.action else None

    @property
    def operation(self) -> Operation | None:
        """The action's name, if it is one of `OPERATIONS`."""
        name = self.action.name if self.action else ""
        return next((operation for operation in OPERATIONS if operation == name), None)

    @property
    def value(self) -> str:
        """Text to type or option to select; empty if the operation takes none."""
        return str(self.action.arguments.get("value", "")) if self.action else ""


@dataclass(frozen=True, slots=True)
class Description:
    """The page's description of an element; "" or () for missing parts.

    Attributes:
        labels: the attributes that name it to a visitor.
        text: the first 50 words inside it.
    """

    role: str = ""
    type: str = ""
    labels: tuple[str, ...] = ()
    text: str = ""


class Box(NamedTuple):
    """Bounding box of an element in page pixels, from the page's top left corner.

    Recorded boxes may be empty or negative or lie outside the page; see `is_visible`.
    """

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of the right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of the bottom edge."""
        return self.y + self.height

    @property
    def is_visible(self) -> bool:
        """Return True if the box has any area."""
        return self.width > 0 and self.height > 0


@dataclass(frozen=True, slots=True)
class Choice:
    """A candidate as listed to a model.

    Attributes:
        letter: option letter; "" if the protocol letters each group of choices by itself.
        box: in page pixels, None if unknown.
        rank: place in the ranker's order, from 0.
        description: only for protocols that need it.
        place: place in document order among the choices, from 0; None if the page is unknown.
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
class PastAction:
    """A recorded action of a finished turn.

    Attributes:
        index: its place in its turn, from 0.
        told: its representation (`[button]  Search -> CLICK`).
        positives: ids of the acceptable elements that are on its page; () if it has none.
    """

    index: int
    action_uid: str
    told: str
    operation: Operation
    value: str
    positives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turn(Generic[A]):
    """A finished turn of a conversation: its instruction and its actions, in order."""

    turn_id: str
    task: str
    actions: tuple[A, ...]


@dataclass(frozen=True, slots=True)
class Gold:
    """The recorded action of a step: what counts as correct.

    Attributes:
        elements: node ids of all acceptable elements (Mind2Web, appendix C.1).
        boxes: their boxes as (x, y, width, height) in page pixels, in the same order; None if
            unknown.
        shown: the acceptable element among the choices; None if there is none, or no choices yet.
        original: the element that the annotator clicked; None if unknown.
    """

    operation: Operation
    value: str
    elements: tuple[str, ...]
    boxes: tuple[tuple[float, float, float, float] | None, ...] = ()
    shown: str | None = None
    original: str | None = None

    @property
    def box(self) -> tuple[float, float, float, float] | None:
        """The box of the labelled element, else the first known one."""
        boxes = dict(zip(self.elements, self.boxes, strict=False))
        original = boxes.get(self.original) if self.original is not None else None
        return original or next((box for box in self.boxes if box is not None), None)


Scores = Mapping[str, float | None]
"""The scores of a unit by name (`parsers.declaration.Measure.scores`), finite; None where something
was not measured."""


@dataclass(frozen=True, slots=True)
class StepInfo:
    """The identity of a step.

    Attributes:
        task_id: the task: a goal with its recorded trajectory (`annotation_id` in Mind2Web).
        action_uid: the recorded action to predict; unique within the task.
        index: position of the step in the trajectory, from 0.
        total_steps: number of steps in the whole trajectory.
        benchmark: the data set.
        split: its split.
        website: where the task is done.
        domain: what kind of site that is.
        subdomain: the same, finer.
        task: the goal in words.
        conversation: the conversation in which the task is a turn; "" where tasks represent
            themselves.
        turn: its place in that conversation, from 0; None for tasks without one.
    """

    task_id: str
    action_uid: str
    index: int
    total_steps: int
    benchmark: str
    split: str
    website: str
    domain: str
    subdomain: str
    task: str = ""
    conversation: str = ""
    turn: int | None = None

    @property
    def parents(self) -> dict[str, str]:
        """The ids of what the step belongs to, by level."""
        above = {"conversation": self.conversation} if self.conversation else {}
        return {"task": self.task_id, **above, "website": self.website}

    @property
    def labels(self) -> dict[str, str]:
        """Return further groups of the step; turns by their number, from 1."""
        number = {} if self.turn is None else {"turn": str(self.turn + 1)}
        return {"domain": self.domain, "subdomain": self.subdomain, **number}


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """The scored row that metrics are aggregated from.

    Attributes:
        parents: the ids of what it belongs to, by level.
        labels: what else it can be grouped by.
        invalid: None for a valid row, else the reason (`no_positive`, `no_screenshot`, ...).
        scores: None while the unit is unsettled (not asked yet, or a call failed), and for invalid
            rows that were not asked.
        flags: flags of the prediction.
    """

    unit_id: str
    split: str
    parents: Mapping[str, str]
    labels: Mapping[str, str]
    invalid: str | None
    scores: Scores | None
    status: Status | None
    flags: tuple[str, ...] = ()

    @property
    def lost(self) -> bool:
        """Return True if no one can say how it would have ended: it counts nowhere, not even as
        failed."""
        return self.invalid in LOST

    def group(self, name: str) -> str:
        """Return the name of the subgroup that it belongs to; "" where it has no such label."""
        if name == SPLIT:
            return self.split
        return self.labels.get(name) or self.parents.get(name, "")
