"""Speed of the engine alone: an instant model, steps prepared beforehand, every call synced.

    python benchmarks/engine_throughput.py --steps 3000

Three things are measured in one run, because a rate by itself says nothing about a machine: the
bare adapter called side by side with nothing written, lines appended and flushed one by one, and
the engine with its run directory (without a cache, filling one, and served by it). The engine's
share of the bare rate is what its bookkeeping costs; its multiple of the flush rate is what
gathering lines gains.

Exit status 1 when the engine without a cache gives fewer replies per second than `--require`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from adapters.contract import AdapterInfo, Generation, PictureSource, Request
from adapters.conversation import Conversation, Picture, Reply, Usage, system, user
from harness.dialogue import Ask, Dialogue
from harness.engine import Engine, Job, Lane, Outcome
from harness.engine.cache import ReplyCache
from harness.pictures import PictureStore
from harness.runs import RunDirectory, Setup
from parsers.mind2web import MIND2WEB
from parsers.records import Prediction, Status

PROMPT_CHARACTERS = 6_000
CONCURRENCY = 64
FLUSHES = 300
ANSWER = "The next action is to click the button.\n\nELEMENT: C\nACTION: CLICK\nVALUE: None"
PREDICTION = Prediction.of(Status.ANSWERED, "C", "7", None, "CLICK")


class Instant:
    """A model that answers at once."""

    info = AdapterInfo("instant", "instant", "instant", concurrency=CONCURRENCY)

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        return Reply(ANSWER, usage=Usage(2_000, output=60), model="instant")

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


def two_rounds(number: int) -> Callable[[], Dialogue]:
    """A dialogue like SeeAct's: a screenshot and a long text, then the choices."""
    text = f"Step {number}. " + "You are asked to complete a task on a website. " * 200
    question = "(Multiple choice) A. <button>Search</button> B. <a>Help</a> " * 20
    first = Conversation(
        (
            system("Imagine that you are imitating humans doing web navigation."),
            user(Picture(f"{number:064}", "jpeg-85", 1280, 720), text[:PROMPT_CHARACTERS]),
        )
    )
    second = user(question)

    def dialogue() -> Dialogue:
        reply = yield Ask(first, "round-1", continues=True)
        assert isinstance(reply, Reply)
        yield Ask(first.then(reply, second), "round-2")
        return PREDICTION

    return dialogue


async def bare(jobs: list[Job]) -> None:
    """Every dialogue side by side, nothing kept."""
    model, pictures, generation = Instant(), PictureStore(), Generation()
    slots = asyncio.Semaphore(CONCURRENCY)

    async def hold(job: Job) -> None:
        dialogue = job.dialogue()
        ask = next(dialogue)
        while True:
            assert isinstance(ask, Ask)
            request = Request(ask.conversation, generation, job.unit_id, ask.place)
            async with slots:
                reply = await model.ask(request, pictures)
            try:
                ask = dialogue.send(reply)
            except StopIteration:
                return

    await asyncio.gather(*(hold(job) for job in jobs))


async def engine(jobs: list[Job], run: RunDirectory, cache: ReplyCache | None) -> int:
    outcomes: list[Outcome] = []
    driver = Engine(Lane(Instant()), PictureStore(), run, cache=cache)
    await driver.run(jobs, outcomes.append)
    if cache is not None:
        await cache.close()
    return len(outcomes)


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def with_run(folder: Path, jobs: list[Job], cache: Path | None) -> float:
    """Seconds that the dialogues take, the run directory's opening and closing left out."""
    setup = Setup(declaration=MIND2WEB, config={})
    with RunDirectory.start(folder, setup) as run:
        store = None if cache is None else ReplyCache(cache, print)
        return timed(lambda: asyncio.run(engine(jobs, run, store)))


def flush_rate(folder: Path) -> float:
    """Lines per second when each is flushed by itself."""
    line = b"x" * 8_000 + b"\n"
    with (folder / "flushes").open("wb", buffering=0) as file:

        def work() -> None:
            for _ in range(FLUSHES):
                file.write(line)
                os.fsync(file.fileno())

        return FLUSHES / timed(work)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=3_000, help="dialogues of two rounds")
    parser.add_argument("--folder", type=Path, help="where to write (default: temporary files)")
    parser.add_argument("--require", type=float, default=1_000.0, help="replies per second")
    arguments = parser.parse_args()
    replies = 2 * arguments.steps
    jobs = [Job(f"task_{number}", two_rounds(number)) for number in range(arguments.steps)]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        cache = folder / "replies.sqlite"
        flushes = flush_rate(folder)
        baseline = replies / timed(lambda: asyncio.run(bare(jobs)))
        plain = replies / with_run(folder / "plain", jobs, None)
        filling = replies / with_run(folder / "filling", jobs, cache)
        served = replies / with_run(folder / "served", jobs, cache)
    rows = (
        ("bare adapter, nothing written", baseline),
        ("single lines, each flushed", flushes),
        ("engine, synced", plain),
        ("engine, synced, filling a cache", filling),
        ("engine, synced, served by a cache", served),
    )
    for title, rate in rows:
        share, multiple = rate / baseline, rate / flushes
        print(f"{title:36} {rate:10,.0f} /s {share:8.3f} of bare {multiple:8.2f} of flushes")
    return 0 if plain >= arguments.require else 1


if __name__ == "__main__":
    sys.exit(main())
