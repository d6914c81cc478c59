"""A model, a log and dialogues for the tests of the engine."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from adapters.contract import Adapter, AdapterInfo, Fault, PictureSource, Request
from adapters.conversation import Conversation, Picture, Reply, Usage, user
from adapters.local.batching import BatchAdapter
from harness.dialogue import Ask, Dialogue
from harness.engine import Engine, EnginePolicy, Job, Lane, Outcome, RetryPolicy
from harness.pictures import PictureStore
from harness.runs import CallRecord, digest_of
from parsers.records import Prediction, Status

Answer = Callable[[Request], Reply | Awaitable[Reply]]

IMPATIENT = RetryPolicy(attempts=3, first_wait_s=0.0001, longest_wait_s=0.0002)


def echo(request: Request) -> Reply:
    return Reply(f"{request.unit_id} {request.place}", usage=Usage(10, output=2), model="m")


class Model:
    """Answers by a function; `most` is how many calls were under way at once."""

    def __init__(self, answer: Answer = echo, **info: Any) -> None:
        self._answer = answer
        values: dict[str, Any] = {
            "name": "test",
            "model": "m",
            "provider": "test",
            "concurrency": 4,
        }
        self._info = AdapterInfo(**{**values, **info})
        self.asked: list[Request] = []
        self.most = 0
        self._now = 0

    @property
    def info(self) -> AdapterInfo:
        return self._info

    @property
    def order(self) -> list[tuple[str, str]]:
        return [(request.unit_id, request.place) for request in self.asked]

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        self.asked.append(request)
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            await asyncio.sleep(0)
            reply = self._answer(request)
            return await reply if inspect.isawaitable(reply) else reply
        finally:
            self._now -= 1

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


@dataclass(frozen=True)
class Measured:
    """A request, and its length in characters."""

    request: Request

    @property
    def length(self) -> int:
        return sum(len(message.text) for message in self.request.conversation.messages)


class BatchModel(BatchAdapter[Measured]):
    """The same in batches, which are kept. Working on one takes `batch_s` seconds."""

    def __init__(
        self, answer: Answer = echo, *, batch_size: int = 4, batch_s: float = 0.0, **info: Any
    ) -> None:
        self.model = Model(answer, **info)
        super().__init__(self.model.info, batch_size)
        self._batch_s = batch_s
        self.batches: list[list[tuple[str, str]]] = []

    @property
    def asked(self) -> list[Request]:
        return self.model.asked

    @property
    def order(self) -> list[tuple[str, str]]:
        return self.model.order

    @property
    def most(self) -> int:
        return self.model.most

    async def prepare(self, request: Request, pictures: PictureSource) -> Measured:
        return Measured(request)

    async def answer(self, batch: Sequence[Measured]) -> list[Reply | Fault]:
        self.batches.append([(m.request.unit_id, m.request.place) for m in batch])
        await asyncio.sleep(self._batch_s)
        results: list[Reply | Fault] = []
        for one in batch:
            try:
                results.append(await self.model.ask(one.request, PictureStore()))
            except Fault as fault:
                results.append(fault)
        return results

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


@dataclass
class Log:
    """Calls on record, in memory."""

    records: list[CallRecord] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    answerers: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    async def record_call(self, record: CallRecord, blobs: Sequence[bytes] = ()) -> None:
        await asyncio.sleep(0)
        self.records.append(record)
        self.blobs.update((digest_of(data), data) for data in blobs)

    async def blob(self, digest: str) -> bytes:
        return self.blobs[digest]

    async def equal(self, request: str) -> CallRecord | None:
        found = (one for one in self.records if one.request == request)
        return next((one for one in found if one.reply.finish == "stop"), None)

    def note_answerer(self, role: str, said: Mapping[str, str]) -> None:
        self.answerers.append((role, dict(said)))

    def of(self, unit_id: str) -> dict[str, CallRecord]:
        return {r.place: r for r in self.records if r.unit_id == unit_id}


def say(*parts: str | Picture) -> Conversation:
    return Conversation((user(*parts),))


def rounds(
    *places: str, text: str = "Step?", picture: Picture | None = None
) -> Callable[[], Dialogue]:
    """A dialogue that asks once per place, each time going on from the reply before."""

    def dialogue() -> Dialogue:
        conversation = say(*((picture, text) if picture else (text,)))
        said = []
        for place in places:
            reply = yield Ask(conversation, place, continues=place != places[-1])
            assert isinstance(reply, Reply)
            said.append(reply.text or reply.finish)
            conversation = conversation.then(reply, user(f"after {place}"))
        return Prediction.of(Status.ANSWERED, value=" / ".join(said))

    return dialogue


def two_rounds(step_id: str, **more: Any) -> Job:
    return Job(step_id, rounds("round-1", "round-2", text=f"Step {step_id}?"), **more)


class Fetched:
    """Dialogues of two rounds, and how many were open at most of those fetched so far."""

    def __init__(self) -> None:
        self.ended = self.most = 0

    def jobs(self, count: int) -> Iterator[Job]:
        for number in range(count):
            self.most = max(self.most, number + 1 - self.ended)
            yield two_rounds(f"s{number}")

    def settle(self, outcome: object) -> None:
        self.ended += 1


def engine(model: Adapter, log: Log | None = None, **more: Any) -> Engine:
    policy = more.pop("policy", None) or EnginePolicy()
    policy = replace(policy, retry=IMPATIENT) if policy.retry == RetryPolicy() else policy
    names = ("generation", "pricing", "prompt_tokens", "concurrency")
    lane = Lane(model, **{name: more.pop(name) for name in names if name in more})
    return Engine(lane, PictureStore(), log or Log(), policy=policy, **more)


def run(driver: Engine, jobs: Iterable[Job]) -> list[Outcome]:
    """Hold the dialogues; the outcomes in the order of the steps' ids."""
    outcomes: list[Outcome] = []
    asyncio.run(driver.run(jobs, outcomes.append))
    return sorted(outcomes, key=lambda outcome: (outcome.unit_id, outcome.repeat))
