"""Dialogues to carry out, dialogues that are open, and the calls that they wait for.

`Outcome` is the end of a dialogue; an `Observer` is told of what happens.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from adapters.contract import FaultKind
from adapters.conversation import Conversation, Finish, Reply, Usage
from harness.dialogue import (
    Act,
    Ask,
    Asks,
    Call,
    Dialogue,
    Embed,
    Observation,
    Replies,
    Result,
    as_tuple,
)
from harness.engine.queues import Seat
from harness.engine.stopping import ProtocolError
from harness.errors import raised
from harness.runs import CallRecord, Spent
from harness.runs.on_record import roles_of, spent_on, tiers_of
from parsers.records import UNDELIVERED, Prediction, Status
from parsers.reply_text import ends_in_thought, without_thinking


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a dialogue.

    prediction: None leaves the step unsettled.
    error: reason for a missing reply; with `score_failures` there is a prediction, too.
    calls: ids of the calls of its last trial in the order of asking, shared ones included.
    usage, cost: as in `Spent`, over the calls of all trials that were made for this dialogue. A
        shared call counts for the dialogue that asked first: costs add up to the bill.
    prompt_tokens: estimate of the longest prompt of the model under test, replayed and unanswered
        calls included; None if nothing was asked or nothing estimates.
    trial: number of the last trial, from 0.
    roles: what was spent, by role; empty unless another role than the model under test was asked.
    tiers: number of replies that each tier served.
    invalid: why the unit does not count, although it was asked about: its environment failed.
    last: the last reply of the model under test; None if it was not asked.
    """

    unit_id: str
    repeat: int
    prediction: Prediction | None
    error: str | None
    calls: tuple[str, ...]
    usage: Usage | None
    cost: float | None
    prompt_tokens: int | None = None
    trial: int = 0
    roles: Mapping[str, Spent] = field(default_factory=dict)
    tiers: Mapping[str, int] = field(default_factory=dict)
    invalid: str | None = None
    last: Reply | None = field(default=None, repr=False)

    @property
    def settled(self) -> bool:
        return self.prediction is not None or self.invalid is not None

    @property
    def undelivered(self) -> bool:
        """True if there is no answer for a reason that may lie with the deployment.

        The model was not asked or gave nothing that could be read, not even in part.
        """
        status = self.prediction.status if self.prediction else None
        if status is Status.TRUNCATED:
            return self.last is not None and says_nothing(self.last)
        return status in UNDELIVERED


def says_nothing(reply: Reply) -> bool:
    """Return whether a reply calls nothing and has no text, or only a thought that was cut off."""
    if reply.tool_calls:
        return False
    cut = reply.finish is Finish.LENGTH and ends_in_thought(reply.text)
    return cut or not without_thinking(reply.text).strip()


class Observer:
    """Base class of observers: every method does nothing. Overrides must return quickly."""

    def opened(self, unit_id: str, repeat: int) -> None:
        """Called when a dialogue begins."""

    def passed_over(self, unit_id: str, repeat: int) -> None:
        """Called when a row that no model is asked about is on record."""

    def called(self, record: CallRecord, *, replayed: bool) -> None:
        """Called when a call is on record; `replayed` if it was before this session."""

    def retrying(
        self, unit_id: str, place: str, kind: FaultKind, wait_s: float, error: str = ""
    ) -> None:
        """Called when an attempt failed and the next one follows after `wait_s` seconds.

        `error` says in short what went wrong; some of it may be a server's words.
        """

    def settled(self, outcome: Outcome) -> None:
        """Called when a dialogue is over."""

    def parked(self, unit_id: str, repeat: int) -> None:
        """Called when a dialogue ends for now, as a reply comes later."""

    def notice(self, text: str) -> None:
        """Called with a line that the user should see once."""


class Environment(Protocol):
    """The environment of a dialogue's actions. Its state ends with the dialogue."""

    async def act(self, action: Any) -> Observation:
        """Carry out an action. Raises `Fault` when the environment is gone, `Fatal`."""
        ...

    async def close(self) -> None: ...


