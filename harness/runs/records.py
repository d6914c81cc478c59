"""The lines of a run directory, as typed records.

`calls.jsonl` holds a `CallRecord` per finished call, `steps.jsonl` a `Unit` per unit of the
selection, units that were never asked about included. A change of these records raises `SCHEMA`,
the number of the format; runs of another number are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar, cast

import msgspec
from msgspec import UNSET, UnsetType

from adapters.conversation import Picture, Reply, Usage
from adapters.embedding import Embedded, Vector, from_bytes
from harness.dialogue import Observation, Result, call_name
from harness.errors import RunError
from harness.runs.messages import MessageRecord
from parsers.records import Prediction, ScoredUnit, Scores

SCHEMA = 10
D = TypeVar("D")
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class EmbedRecord:
    """The embedding part of a call.

    Attributes:
        count: number of texts.
        dimensions: numbers in a vector.
        vectors: digest of the blob that holds the vectors one after the other, four bytes per
            number.
        texts: the texts; None where they are long (`CallRecord.conversation` is their digest).
    """

    count: int
    dimensions: int
    vectors: str
    texts: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ActRecord:
    """The action of a call in an environment.

    Attributes:
        action: JSON.
        observation: JSON.
        blobs: digests of the large parts of the observation, by name.
    """

    action: Any
    observation: Any
    blobs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One finished call: a model asked, texts embedded, or an action carried out.

    Attributes:
        unit_id: the unit whose call this is; of a shared call (`asked_by`) the `shared_unit` of the
            parent whose units share it.
        place: which call of the dialogue this is (`round-1`, `group-2`, ...).
        request: hash of everything that the reply depends on.
        conversation: digest of the conversation that was sent, of the texts or of the action; a
            replay must arrive at the same one.
        messages: those added to the conversation `earlier`, or all of them if that is None.
        reply: the reply; of an embedder its usage, name and latency only, of an action the latency.
        attempts: requests sent until the reply came; 0 for the reply of an equal call and for a
            prompt that was too long to send.
        from_cache: whether the reply is that of an equal call of this or another run, at no cost.
        cost: billed for it, in US dollars; None without a price.
        earlier: digest of the conversation that this one extends.
        price: what the reply of an equal call would have cost; left out for other calls, whose
            price is `cost`, and where it is unknown.
        role: who was asked; "" is the model under test, and environments have none.
        trial: number of the attempt of the unit, from 0; an episode may have to start anew.
        asked_by: the unit that asked for a shared call first, and bears its cost; "" for other
            calls.
        embed: what an embedder was asked for; None for other calls.
        act: what an environment was asked for; None for other calls.
        sample: number of the reply, from 0, where a dialogue asks several times.
        reused_from: the other run that asked for the reply; "" for a reply of this run.
        temperature, seed: those that its dialogue asked for; None for those of the run.

    The last nine are left out of the line where they are at their default.
    """

    id: str
    unit_id: str
    repeat: int
    place: str
    request: str
    conversation: str
    messages: tuple[MessageRecord, ...]
    reply: Reply
    attempts: int = 1
    from_cache: bool = False
    cost: float | None = None
    earlier: str | None = None
    price: float | UnsetType = UNSET
    role: str = ""
    trial: int = 0
    asked_by: str = ""
    embed: EmbedRecord | None = None
    act: ActRecord | None = None
    sample: int = 0
    temperature: float | None = None
    seed: int | None = None
    reused_from: str = ""

    @property
    def name(self) -> str:
        """The name of the call within its dialogue."""
        return call_name(self.place, self.sample, self.temperature, self.seed)

    @property
    def is_ask(self) -> bool:
        """Return True if a model was asked, and `reply` is its reply."""
        return self.embed is None and self.act is None

    @property
    def exchange(self) -> tuple[tuple[MessageRecord, ...], str]:
        """Return the messages and the result as text for people."""
        if self.embed is not None:
            texts = self.embed.texts or (f"{self.embed.count} long texts",)
            vectors = f"{self.embed.count} vectors of {self.embed.dimensions} numbers"
            return (MessageRecord("texts", texts),), vectors
        if self.act is not None:
            return (MessageRecord("action", (_json(self.act.action),)),), _json(
                self.act.observation
            )
        calls = (
            f"[call {call.id}] {call.name} {_json(call.arguments)}"
            for call in self.reply.tool_calls
        )
        return self.messages, "\n".join(filter(None, (self.reply.text, *calls)))

    @property
    def payer(self) -> tuple[str, int]:
        """The unit and repeat whose cost this is part of."""
        return self.asked_by or self.unit_id, self.repeat

    @property
    def blobs(self) -> tuple[str, ...]:
        """Digests of the blobs that belong to the call."""
        vectors = (self.embed.vectors,) if self.embed else ()
        return (*vectors, *(self.act.blobs.values() if self.act else ()))

    @property
    def key(self) -> tuple[str, int]:
        """The unit and the repeat that the call is of."""
        return self.unit_id, self.repeat

    @property
    def work(self) -> float | None:
        """Return the price of the reply without a cache, in US dollars; None if unknown."""
        if not self.from_cache:
            return self.cost
        return None if isinstance(self.price, UnsetType) else self.price


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of the calls of one role.

    Attributes:
        usage: tokens of all replies, those from the cache included; None when no reply reports
            them.
        cost: billed for the calls in US dollars; None unless every call has a price.
    """

    calls: int
    usage: Usage | None
    cost: float | None

    def __str__(self) -> str:
        calls = f"{self.calls:,} call{'' if self.calls == 1 else 's'}"
        return f"{calls}, price unknown" if self.cost is None else f"{calls}, ${self.cost:,.4f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit(Generic[D]):
    """A step or item: its question, its scores, and its outcome.

    Attributes:
        kind: what it is.
        repeat: number of the repeat, from 0.
        parents: id of what it belongs to, by level, from the inside out (`task`, `website`).
        labels: what else it is grouped by.
        position: place in its innermost parent, from 0.
        total: number of its units in the data (0 if unknown).
        goal: the task or instruction in words.
        trial: number of the attempt, from 0; more than one where an episode had to start anew.
        invalid: why the unit has no right answer, None for a valid one.
        asked: whether a model was asked. Not for invalid units, nor where nothing right is offered
            (status `not_offered`).
        settled: whether the outcome is final. Otherwise `error` says why not, and resuming the run
            asks again. A unit that cannot be read is settled, and `error` says what is wrong with
            it.
        source: file and row of the data, for messages.
        digests: of its data that the run does not hold, by what it is (`html`, `screenshot`).
        prompt_tokens: estimate for the longest prompt.
        calls: ids of the calls, in order.
        cost: billed for the calls, in US dollars; None unless every call has a price.
        roles: the part of each role in calls, usage and cost, left out of the line where only the
            model under test was asked.
        tiers: number of replies that each tier of a provider served in this run, left out of the
            line where no provider said which one.
        detail: what only units of this kind have; its type is the benchmark's (`Benchmark.Detail`).
    """

    kind: str
    unit_id: str
    benchmark: str
    split: str
    repeat: int = 0
    trial: int = 0
    parents: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    position: int = 0
    total: int = 0
    goal: str = ""
    invalid: str | None = None
    asked: bool = False
    settled: bool = False
    error: str | None = None
    source: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)
    pictures: tuple[Picture, ...] = ()
    prompt_tokens: int | None = None
    calls: tuple[str, ...] = ()
    prediction: Prediction | None = None
    scores: Scores | None = None
    usage: Usage | None = None
    cost: float | None = None
    roles: Mapping[str, Spent] = field(default_factory=dict)
    tiers: Mapping[str, int] = field(default_factory=dict)
    detail: D

    @property
    def key(self) -> tuple[str, int]:
        """Unit and repeat, which together have one outcome."""
        return self.unit_id, self.repeat

    @property
    def screenshot(self) -> str | None:
        """Digest of the picture that it is about; None if that is not on record."""
        shown = (picture.digest for picture in self.pictures)
        return self.digests.get("screenshot") or next(shown, None)

    @property
    def place(self) -> int | None:
        """Its position, None where units have no order."""
        return self.position if self.total else None

    def with_detail(self, detail: E, **changes: Any) -> Unit[E]:
        """Return the unit with the detail of its next stage, and other fields."""
        grown: Any = replace(self, detail=detail, **changes)  # type: ignore[arg-type]
        return cast("Unit[E]", grown)

    def scored(self) -> ScoredUnit:
        """Return the part of this line that aggregates need."""
        return ScoredUnit(
            unit_id=self.unit_id,
            split=self.split,
            parents=self.parents,
            labels=self.labels,
            invalid=self.invalid,
            scores=self.scores if self.settled else None,
            status=self.prediction.status if self.prediction and self.settled else None,
            flags=self.prediction.flags if self.prediction else (),
        )


def call_id(unit_id: str, repeat: int, name: str, trial: int = 0) -> str:
    """Return the id of a call, unique within a run, from its name within its dialogue."""
    if trial:
        return f"{unit_id}/{repeat}/trial-{trial}/{name}"
    return f"{unit_id}/{repeat}/{name}"


def shared_unit(parent: str) -> str:
    """Return the owner of calls that the units of a parent share, in place of a unit.

    A unit may be named as its parent is (an episode is its task), and must not be taken for it.
    """
    return f"shared/{parent}"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def result_of(record: CallRecord, blob: Callable[[str], bytes]) -> Result:
    """Return the reply, vectors or observation of a call.

    `blob` returns the bytes of a digest; those of an observation are fetched when they are looked
    at. Raises `RunError` for vectors that cannot be read.
    """
    reply = record.reply
    if record.embed is not None:
        vectors = _vectors(record, record.embed, blob(record.embed.vectors))
        return Embedded(vectors, reply.usage, reply.model, reply.latency_s)
    if record.act is not None:
        return Observation(record.act.observation, _Blobs(record.act.blobs, blob))
    return reply


def _vectors(record: CallRecord, embed: EmbedRecord, data: bytes) -> tuple[Vector, ...]:
    size = 4 * embed.dimensions
    try:
        if len(data) != embed.count * size:
            raise ValueError(f"{len(data)} bytes instead of {embed.count} times {size}")
        return tuple(from_bytes(data[at : at + size]) for at in range(0, len(data), size or 1))
    except ValueError as error:
        raise RunError(f"the vectors of call {record.id} cannot be read: {error}") from error


class _Blobs(Mapping[str, bytes]):
    """The large parts of an observation, read when they are needed."""

    def __init__(self, digests: Mapping[str, str], blob: Callable[[str], bytes]) -> None:
        self._digests = digests
        self._blob = blob

    def __getitem__(self, name: str) -> bytes:
        return self._blob(self._digests[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._digests)

    def __len__(self) -> int:
        return len(self._digests)
