"""Ask about the units of a plan one at a time, for programs that choose the next one themselves.

Whoever drives this owns time: failures, retries, limits and records are the caller's. What a unit
is asked, and how it is scored, is the same as in a run.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from adapters.contract import Adapter, Generation, Request
from adapters.conversation import Conversation, Finish, Reply, Usage
from harness.benchmarks.ready import Ready
from harness.benchmarks.scoring import scored, scorer_of
from harness.dialogue import Ask, Call, Embed, Result, hold_async
from harness.engine import ProtocolError
from harness.errors import DataError
from harness.pictures import PictureStore
from harness.planning.plan import Plan
from harness.planning.pricing import tokens_of
from harness.planning.roles import EmbeddingRole
from harness.runs import Unit
from parsers.records import Prediction

KEPT = 32
"""Questions kept for further repeats, and for units asked slightly out of order."""


class Asked(NamedTuple):
    """The model of one dialogue and its parameters."""

    adapter: Adapter
    generation: Generation


class OneByOne:
    """Holds the dialogues of a plan's units, in one event loop.

    Units may be held side by side and in any order; in the order of the data, each is read and
    prepared once.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._score = scorer_of(plan.settings, plan.source.declared)
        self._questions = _Questions(plan)
        self._shared: dict[tuple[str, int, str, str], tuple[str, Result]] = {}
        self._locks: dict[tuple[str, int, str, str], asyncio.Lock] = {}
        self._pictures: PictureStore | None = None
        self._open: AsyncGenerator[PictureStore] | None = None

    async def hold(self, unit_id: str, repeat: int, asked: Callable[[str], Asked]) -> Unit[Any]:
        """Hold the dialogue of a unit, and return its record with prediction and scores.

        `asked` is called once for each role that the dialogue asks, "" for the model under test.
        Units that are not asked about (invalid ones, and those whose outcome is known) come back as
        in a run. Raises `DataError` for a unit that cannot be read, `ProtocolError`, and whatever
        an adapter raises.
        """
        plan, settings = self._plan, self._plan.settings
        question = await self._questions.of(unit_id)
        record = replace(question.unit, repeat=repeat, settled=True)
        if record.invalid is not None or question.known is not None:
            return scored(replace(record, prediction=question.known), self._score)
        view = question.view
        view = view.shuffled(repeat) if settings.shuffles > 1 else view.again()
        pictures = await self._store()
        for digest, data in question.sources.items():
            pictures.add(digest, data, unit_id)
        dialogue = _Dialogue(self, unit_id, repeat, pictures, asked)
        try:
            prediction = await hold_async(plan.source.dialogue(view, plan.shows), dialogue.results)
        finally:
            for digest in question.sources:
                pictures.discard(digest)
        if not isinstance(prediction, Prediction):
            raise ProtocolError(
                f"{record.kind} {unit_id}: the protocol returned {type(prediction).__name__}, not "
                "a Prediction"
            )
        asked_about = replace(
            record,
            asked=True,
            pictures=record.pictures or view.looked_up,
            prompt_tokens=dialogue.prompt_tokens,
            prediction=prediction,
            usage=dialogue.usage,
        )
        return scored(asked_about, self._score)

    async def embed(self, call: Embed) -> Result:
        """Embed texts with the embedder of the role. Raises what it raises."""
        role = self._plan.roles[call.role]
        assert isinstance(role, EmbeddingRole)
        return await role.embedder.embed(call.texts)

    async def once(
        self, call: Ask | Embed, repeat: int, make: Callable[[], Coroutine[Any, Any, Result]]
    ) -> Result:
        """The result of a call that units share; the first of them makes it."""
        key = call.shared, repeat, call.role, call.name
        async with self._locks.setdefault(key, asyncio.Lock()):
            if key not in self._shared:
                self._shared[key] = call.digest(), await make()
        digest, result = self._shared[key]
        if digest != call.digest():
            raise ProtocolError(
                f"units of {call.shared} share '{call.place}' and ask differently for it"
            )
        return result

    async def _store(self) -> PictureStore:
        """The pictures, whose processes end with the event loop."""
        if self._pictures is None:
            # A loop that ends closes the asynchronous generators that it has begun.
            self._open = _stores(self._plan.settings.workers)
            self._pictures = await anext(self._open)
        return self._pictures


