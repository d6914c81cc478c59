"""Local models as an adapter: conversations to batches, batches to workers, ids to replies."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from adapters.contract import AdapterInfo, Dialogue, Fatal, Fault, PictureSource, Request
from adapters.conversation import Finish, Reply, Usage
from adapters.local.batching import BatchAdapter, BatchRules
from adapters.local.contract import Family, Generated, Ignored, Work, Worker, WorkerStats
from adapters.local.prepared import Prepared
from adapters.local.sampling import DEFAULT_SEED, samples

if TYPE_CHECKING:
    import torch


class LocalAdapter(BatchAdapter):
    """An adapter over one or more workers that all have the same model.

    A batch goes to the worker that keeps its dialogues, else to the one with the least to do.
    """

    def __init__(
        self,
        info: AdapterInfo,
        family: Family,
        workers: Sequence[Worker],
        *,
        threads: int = 2,
        prepared_bytes: int = 2**30,
        dtype: torch.dtype | None = None,
        facts: Mapping[str, object] | None = None,
    ) -> None:
        """
        Args:
            info: the declaration made before loading.
            family: the workers' kind of model.
            workers: one per device.
            threads: CPU threads that encode conversations.
            prepared_bytes: the most memory for pixels that wait for their batches.
            dtype: their type while they wait, the same as the model's.
            facts: what the workers run, for the run's record.
        """
        plans = [worker.plan for worker in workers]
        rules = BatchRules(
            min(plan.rows for plan in plans),
            at_once=2 * len(plans),
            kept=sum(plan.open_dialogues for plan in plans),
        )
        super().__init__(info, rules)
        self._facts = dict(facts or {})
        self._family = family
        self._workers = list(workers)
        self._prepared = Prepared(family, threads, prepared_bytes, dtype)
        self._load = [0] * len(workers)
        self._homes: dict[Dialogue, int] = {}
        self._notices: list[str] = []
        if not family.together:
            self._notices.append(
                f"{info.name}: one step at a time, since its processor prepares the pictures of a "
                "batch otherwise than those of one step"
            )
        self._ignored = Ignored(info.name)
        self._closed = False

    async def prepare(self, request: Request, pictures: PictureSource) -> int:
        """Encode a request ahead of its batch; its prompt's tokens. Raises `Fatal`."""
        self._check_open()
        return await self._prepared.length(request, pictures)

    async def ask_many(
        self, requests: Sequence[Request], pictures: PictureSource
    ) -> list[Reply | Fault]:
        """Return one result per request, in order. Raises `Fatal`."""
        self._check_open()
        works = await asyncio.gather(*(self._work(request, pictures) for request in requests))
        shares: dict[int, list[int]] = defaultdict(list)
        for place, worker in self._shared_out(works):
            shares[worker].append(place)
        answers = await asyncio.gather(
            *(
                self._generated(worker, [works[place] for place in places])
                for worker, places in shares.items()
            )
        )
        results: dict[int, Reply | Fault] = {
            place: Reply("", Finish.TOO_LONG, Usage(), self._info.model)
            for place, work in enumerate(works)
            if self._room(work) < 1
        }
        for places, generated in zip(shares.values(), answers, strict=True):
            for place, result in zip(places, generated, strict=True):
                results[place] = (
                    result if isinstance(result, Fault) else self._reply(works[place], result)
                )
        return [results[place] for place in range(len(requests))]

    def _check_open(self) -> None:
        if self._closed:
            raise Fatal(f"{self._info.name} was closed")

    async def release(self, unit_id: str) -> None:
        """Drop the state of a finished step."""
        self._prepared.release(unit_id)
        for dialogue in [dialogue for dialogue in self._homes if dialogue[0] == unit_id]:
            del self._homes[dialogue]
        for worker in self._workers:
            worker.release(unit_id)

    def stats(self) -> WorkerStats:
        """Counts of all workers together."""
        return reduce(add, (worker.stats() for worker in self._workers))

    def measured(self) -> Mapping[str, object]:
        """Return facts about what the workers run, their counts, and how long they waited for
        batches."""
        counts = {"counts": asdict(self.stats()), "starvation": self.starvation.plain()}
        plain = json.dumps({**self._facts, **counts}, default=str)
        measured: Mapping[str, object] = json.loads(plain)
        return measured

    def notices(self) -> list[str]:
        for worker in self._workers:
            self._notices += worker.notices()
        notices, self._notices = self._notices, []
        return notices

    async def close(self) -> None:
        """Cancel all calls and free the devices."""
        self._closed = True
        self._prepared.close()
        await asyncio.gather(*(asyncio.to_thread(worker.close) for worker in self._workers))

    async def _work(self, request: Request, pictures: PictureSource) -> Work:
        encoded = await self._prepared.take(request, pictures)
        generation = request.generation
        self._notices += self._ignored.of(generation)
        work = Work(
            request.unit_id,
            request.repeat,
            request.place,
            encoded,
            generation,
            request.continues,
            tuple((p.digest, p.recipe) for p in request.conversation.pictures),
            request.sample,
        )
        room = max(1, self._room(work))
        if room < generation.max_tokens:
            work = replace(work, generation=replace(generation, max_tokens=room))
        return work

    def _room(self, work: Work) -> int:
        """Tokens left for the reply in the model's context."""
        context = self._info.context_tokens
        return work.generation.max_tokens if context is None else context - work.encoded.length

    def _shared_out(self, works: Sequence[Work]) -> list[tuple[int, int]]:
        """(index of the call, worker) for every call that fits into the context."""
        alive = [n for n, worker in enumerate(self._workers) if worker.ended is None]
        if not alive:
            raise Fatal(f"{self._workers[-1].ended}; replies so far are kept")
        least = min(alive, key=lambda worker: self._load[worker])
        chosen = []
        for place, work in enumerate(works):
            if self._room(work) >= 1:
                worker = self._homes.get(work.dialogue, least)
                if worker not in alive:
                    worker = least
                if work.continues:
                    self._homes[work.dialogue] = worker
                # Counted here and not when it is sent: other batches are shared out meanwhile.
                self._load[worker] += 1
                chosen.append((place, worker))
        return chosen

    async def _generated(self, worker: int, batch: list[Work]) -> list[Generated | Fault]:
        try:
            return await asyncio.wrap_future(self._workers[worker].submit(batch))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise Fatal("the model was closed during a call") from None
        finally:
            self._load[worker] -= len(batch)

    def _reply(self, work: Work, result: Generated) -> Reply:
        text = self._family.decode(result.ids)
        return Reply(
            text=text,
            finish=result.finish,
            usage=Usage(input=result.prompt, cached=result.cached, output=len(result.ids)),
            model=self._info.model,
            latency_s=result.seconds,
            native={"ids": list(result.ids), "text": text},
            sent=_sent(work),
            token_ids=(tuple(work.encoded.ids.tolist()), result.ids),
        )


def _sent(work: Work) -> dict[str, object]:
    """Return the parameters that a reply was generated with."""
    generation = work.generation
    if not samples(generation):
        return {"do_sample": False, "max_new_tokens": generation.max_tokens}
    return {
        "do_sample": True,
        "max_new_tokens": generation.max_tokens,
        "temperature": generation.temperature,
        "top_p": 1.0 if generation.top_p is None else generation.top_p,
        "seed": DEFAULT_SEED if generation.seed is None else generation.seed,
    }
