"""Turning texts into vectors and acting in environments; imported by dialogues that do either."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.checks import checked_vectors, to_json
from adapters.contract import Fatal, Fault, FaultKind
from adapters.conversation import Picture, Reply, Usage
from adapters.decoding import decode_json
from adapters.embedding import (
    Embedded,
    Embedder,
    Vector,
    batches,
    from_bytes,
    to_bytes,
)
from harness.dialogue import Act, Embed, Observation
from harness.engine.dialogues import CallLog, MadeCall, Pending
from harness.engine.lanes import (
    PREFLIGHT,
    Answered,
    AnyLane,
    EngineState,
    Lane,
    OpenLane,
    model_key,
    request_key,
)
from harness.engine.stopping import ActFailed, FailuresInARow, Halt, ProtocolError, most_severe
from harness.printing import printable
from harness.runs import ActRecord, EmbedRecord, digest_of
from harness.runs.records import result_of

LONG = 8_000
"""Characters of a call's texts beyond which its line holds their digest only."""


@dataclass(frozen=True, slots=True)
class EmbedRequest:
    """One call of an embedder: at most as many texts as it takes."""

    texts: tuple[str, ...]
    unit_id: str
    place: str


class EmbedLane(OpenLane[EmbedRequest, Embedded]):
    """The way to an embedder."""

    def __init__(self, role: str, lane: Lane, session: EngineState) -> None:
        assert isinstance(lane.model, Embedder)
        self.info = lane.model.info
        self.key = model_key(self.info)
        self._embedder = lane.model
        super().__init__(role, lane, session)

    def first(self, picture: Picture | None) -> EmbedRequest:
        return EmbedRequest(("ready",), PREFLIGHT, PREFLIGHT)

    async def _send(self, request: EmbedRequest) -> Embedded:
        embedded = await self._in_time(self._embedder.embed(request.texts))
        try:
            return checked_vectors(embedded, len(request.texts), self.info.dimensions)
        except ValueError as error:
            raise Fatal(
                f"the embedder {self.info.name} returned vectors that a run cannot record: {error}"
            ) from error


