"""Speed of preparing screenshots, against a bare pool of processes that does nothing else.

Both do the same work on the same pages, in turns, in one run: the bare pool only decodes, resizes
and encodes; the other side goes through planning, the picture store and its processes. Every
screenshot's bytes differ, so nothing may come from the store's memory.

Rounds are short and many, and their median counts: a busy machine disturbs one side of a round, not
the same side of most.

    python benchmarks/picture_preparation.py --pictures 24 --rounds 11

Exit status 1 when the rate is below 80 % of the bare pool's, or more than 1 % were cache hits.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import multiprocessing
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from harness.pictures import PicturePolicy, PictureStore, Recipe, plan, read_size

LEAST_SHARE = 0.80
MOST_HITS = 0.01
Job = tuple[bytes, str]
"""An encoded page and the recipe of the picture wanted of it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Pictures prepared, how many of them came from memory, and the seconds it took."""

    pictures: int
    hits: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.pictures / self.seconds


Through = Callable[[list[bytes], PicturePolicy, int], Awaitable[Measured]]


def drawn_pages(count: int, seed: int = 1) -> list[bytes]:
    """Pages of text, blocks of colour and photo-like noise, 1280 wide and 3,000 to 7,400 tall."""
    from PIL import Image, ImageDraw

    chance = random.Random(seed)
    pages = []
    for i in range(count):
        height = 3000 + 4400 * i // max(1, count - 1)
        page = Image.new("RGB", (1280, height), "white")
        draw = ImageDraw.Draw(page)
        for top in range(0, height, 24):
            line = " ".join(f"{chance.randrange(10**6):x}" for _ in range(24))
            draw.text((40 + chance.randrange(80), top), line, fill=(40, 40, 60))
        for _ in range(height // 200):
            x, y = chance.randrange(1000), chance.randrange(height)
            colour = tuple(chance.randrange(256) for _ in range(3))
            draw.rectangle((x, y, x + 260, y + 90), fill=colour)
            photo = Image.effect_noise((80, 60), 60).resize((320, 240)).convert("RGB")
            page.paste(photo, (chance.randrange(1000), chance.randrange(height)))
        out = io.BytesIO()
        page.save(out, "JPEG", quality=90)
        pages.append(out.getvalue())
    return pages


def distinct(pages: list[bytes], serial: Iterator[int], count: int) -> list[bytes]:
    """`count` screenshots with bytes that no other has: a comment with a number in each."""
    made = []
    for i in range(count):
        page, note = pages[i % len(pages)], f"number {next(serial)}".encode()
        marker = b"\xff\xfe" + (len(note) + 2).to_bytes(2, "big") + note
        made.append(page[:2] + marker + page[2:])
    return made


def bare_work(job: Job) -> bytes:
    """Decode, resize, encode: what any preparation must do at the least."""
    from PIL import Image

    source, recipe = job[0], Recipe.parse(job[1])
    image = Image.open(io.BytesIO(source))
    if recipe.draft > 1:
        image.draft(None, (image.width // recipe.draft, image.height // recipe.draft))
    box = tuple(side / recipe.draft for side in recipe.box)
    picture = image.resize(recipe.size, Image.Resampling.LANCZOS, box=box)  # type: ignore[arg-type]
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=recipe.quality, subsampling="4:2:0")
    return out.getvalue()


def bare_pool(pool: ProcessPoolExecutor, sources: list[bytes], policy: PicturePolicy) -> Measured:
    """The pool at work on pages whose recipes were planned before the clock starts."""
    jobs = [
        (source, picture.recipe)
        for source in sources
        for picture in plan(policy, read_size(source))
    ]
    start = time.perf_counter()
    done = sum(1 for _ in pool.map(bare_work, jobs))
    return Measured(done, 0, time.perf_counter() - start)


def through_store(store: PictureStore) -> Through:
    """The product's way, with as many steps in flight as given."""

    async def measure(sources: list[bytes], policy: PicturePolicy, in_flight: int) -> Measured:
        waiting = iter(enumerate(sources))
        done = 0

        async def steps() -> None:
            nonlocal done
            for number, source in waiting:
                screenshot = read_size(source)
                store.add(screenshot.digest, source, f"step {number}")
                pictures = plan(policy, screenshot)
                for picture in pictures:
                    store.prepare(picture)
                for picture in pictures:
                    await store.encoded(picture)
                    done += 1
                store.discard(screenshot.digest)

        prepared = store.stats.prepared
        start = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(in_flight):
                group.create_task(steps())
        seconds = time.perf_counter() - start
        return Measured(done, done - (store.stats.prepared - prepared), seconds)

    return measure


async def compare(options: argparse.Namespace) -> bool:
    """Both sides in turns; prints a line per round and the verdict."""
    policy = PicturePolicy.parse(options.policy)
    pages = drawn_pages(options.pages)
    serial = iter(range(10**9))
    context = multiprocessing.get_context("spawn")
    shares, rates, pictures, hits = [], [], 0, 0
    with ProcessPoolExecutor(options.workers, mp_context=context) as pool:
        async with PictureStore(options.workers) as store:
            measure = through_store(store)
            warm_up = distinct(pages, serial, 2 * options.workers)
            bare_pool(pool, warm_up, policy)
            await measure(warm_up, policy, options.in_flight)
            for number in range(options.rounds):
                sources = distinct(pages, serial, options.pictures)
                if number % 2:  # The first one alternates: drift favours neither.
                    ours = await measure(sources, policy, options.in_flight)
                    bare = bare_pool(pool, sources, policy)
                else:
                    bare = bare_pool(pool, sources, policy)
                    ours = await measure(sources, policy, options.in_flight)
                shares.append(ours.rate / bare.rate)
                rates.append(ours.rate)
                pictures, hits = pictures + ours.pictures, hits + ours.hits
                print(
                    f"round {number + 1}: through {options.through} {ours.rate:.2f}/s, "
                    f"bare pool {bare.rate:.2f}/s, share {shares[-1]:.1%}",
                    flush=True,
                )
    share, hit_share = statistics.median(shares), hits / pictures
    print(f"cache hits {hits} of {pictures} ({hit_share:.1%}; at most {MOST_HITS:.0%})")
    print(
        f"median {statistics.median(rates):.2f} pictures/s, {share:.1%} of the bare pool "
        f"(at least {LEAST_SHARE:.0%}), {options.workers} processes, policy {policy.text}"
    )
    return share >= LEAST_SHARE and hit_share <= MOST_HITS


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--through", choices=("store",), default="store")
    parser.add_argument("--pictures", type=int, default=24, help="screenshots per round and side")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--workers", type=int, default=2, help="processes of either side")
    parser.add_argument("--in-flight", type=int, default=8, help="steps at a time")
    parser.add_argument("--pages", type=int, default=6, help="different pages to draw")
    parser.add_argument("--policy", default="full")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(compare(arguments())) else 1)