class CallLog(Protocol):
    """Where calls are recorded; `harness.runs.RunDirectory` is one."""

    async def record_call(self, record: CallRecord, blobs: Sequence[bytes] = ()) -> None:
        """Return once the record and the blobs that it refers to would survive a crash."""
        ...

    async def blob(self, digest: str) -> bytes:
        """Read the bytes of a blob on record. Raises `RunError` if they are missing or damaged."""
        ...

    async def equal(self, request: str) -> CallRecord | None:
        """Return the first call on record with this `request` whose reply ended normally."""
        ...

    def note_answerer(self, role: str, said: Mapping[str, str]) -> None:
        """Keep what a server says of the model that answers a role in this session."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """A dialogue to carry out.

    dialogue: starts the dialogue.
    recorded: calls of the dialogue from earlier sessions, by any key; they are replayed, unless one
        of them was an act: what it acted in is gone, and the dialogue begins its next trial.
    environment: opens what the dialogue acts in, as soon as there is room for it; called at the
        first action of each trial. Raises as `Environment.act`.
    kind: what the unit is, for messages.
    trial: number of its first trial, if the record does not have a later one.
    renews: whether it begins its next trial if it is played back to an end without an answer.
    """

    unit_id: str
    dialogue: Callable[[], Dialogue]
    repeat: int = 0
    recorded: Mapping[str, CallRecord] = field(default_factory=dict)
    environment: Callable[[], Awaitable[Environment]] | None = None
    kind: str = "unit"
    trial: int = 0
    renews: bool = False


Jobs = Iterable[Job] | AsyncGenerator[Job]


@dataclass(slots=True, eq=False)
class OpenDialogue:
    """A job under way, one turn of its protocol at a time.

    A protocol may come from another package and raise or yield anything. Whatever goes wrong in it
    is raised as `ProtocolError` with the unit's name, which its author needs first.

    trial: number of this attempt, from 0.
    recorded: calls of this trial from earlier sessions, by name.
    before: calls that were made for the dialogue in earlier trials.
    shared: shared calls that were made for it, by id.
    seats: its seats by role, as far as it has asked.
    calls: calls of this trial by name; None for a call that is not on record yet.
    digests: (conversation, digest) by the conversation's id(). The conversation is kept alive so
        that no other can get its id.
    asked: whether a call of it was made in this session.
    prompt_tokens: estimated tokens of the longest prompt so far; None before the first.
    """

    job: Job
    number: int
    trial: int = 0
    recorded: dict[str, CallRecord] = field(default_factory=dict)
    before: tuple[CallRecord, ...] = ()
    shared: dict[str, CallRecord] = field(default_factory=dict)
    seats: dict[str, Seat] = field(default_factory=dict)
    calls: dict[str, CallRecord | None] = field(default_factory=dict)
    digests: dict[int, tuple[Conversation, str]] = field(default_factory=dict)
    asked: bool = False
    prompt_tokens: int | None = None
    _protocol: Dialogue | None = None
    _environment: Environment | None = None

    def __post_init__(self) -> None:
        records = self.job.recorded.values()
        self.trial = max((record.trial for record in records), default=0)
        if any(record.act and record.trial == self.trial for record in records):
            self.trial += 1
        self.trial = max(self.trial, self.job.trial)
        self.recorded = {record.name: record for record in records if record.trial == self.trial}
        self.before = tuple(record for record in records if record.trial < self.trial)

    def __str__(self) -> str:
        unit = f"{self.job.kind} {self.job.unit_id}"
        return f"{unit}, repeat {self.job.repeat}" if self.job.repeat else unit

    @property
    def key(self) -> tuple[str, int]:
        """Unit id and repeat."""
        return self.job.unit_id, self.job.repeat

    async def environment(self) -> Environment:
        """Return the environment, opened at the first action. Raises `ProtocolError`."""
        if self._environment is None:
            if self.job.environment is None:
                raise ProtocolError(f"{self}: the protocol acts, and there is nothing to act in")
            self._environment = await self.job.environment()
        return self._environment

    async def leave_environment(self) -> None:
        """Close what the dialogue acted in, if it did."""
        if self._environment is not None:
            await self._environment.close()

    def advance(self, replies: Replies | None) -> Asks | Prediction:
        """Return what the protocol asks next, or its prediction.

        `replies` answer what it asked last; None starts the dialogue.
        """
        try:
            if self._protocol is None:
                self._protocol = self.job.dialogue()
            turn = next(self._protocol) if replies is None else self._protocol.send(replies)
        except StopIteration as stop:
            if isinstance(stop.value, Prediction):
                return stop.value
            raise ProtocolError(
                f"{self}: the protocol returned {type(stop.value).__name__}, not a Prediction"
            ) from None
        except Exception as error:
            raise self._failed(error) from error
        if all(isinstance(one, Ask | Embed | Act) for one in as_tuple(turn)):
            return turn
        raise ProtocolError(f"{self}: the protocol yielded {type(turn).__name__}, not an Ask")

    def close(self) -> None:
        """Close the generator, wherever it is."""
        try:
            if self._protocol is not None:
                self._protocol.close()
        except Exception as error:
            raise self._failed(error) from error

    def again(self) -> Job:
        """Return the job with the calls of this trial on record; an action ends the trial."""
        made = {record.id: record for record in self.calls.values() if record}
        return replace(self.job, recorded={**self.job.recorded, **made})

    def renewed(self) -> Job:
        """Return the job for its next trial, whatever is on record."""
        return replace(self.again(), trial=self.trial + 1, renews=False)

    @property
    def heard_before(self) -> bool:
        """True if a reply of this trial is an earlier session's or another run's."""
        made = (record for record in self.calls.values() if record)
        return any(record.from_cache or record.name in self.recorded for record in made)

    def outcome(
        self, prediction: Prediction | None, error: str | None, invalid: str | None = None
    ) -> Outcome:
        """Describe how the dialogue ended, with the calls that are on record."""
        records = [record for record in self.calls.values() if record]
        paid = self._paid(records)
        spent = spent_on(paid)
        return Outcome(
            unit_id=self.job.unit_id,
            repeat=self.job.repeat,
            prediction=prediction,
            error=error,
            calls=tuple(record.id for record in records),
            usage=spent.usage,
            cost=spent.cost if records else None,
            prompt_tokens=self.prompt_tokens,
            trial=self.trial,
            roles=roles_of(paid),
            tiers=tiers_of(paid),
            invalid=invalid,
            last=self._last(records),
        )

    def _last(self, records: Sequence[CallRecord]) -> Reply | None:
        """Return the last reply of the model under test."""
        replies = (r.reply for r in reversed(records) if not (r.role or r.act or r.embed))
        return next(replies, None)

    def _paid(self, records: Sequence[CallRecord]) -> list[CallRecord]:
        """Return the calls that were made for this dialogue, given those of this trial."""
        if not self.shared and not any(record.asked_by for record in records):
            return [*self.before, *records]
        ours = [record for record in records if record.payer == self.key]
        ids = {record.id for record in ours}
        shared = [record for id, record in self.shared.items() if id not in ids]
        return [*self.before, *shared, *ours]

    def _failed(self, error: Exception) -> ProtocolError:
        return ProtocolError(f"{self}: the protocol raised {raised(error)}")


@dataclass(slots=True)
class Pending:
    """A call that a dialogue waits for.

    digest: of what is asked.
    id: name of the call.
    unit_id: the unit whose call it will be, or the parent that shares it.
    asked_by: of a shared call, the unit that asks now; "" for other calls.
    tokens: estimated tokens of a prompt, None if nothing estimates.
    """

    dialogue: OpenDialogue
    call: Call
    digest: str
    id: str
    unit_id: str
    trial: int
    asked_by: str = ""
    tokens: int | None = None

    def record(self, request: str, **more: Any) -> CallRecord:
        """Return the record of the call, with the fields that only some kinds of calls have."""
        more.setdefault("messages", ())
        return CallRecord(
            id=self.id,
            unit_id=self.unit_id,
            repeat=self.dialogue.job.repeat,
            place=self.call.place,
            request=request,
            conversation=self.digest,
            trial=self.trial,
            asked_by=self.asked_by,
            **more,
        )


@dataclass(slots=True)
class MadeCall:
    """A call that was made: its record, what its dialogue receives, and the blobs of the record."""

    record: CallRecord
    result: Result
    blobs: tuple[bytes, ...] = ()


class KeptReply(NamedTuple):
    """A reply to an equal call, and the other run that asked for it; "" if it was this run."""

    reply: Reply
    run: str