class Embedding:
    """Makes the calls of embeds, by sending the texts that were not embedded in this run before.

    A vector depends on its text and model alone: repeats and trials have the same.
    """

    def __init__(self, lanes: Mapping[str, AnyLane], log: CallLog) -> None:
        self._lanes = lanes
        self._log = log
        self._of_this_run: dict[tuple[str, str], bytes] = {}

    def key(self, pending: Pending) -> str:
        """Hash of everything that the vectors depend on."""
        return request_key(self._lane(pending).key, pending.digest, 0)

    async def make(self, pending: Pending, key: str) -> MadeCall:
        """Raises `GaveUp`, `Stopped`, `Fatal`."""
        lane, texts = self._lane(pending), _texts(pending)
        known, role = self._of_this_run, lane.role
        found = await self._on_record(key, texts) or {
            text: from_bytes(known[role, text]) for text in texts if (role, text) in known
        }
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        answers = await self._asked(pending, lane, missing)
        replies = [answer.reply for answer in answers]
        new = (vector for reply in replies for vector in reply.vectors)
        found.update(zip(missing, new, strict=True))
        vectors = tuple(found[text] for text in texts)
        dimensions = {len(vector) for vector in vectors}
        if len(dimensions) > 1:
            sizes = " and ".join(map(str, sorted(dimensions)))
            raise Fatal(f"{lane.info.name} returned vectors of {sizes} numbers")
        embedded = Embedded(
            vectors,
            _usage(replies),
            replies[0].model if replies else "",
            max((reply.latency_s for reply in replies), default=0.0),
        )
        data = b"".join(map(to_bytes, vectors))
        record = pending.record(
            key,
            reply=Reply(
                "", usage=embedded.usage, model=embedded.model, latency_s=embedded.latency_s
            ),
            attempts=sum(answer.attempts for answer in answers),
            from_cache=bool(texts) and not missing,
            cost=_cost(answers),
            role=lane.role,
            embed=EmbedRecord(
                len(texts),
                max(dimensions, default=0),
                digest_of(data),
                texts if sum(map(len, texts)) <= LONG else None,
            ),
        )
        return MadeCall(record, embedded, (data,))

    def keep(self, pending: Pending, made: MadeCall) -> None:
        """Keep vectors for the other calls of this session, once they are on record."""
        assert isinstance(made.result, Embedded)
        role = self._lane(pending).role
        for text, vector in zip(_texts(pending), made.result.vectors, strict=True):
            self._of_this_run[role, text] = to_bytes(vector)

    async def _on_record(self, key: str, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of an equal call of this run, by text; {} if there is none."""
        equal = await self._log.equal(key)
        if equal is None or equal.embed is None:
            return {}
        data = await self._log.blob(equal.embed.vectors)
        embedded = result_of(equal, lambda _: data)
        assert isinstance(embedded, Embedded)
        return dict(zip(texts, embedded.vectors, strict=True))

    async def _asked(
        self, pending: Pending, lane: EmbedLane, texts: Sequence[str]
    ) -> list[Answered[Embedded]]:
        """Embed texts in as many requests as the embedder needs."""
        seat, place = pending.dialogue.seats[lane.role], pending.call.place
        unit_id = pending.dialogue.job.unit_id
        requests = [EmbedRequest(some, unit_id, place) for some in batches(texts, lane.info)]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(lane.answer(seat, request)) for request in requests]
        except BaseExceptionGroup as errors:
            raise most_severe(errors) from None
        return [task.result() for task in tasks]

    def _lane(self, pending: Pending) -> EmbedLane:
        assert isinstance(pending.call, Embed)
        lane = self._lanes[pending.call.role]
        if not isinstance(lane, EmbedLane):
            call = pending.call
            raise ProtocolError(
                f"{pending.dialogue}: '{call.place}' embeds by '{call.role}', which does not embed"
            )
        return lane


def _texts(pending: Pending) -> tuple[str, ...]:
    assert isinstance(pending.call, Embed)
    return tuple(pending.call.texts)


def _usage(replies: Sequence[Embedded]) -> Usage | None:
    usages = [reply.usage for reply in replies if reply.usage is not None]
    return sum(usages, Usage()) if len(usages) == len(replies) else None


def _cost(answers: Sequence[Answered[Embedded]]) -> float | None:
    costs = [answer.cost for answer in answers if answer.cost is not None]
    return sum(costs, 0.0) if len(costs) == len(answers) else None


class Acting:
    """Makes the calls of acts, which are neither repeated nor cached: an environment has a state.

    timeout_s: limit for an action.
    failures_in_a_row: the session ends after so many failures without an action in between.
    """

    def __init__(self, timeout_s: float | None, failures_in_a_row: int, halt: Halt) -> None:
        self._timeout_s = timeout_s
        self._failures = FailuresInARow("environments", failures_in_a_row, halt)
        self._halt = halt

    def key(self, pending: Pending) -> str:
        """Return the digest of the action: the environment's state has no hash."""
        return pending.digest

    async def make(self, pending: Pending, key: str) -> MadeCall:
        """Raises `ActFailed`, `Stopped`, `Fatal`, `ProtocolError`."""
        self._halt.check()
        act = _act(pending)
        loop = asyncio.get_running_loop()
        try:
            # The wait for a free environment has no limit of time.
            environment = await pending.dialogue.environment()
            self._halt.check()
            begun = loop.time()
            async with asyncio.timeout(self._timeout_s):
                seen = await environment.act(act.action)
        except TimeoutError:
            raise self._failed("timeout", f"no observation within {self._timeout_s:g} s") from None
        except Fault as fault:
            raise self._failed(fault.kind, printable(str(fault))) from fault
        self._failures.count = 0
        content = _content(pending, seen)
        digests = {name: digest_of(data) for name, data in seen.blobs.items()}
        record = pending.record(
            key,
            reply=Reply("", latency_s=round(loop.time() - begun, 6)),
            cost=0.0,
            act=ActRecord(act.action, content, digests),
        )
        return MadeCall(record, Observation(content, seen.blobs), tuple(seen.blobs.values()))

    def _failed(self, kind: FaultKind, message: str) -> ActFailed:
        failed = ActFailed(kind, 1, message)
        self._failures.add(failed)
        return failed

    def keep(self, pending: Pending, made: MadeCall) -> None:
        """Keep nothing."""


def _content(pending: Pending, seen: object) -> Any:
    """Return what was observed as the record will give it, halves of characters replaced.

    A resumed dialogue then receives the same observation. Raises `ProtocolError` for
    a value that cannot be recorded as an observation.
    """
    what = f"{pending.dialogue}: what was observed at '{pending.call.place}'"
    if not isinstance(seen, Observation):
        raise ProtocolError(f"{what} is a {type(seen).__name__}, not an Observation")
    if not isinstance(seen.blobs, Mapping) or not all(
        isinstance(name, str) and isinstance(data, bytes) for name, data in seen.blobs.items()
    ):
        raise ProtocolError(f"{what} has other blobs than bytes by name")
    try:
        return decode_json(to_json(seen.content))
    except (TypeError, ValueError, RecursionError) as error:
        raise ProtocolError(f"{what} has no form in JSON: {error}") from error


def _act(pending: Pending) -> Act:
    assert isinstance(pending.call, Act)
    return pending.call
