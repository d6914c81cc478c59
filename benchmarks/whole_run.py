"""Speed of whole runs: reading, page work, dialogues, scoring and journal, model instant.

    python benchmarks/whole_run.py --rows 6418              # no pictures: steps per second
    python benchmarks/whole_run.py --rows 64 --pictures     # with pictures, against a bare pool

Every row differs: ids, text of the page, bytes of the screenshot. Rows are variations of the real
row in the folder named by VLM_EVAL_TEST_DATA, or else of the sample's largest page, therefore
numbers of two machines compare only for the same source, which is printed.

Without pictures the baseline is `lxml.etree.fromstring` over the same pages, in the same run, by
processor time. With pictures it is a pool of two processes that only decodes, resizes and encodes,
in turns with the runs. Exit status 1 below 140 steps per second, above 10 times the processor time
of the parsing, below 80 % of the bare pool, or when more than 1 % of the pictures came from memory.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from lxml import etree

from adapters.contract import AdapterInfo, PictureSource, Request
from adapters.conversation import Reply, Usage
from adapters.processes import available_cpus
from harness.pictures import Recipe
from harness.planning.plan import Plan, plan_run
from harness.sample import files
from harness.session.observers import SessionObserver
from harness.session.run import carry_out
from harness.settings import Settings

LEAST_RATE = 140
MOST_CPU = 10.0
LEAST_SHARE = 0.80
MOST_HITS = 0.01
ROWS_PER_GROUP = 100
ANSWER = "The next action is to press the button.\n\nELEMENT: C\nACTION: CLICK\nVALUE: None"


def template() -> tuple[dict[str, Any], str]:
    """A row to make others from, and where it comes from."""
    folder = os.environ.get("VLM_EVAL_TEST_DATA")
    if folder:
        path = Path(folder) / "seeact-example" / "multimodal_mind2web_row.parquet"
        return pq.read_table(path).to_pylist()[0], "the real row"
    rows = pq.read_table(files()["dev"]).to_pylist()
    return max(rows, key=lambda row: len(row["cleaned_html"])), "the sample's largest page"


def varied(row: dict[str, Any], number: int, picture: bytes | None) -> dict[str, Any]:
    """The row once more, with ids, a text and a screenshot that no other row has."""
    html = row["cleaned_html"].replace("</text>", f" {number}</text>", 3)
    task = f"{row['annotation_id'][:-6]}{number // 6:06d}"
    return row | {
        "annotation_id": task,
        "action_uid": f"{row['action_uid'][:-6]}{number:06d}",
        "cleaned_html": html,
        "raw_html": html,
        "target_action_index": str(number % 6),
        "screenshot": {"bytes": picture or BLANK, "path": None},
    }


def jpeg(number: int, size: tuple[int, int] = (1280, 4200)) -> bytes:
    """Return a page-like screenshot that differs for each number."""
    import random

    from PIL import Image, ImageDraw

    chance = random.Random(number)
    page = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(page)
    for top in range(0, size[1], 24):
        line = " ".join(f"{chance.randrange(10**6):x}" for _ in range(24))
        draw.text((40 + chance.randrange(80), top), line, fill=(40, 40, 60))
    for _ in range(size[1] // 200):
        x, y = chance.randrange(1000), chance.randrange(size[1])
        colour = tuple(chance.randrange(256) for _ in range(3))
        draw.rectangle((x, y, x + 260, y + 90), fill=colour)
    out = io.BytesIO()
    page.save(out, "JPEG", quality=90)
    return out.getvalue()


BLANK = jpeg(0, (16, 16))


def written(path: Path, rows: int, first: int, *, pictures: bool) -> str:
    """A file of rows, in groups like the hub's; returns what they were made from."""
    row, source = template()
    schema = pq.read_schema(files()["dev"]).remove_metadata()
    with pq.ParquetWriter(path, schema, compression="snappy") as writer:
        for start in range(0, rows, ROWS_PER_GROUP):
            numbers = range(first + start, first + min(rows, start + ROWS_PER_GROUP))
            made = [varied(row, n, jpeg(n) if pictures else None) for n in numbers]
            writer.write_table(pa.Table.from_pylist(made, schema))
    return source


class Instant:
    """A model that looks at every picture of its prompt and answers at once."""

    def __init__(self, look: bool) -> None:
        self._look = look
        self.info = AdapterInfo("instant", "instant", "instant", concurrency=16)

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        if self._look and request.place == "round-1":
            for picture in request.conversation.pictures:
                await pictures.encoded(picture)
        return Reply(ANSWER, usage=Usage(2_000, output=60), model="instant")

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


def planned(data: Path, folder: Path, *, look: bool) -> Plan:
    """The run of the command line, with the instant model in place of one that takes time."""
    settings = Settings(
        model="oracle",
        data=str(data),
        benchmark_option=(("image_policy", "full" if look else "none"),),
        out=str(folder),
        cache=False,
        preflight=False,
    )
    plan = plan_run(settings)
    return replace(plan, model=replace(plan.model, adapter=Instant(look), policy=None))


def run_rate(plan: Plan) -> tuple[float, int, int]:
    """Steps per second of a run from its first row to its summary, settled steps, pictures made."""

    start = time.perf_counter()
    result = asyncio.run(carry_out(plan, SessionObserver()))
    seconds = time.perf_counter() - start
    settled = sum(record.settled for record in result.records)
    return settled / seconds, settled, result.pictures.prepared