async def _stores(workers: int | None) -> AsyncGenerator[PictureStore]:
    async with PictureStore(workers) as store:
        yield store


@dataclass
class _Dialogue:
    """A dialogue under way.

    prompt_tokens: estimate for its longest prompt to the model under test.
    usage: tokens of all replies that were asked for it; None as long as no reply tells them.
    """

    units: OneByOne
    unit_id: str
    repeat: int
    pictures: PictureStore
    asked: Callable[[str], Asked]
    prompt_tokens: int | None = None
    usage: Usage | None = None
    _known: dict[str, Asked] = field(default_factory=dict)

    async def results(self, calls: tuple[Call, ...]) -> Sequence[Result]:
        """The results of calls that are made side by side, in order."""
        return await _side_by_side([self._result(call) for call in calls])

    async def _result(self, call: Call) -> Result:
        if isinstance(call, Ask):
            return await self._once(call, lambda: self._reply(call))
        if isinstance(call, Embed):
            return await self._once(call, lambda: self.units.embed(call))
        raise ProtocolError(f"{self.unit_id}: '{call.place}' acts, and there is nothing to act in")

    async def _once(
        self, call: Ask | Embed, make: Callable[[], Coroutine[Any, Any, Result]]
    ) -> Result:
        return await (self.units.once(call, self.repeat, make) if call.shared else make())

    async def _reply(self, ask: Ask) -> Reply:
        if ask.role not in self._known:
            self._known[ask.role] = self.asked(ask.role)
        adapter, generation = self._known[ask.role]
        if self._is_too_long(ask.conversation, adapter, is_main=not ask.role):
            return Reply("", Finish.TOO_LONG)
        request = Request(
            ask.conversation,
            ask.generation(generation, self.repeat),
            self.unit_id,
            ask.place,
            ask.continues,
            self.repeat,
            ask.sample,
            ask.name,
            id=f"{self.unit_id}/{self.repeat}/{ask.name}",
            by_protocol=ask.own,
        )
        reply = await adapter.ask(request, self.pictures)
        if reply.usage is not None:
            self.usage = (self.usage or Usage()) + reply.usage
        return reply

    def _is_too_long(self, conversation: Conversation, adapter: Adapter, *, is_main: bool) -> bool:
        """Return whether a prompt exceeds the model's context and is not sent."""
        tokens = tokens_of(conversation, adapter.info)
        if is_main:
            self.prompt_tokens = max(tokens, self.prompt_tokens or 0)
        context = adapter.info.context_tokens
        return context is not None and tokens > context


async def _side_by_side(calls: Sequence[Coroutine[Any, Any, Result]]) -> Sequence[Result]:
    """Return the results of calls, in order; if one fails, the others are cancelled."""
    if len(calls) == 1:
        return [await calls[0]]
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Questions:
    """Prepare the questions of units on request, in a thread.

    What lies between two units that are asked for soon after each other is kept: it is asked for
    next, where several are held side by side.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._places = {entry.unit_id: at for at, entry in enumerate(plan.dataset.entries)}
        self._kept: OrderedDict[str, Ready[Any]] = OrderedDict()
        self._next = len(self._places)
        self._source: Iterator[Ready[Any]] = iter(())
        self._thread = ThreadPoolExecutor(1, "units")
        self._turn = asyncio.Lock()

    async def of(self, unit_id: str) -> Ready[Any]:
        """The question of a unit. Raises `DataError`, KeyError for one that was not selected."""
        place = self._places[unit_id]
        async with self._turn:
            while unit_id not in self._kept:
                if not self._next <= place < self._next + KEPT:
                    self._begin(place)
                await self._prepare()
            self._kept.move_to_end(unit_id)
            return self._kept[unit_id]

    def _begin(self, place: int) -> None:
        dataset = self._plan.dataset
        self._source = self._plan.questions_of(replace(dataset, entries=dataset.entries[place:]))
        self._next = place

    async def _prepare(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            question = await loop.run_in_executor(self._thread, next, self._source, None)
            if question is None:
                raise DataError("the data has fewer rows than its index: it has changed")
        except BaseException:
            self._next = len(self._places)  # The source has ended, and is begun anew.
            raise
        self._next += 1
        self._kept[question.unit_id] = question
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
