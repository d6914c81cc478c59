"""Runs of the sample with a given adapter, and what their clocks say."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from adapters.contract import AdapterInfo, PictureSource, Request
from adapters.conversation import Reply
from adapters.local.adapter import LocalAdapter
from adapters.prices import PriceSheet
from adapters.vllm.adapter import VllmAdapter
from benchmarks.kernel_time import KernelTime, watched
from benchmarks.naive_adapter import Naive
from harness.dialogue import Ask
from harness.planning.model import Model
from harness.planning.plan import Plan, plan_run
from harness.session.observers import Finished, SessionObserver
from harness.session.run import carry_out
from harness.settings import Settings

Work = Callable[[Awaitable[Finished]], Awaitable[Finished]]
Lengths = tuple[int, int]
"""The fewest and the most tokens of a reply."""


def drawn(request: Request, lengths: Lengths) -> Request:
    """The request with a length drawn for its reply, which is the same in every way of asking.

    Random weights end no reply by themselves.
    """
    least, most = lengths
    call = f"{request.unit_id} {request.repeat} {request.place}"
    number = int.from_bytes(hashlib.sha256(call.encode()).digest()[:8], "big")
    tokens = least + number % (most - least + 1)
    return replace(request, generation=replace(request.generation, max_tokens=tokens))


class Drawn(LocalAdapter):
    """Our adapter, with replies of drawn lengths."""

    lengths: Lengths = (1, 1)

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        return await super().ask(drawn(request, self.lengths), pictures)


@dataclass(frozen=True, slots=True)
class Measured:
    """One way of asking: what it did in how many seconds, from the first step opened to the last
    one done. `rows` is the mean size of a batch, of vLLM how many calls it was asked at once.
    `prompt` is the mean length of a prompt in tokens. `starved` and `idle` are shares of
    the time since the first batch, `still` is what the device itself counted between two batches;
    `memory` is in bytes. None is what was not measured."""

    name: str
    steps: int
    tokens: int
    seconds: float
    rows: float
    prompt: float | None = None
    starved: float | None = None
    idle: float | None = None
    still: float | None = None
    memory: int | None = None

    @property
    def steps_per_hour(self) -> float:
        return 3600 * self.steps / self.seconds

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds


class MostMemory:
    """Peak of torch's memory on the device while this is entered; looks ten times a second,
    because the adapter resets torch's own count for every batch."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.bytes: int | None = None

    def __enter__(self) -> MostMemory:
        if torch.device(self._device).type == "cuda":
            self.bytes = 0
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        if self.bytes is not None:
            self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.1):
            self.bytes = max(self.bytes or 0, torch.cuda.memory_reserved(self._device))


def opened(
    folder: Path, pixels: int, tokens: int, *, repeats: int = 1, steps: tuple[str, ...] = ()
) -> Plan:
    """The sample's steps with the default protocol, all of them or those; a model is put in later.

    Every reply is up to `tokens` long, every picture up to `pixels` pixels.
    """
    settings = Settings(
        model="always-click",
        benchmark="sample",
        step_ids=steps,
        image_policy="full",
        pixels=pixels,
        max_tokens=(tokens,),
        repeats=repeats,
        out=str(folder),
        cache=False,
        preflight=False,
        progress="off",
    )
    return plan_run(settings)


def questions(plan: Plan, most: int | None, few: int) -> tuple[list[str], list[str]]:
    """The ids of the first steps that are asked about, at most `most`, and the texts of both rounds
    of `few` of them."""
    ids, texts = list[str](), list[str]()
    for question in plan.questions_of(plan.dataset):
        if len(ids) == most:
            break
        if question.unit.invalid is not None:
            continue
        ids.append(question.unit_id)
        if len(ids) > few:
            continue
        dialogue = plan.protocol.dialogue(question.view)
        asked = next(dialogue)
        with contextlib.suppress(StopIteration):
            while isinstance(asked, Ask):
                texts += [message.text for message in asked.conversation.added]
                asked = dialogue.send(Reply("The next action is to click."))
        dialogue.close()
    return ids, texts


class Clocked:
    """An adapter that is asked call by call, with the seconds from the first to the last reply, and
    replies of drawn lengths."""

    def __init__(self, adapter: VllmAdapter, lengths: Lengths) -> None:
        self._adapter = adapter
        self._lengths = lengths
        self._times: list[float] = []
        self.notices, self.close = adapter.notices, adapter.close

    @property
    def info(self) -> AdapterInfo:
        return self._adapter.info

    @property
    def seconds(self) -> float:
        return max(self._times) - min(self._times)

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        self._times.append(time.monotonic())
        reply = await self._adapter.ask(drawn(request, self._lengths), pictures)
        self._times.append(time.monotonic())
        return reply

    def counts(self) -> dict[str, int]:
        """Replies and tokens so far."""
        return dict(self._adapter.counts)


def measure(
    name: str, plan: Plan, adapter: LocalAdapter | Naive | Clocked, device: str
) -> Measured:
    """Carry out a run and read its clocks. Raises SystemExit when it does not end."""
    with MostMemory(device) as memory:
        result = asyncio.run(_carried_out(plan, adapter))
    if not result.complete:
        raise SystemExit(f"{name}: the run did not end: {result.stopped}")
    steps = sum(record.asked for record in result.records)
    if isinstance(adapter, Clocked):
        counts = adapter.counts()
        prompt = (counts["prompt_tokens"] + counts["cached_tokens"]) / counts["replies"]
        tokens = counts["generated_tokens"]
        at_once = min(adapter.info.concurrency or steps, steps)
        return Measured(name, steps, tokens, adapter.seconds, at_once, prompt)
    waits = adapter.starvation
    rows = waits.rows / waits.batches
    if isinstance(adapter, Naive):
        tokens, seconds = adapter.tokens, waits.total_s
        return Measured(name, steps, tokens, seconds, rows, memory=memory.bytes)
    stats = adapter.stats()
    return Measured(
        name,
        steps,
        stats.generated_tokens,
        waits.total_s,
        rows,
        (stats.prompt_tokens + stats.cached_tokens) / stats.rows,
        waits.share,
        waits.idle_share,
        stats.starved_s / (stats.busy_s + stats.starved_s),
        memory.bytes,
    )


def kernel_time(plan: Plan, adapter: LocalAdapter, seconds: float) -> KernelTime | None:
    """The share of time with kernels in steady state, from the third batch on; None when the run
    was over before `seconds` had passed."""
    found: list[KernelTime | None] = []

    async def around(work: Awaitable[Finished]) -> Finished:
        done: list[Finished] = []

        async def keep() -> None:
            done.append(await work)

        found.append(await watched(keep(), lambda: adapter.stats().batches >= 3, seconds))
        return done[0]

    asyncio.run(_carried_out(plan, adapter, around))
    return found[0]


async def _carried_out(
    plan: Plan, adapter: LocalAdapter | Naive | Clocked, around: Work | None = None
) -> Finished:
    plan = replace(plan, model=Model(adapter, None, PriceSheet()))
    work = carry_out(plan, SessionObserver())
    return await (work if around is None else around(work))