def bare_work(job: tuple[bytes, str]) -> int:
    """Decode, resize, encode: what any preparation must do at the least."""
    from PIL import Image

    recipe = Recipe.parse(job[1])
    image = Image.open(io.BytesIO(job[0]))
    if recipe.draft > 1:
        image.draft(None, (image.width // recipe.draft, image.height // recipe.draft))
    box = tuple(side / recipe.draft for side in recipe.box)
    picture = image.resize(recipe.size, Image.Resampling.LANCZOS, box=box)  # type: ignore[arg-type]
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=recipe.quality, subsampling="4:2:0")
    return len(out.getvalue())


def without_pictures(options: argparse.Namespace, folder: Path) -> bool:
    data = folder / "rows.parquet"
    source = written(data, options.rows, 0, pictures=False)
    before = time.process_time()
    with Memory() as memory:
        plan = planned(data, folder / "run", look=False)
        rate, settled, _ = run_rate(plan)
    main = time.process_time() - before
    pages = pq.read_table(data, columns=["cleaned_html"])["cleaned_html"].to_pylist()
    start, busy = time.perf_counter(), time.process_time()
    for page in pages:
        etree.fromstring(page)
    wall = (time.perf_counter() - start) / len(pages)
    cpu = (time.process_time() - busy) / len(pages)
    ratio = main / settled / cpu
    print(f"{settled} steps from {source} ({len(pages[0]):,} characters a page), no pictures")
    print(
        f"{rate:.0f} steps/s (at least {LEAST_RATE}); "
        f"parsing the same pages alone: {1 / wall:.0f}/s"
    )
    print(
        f"processor time: {ratio:.1f} times that of the parsing (at most {MOST_CPU}): "
        f"{1e3 * main / settled:.2f} ms a step, {1e3 * cpu:.2f} for the parsing"
    )
    print(
        f"peak memory: {memory.peak >> 20} MB over all processes "
        f"(load of the machine: {os.getloadavg()[0]:.1f})"
    )
    return rate >= LEAST_RATE and ratio <= MOST_CPU


class Memory:
    """The peak memory of this process and of what its children do not share, looked at five times
    a second.

    peak: in bytes.
    """

    def __enter__(self) -> Self:
        self.peak = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *why: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        own = Path("/proc/self")
        while not self._over.wait(0.2):
            used = _pages(own)[0]
            for task in (own / "task").iterdir():
                with contextlib.suppress(OSError):  # It has just ended.
                    for child in (task / "children").read_text().split():
                        resident, shared = _pages(Path("/proc") / child)
                        used += resident - shared
            self.peak = max(self.peak, used * os.sysconf("SC_PAGE_SIZE"))


def _pages(process: Path) -> tuple[int, int]:
    """The pages of memory that a process holds, and those of them that come from files."""
    _, resident, shared, *_ = map(int, (process / "statm").read_text().split())
    return resident, shared


def with_pictures(options: argparse.Namespace, folder: Path) -> bool:
    context = multiprocessing.get_context("spawn")
    shares, hits, total = [], 0, 0
    with ProcessPoolExecutor(options.workers, mp_context=context) as pool:
        list(pool.map(bare_work, []))
        for number in range(options.rounds):
            data = folder / f"rows-{number}.parquet"
            source = written(data, options.rows, number * options.rows, pictures=True)
            plan = planned(data, folder / f"run-{number}", look=True)
            ours, settled, prepared = run_rate(plan)
            jobs = _jobs(folder / f"run-{number}", data)
            start = time.perf_counter()
            done = sum(1 for _ in pool.map(bare_work, jobs))
            bare = done / (time.perf_counter() - start)
            shares.append(ours / bare)
            total += settled
            hits += settled - prepared
            print(
                f"round {number + 1}: run {ours:.2f} steps/s, bare pool {bare:.2f} pictures/s, "
                f"share {shares[-1]:.1%} ({settled} steps from {source})",
                flush=True,
            )
            data.unlink()
    share = statistics.median(shares)
    print(f"cache hits {hits} of {total} ({hits / total:.1%}; at most {MOST_HITS:.0%})")
    print(
        f"median share {share:.1%} of a bare pool of {options.workers} (at least {LEAST_SHARE:.0%})"
    )
    return share >= LEAST_SHARE and hits <= MOST_HITS * total


def _jobs(run: Path, data: Path) -> list[tuple[bytes, str]]:
    """The work of a run's pictures: sources from the data, recipes from the run's own lines."""
    recipes = {}
    for line in (run / "steps.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        recipe = [picture["recipe"] for picture in record["pictures"]]
        recipes[record["detail"]["action_uid"]] = recipe
    table = pq.read_table(data, columns=["action_uid", "screenshot"]).to_pylist()
    return [
        (row["screenshot"]["bytes"], recipe)
        for row in table
        for recipe in recipes[row["action_uid"]]
    ]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=6418)
    parser.add_argument("--pictures", action="store_true")
    parser.add_argument("--rounds", type=int, default=5, help="with pictures: runs and bare pools")
    parser.add_argument(
        "--workers",
        type=int,
        default=min(8, available_cpus()),  # As a run has.
        help="processes of the other side",
    )
    return parser.parse_args()


def main() -> int:
    options = arguments()
    with tempfile.TemporaryDirectory() as name:
        measure = with_pictures if options.pictures else without_pictures
        return 0 if measure(options, Path(name)) else 1


if __name__ == "__main__":
    sys.exit(main())
