"""Speed of a run on screenshots of 2 to 20 megapixels, against a bare Pillow loop.

The pictures are drawn in the sizes of ScreenSpot-Pro, in its proportions, half of them with an
alpha channel as macOS saves them; every one differs. The run goes through everything but a model:
reading, planning, the picture store and its processes, dialogue, scoring, journal. The bare side is
a pool of as many processes that only decodes, resizes and encodes the same pictures by the same
recipes, in turns with the runs.

    python benchmarks/large_pictures.py --pictures 28 --rounds 5

Prints both rates, their ratio, the ratio of the processor times, which a busy machine disturbs
less, and the most memory of this process and its children during a run. Exit status 1 below
80 % of the bare loop.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, ClassVar

import harness
from adapters import Conversation, PictureSource, Reply, Request, open_models, user
from adapters.contract import AdapterInfo
from adapters.processes import available_cpus
from harness.benchmarks import BENCHMARKS, Benchmark, Items
from harness.dialogue import Ask, Dialogue
from harness.pictures import Recipe
from harness.protocols import PROTOCOLS, AskingProtocol
from harness.views import ItemView
from parsers import Declaration, Measure, Prediction, Status

LEAST_SHARE = 0.80
# Pictures of each size in ScreenSpot-Pro.
SIZES: dict[tuple[int, int], int] = {
    (2560, 1440): 514,
    (3840, 2160): 270,
    (3840, 1080): 181,
    (3456, 2234): 161,
    (2160, 1440): 99,
    (2880, 1800): 82,
    (5120, 2880): 70,
    (5120, 1440): 61,
    (3456, 2160): 50,
    (2560, 1664): 48,
    (1920, 1080): 19,
    (6016, 3384): 11,
}
RULE = open_models.qwen_exact(28, 3_136, 12_845_056)


def sizes(count: int) -> list[tuple[int, int]]:
    """So many sizes in the benchmark's proportions, the largest and the smallest among them."""
    step = sum(SIZES.values()) / count
    listed = [size for size, pictures in sorted(SIZES.items()) for _ in range(pictures)]
    return [listed[int(step * (n + 0.5))] for n in range(count - 2)] + [(1920, 1080), (6016, 3384)]


def draw(path: Path, size: tuple[int, int], seed: int) -> int:
    """Draw a screen: windows of plain colour, lines of text, a few photographs. Its bytes."""
    from PIL import Image, ImageDraw

    chance = random.Random(seed)
    screen = Image.new("RGB", size, (236, 236, 240))
    pen = ImageDraw.Draw(screen)
    width, height = size
    for _ in range(12):
        x, y = chance.randrange(width), chance.randrange(height)
        colour = tuple(chance.randrange(200, 256) for _ in range(3))
        pen.rectangle((x, y, x + width // 3, y + height // 3), fill=colour)
    for top in range(0, height, 22):
        line = " ".join(f"{chance.randrange(10**6):x}" for _ in range(width // 60))
        pen.text((20 + chance.randrange(80), top), line, fill=(40, 40, 60))
    photo = Image.effect_noise((width // 16, height // 16), 60).resize((width // 4, height // 4))
    screen.paste(
        photo.convert("RGB"), (chance.randrange(width // 2), chance.randrange(height // 2))
    )
    if seed % 2:
        screen.putalpha(255)
    screen.save(path, "PNG", compress_level=1)
    return path.stat().st_size


def bare_work(job: tuple[Path, str]) -> int:
    """Decode, resize, encode: what any preparation must do at the least."""
    from PIL import Image

    recipe = Recipe.parse(job[1])
    image: Image.Image = Image.open(io.BytesIO(job[0].read_bytes()))
    if image.mode != "RGB":
        image = image.convert("RGB")
    picture = image.resize(recipe.size, Image.Resampling.LANCZOS, box=recipe.box)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=recipe.quality, subsampling="4:2:0")
    return len(out.getvalue())


@dataclass(frozen=True)
class Screen:
    """A picture of the benchmark; there is nothing to find on it."""

    asked: str
    gold: str = ""


def is_answered(prediction: Prediction, detail: Screen) -> float:
    return float(prediction.status is Status.ANSWERED)


DECLARED = Declaration((Measure("answered", "Answered", main=True),), kind="screen")


@dataclass(frozen=True)
class Screens(Benchmark):
    """The pictures of a folder, a unit each."""

    name: str = "screens"
    declared: Declaration = DECLARED
    Detail = Screen
    protocol = "look"
    pictures = True
    scorers: ClassVar = {"answered": is_answered}

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        assert data is not None
        units = [self.unit(path.stem, Screen(path.name)) for path in sorted(data.glob("*.png"))]
        return Items.of(units, pictures=lambda unit: [(data / unit.detail.asked).read_bytes()])


@dataclass(frozen=True)
class Look(AskingProtocol):
    """Shows the picture."""

    name = "look"
    View = ItemView
    places = ("look",)

    def dialogue(self, view: ItemView[str]) -> Dialogue:
        yield Ask(Conversation((user(*view.pictures, "Where is it?"),)), "look")
        return Prediction(Status.ANSWERED)

    def write(self, view: ItemView[str], said: Prediction) -> Mapping[str, str]:
        return {"look": ""}


class Instant:
    """A model that takes every picture and answers at once."""

    info = AdapterInfo("instant", "instant", "instant", concurrency=8, image_rule=RULE)

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        for picture in request.conversation.pictures:
            await pictures.encoded(picture)
        return Reply("there")

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


class Memory:
    """Peak memory of this process and its children, in MB, while in a `with` block."""

    def __init__(self) -> None:
        self.peak = self.peak_here = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.05):
            here = _resident_mb(os.getpid())
            self.peak_here = max(self.peak_here, here)
            self.peak = max(self.peak, here + sum(map(_resident_mb, _children())))


def _processor_s() -> float:
    """Seconds of processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def _children() -> list[int]:
    tasks = Path("/proc/self/task").iterdir()
    texts = (_read(task / "children") for task in tasks)
    return [int(pid) for text in texts for pid in text.split()]


def _resident_mb(pid: int) -> float:
    pages = _read(Path(f"/proc/{pid}/statm")).split()
    return int(pages[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6 if pages else 0.0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # It has ended.
        return ""


def run_rate(data: Path, out: Path, policy: str) -> float:
    """Pictures per second of a run from its first unit to its summary."""
    start = time.perf_counter()
    done = harness.evaluate(
        Instant(),
        benchmark="screens",
        data=str(data),
        out=str(out),
        image_policy=policy,
        cache=False,
        preflight=False,
        progress="off",
    )
    assert done.complete
    return len(done.records()) / (time.perf_counter() - start)


def bare_rate(pool: ProcessPoolExecutor, data: Path, run: Path) -> float:
    """Pictures per second of the bare pool, by the recipes on record."""
    lines = [json.loads(line) for line in (run / "steps.jsonl").read_text("utf-8").splitlines()]
    jobs = [
        (data / f"{line['unit_id']}.png", picture["recipe"])
        for line in lines
        for picture in line["pictures"]
    ]
    start = time.perf_counter()
    list(pool.map(bare_work, jobs))
    return len(jobs) / (time.perf_counter() - start)


def in_children(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def measure(
    options: argparse.Namespace, folder: Path, tell: Callable[[str], None] = print
) -> float:
    """The ratio of the rates; prints a line per round and the verdict."""
    shares, work, rates, peaks, peaks_here = [], [], [], [], []
    for number in range(options.rounds):
        data, run = folder / f"data-{number}", folder / f"run-{number}"
        data.mkdir()
        listed = sizes(options.pictures)
        random.Random(number).shuffle(listed)
        paths = [data / f"screen-{n:03d}.png" for n in range(len(listed))]
        seeds = range(number * 1000, number * 1000 + len(listed))
        with in_children(options.workers) as pool:
            made = list(pool.map(draw, paths, listed, seeds))
        times = [_processor_s()]
        with Memory() as memory:
            ours = run_rate(data, run, options.policy)
        times.append(_processor_s())
        with in_children(options.workers) as pool:
            list(pool.map(bare_work, repeat((paths[0], _small(run)), options.workers)))
            bare = bare_rate(pool, data, run)
        times.append(_processor_s())
        shares.append(ours / bare)
        work.append((times[2] - times[1]) / (times[1] - times[0]))
        rates.append(ours)
        peaks.append(memory.peak)
        peaks_here.append(memory.peak_here)
        tell(
            f"round {number + 1}: run {ours:.2f} pictures/s, bare loop {bare:.2f}, share "
            f"{shares[-1]:.1%}, of processor time {work[-1]:.1%} ({len(made)} pictures of "
            f"{sum(made) / len(made) / 1e6:.1f} MB)"
        )
        for path in paths:
            path.unlink()
    share = statistics.median(shares)
    tell(
        f"median {statistics.median(rates):.2f} pictures/s, {share:.1%} of a bare loop in "
        f"{options.workers} processes (at least {LEAST_SHARE:.0%}), by processor time "
        f"{statistics.median(work):.1%}, policy {options.policy}"
    )
    tell(
        f"peak memory {max(peaks):,.0f} MB with its processes, {max(peaks_here):,.0f} MB in the "
        "main one"
    )
    return share


def _small(run: Path) -> str:
    """Any recipe of a run, to have the bare pool import Pillow before the clock starts."""
    line = json.loads((run / "steps.jsonl").read_text("utf-8").splitlines()[0])
    recipe: str = line["pictures"][0]["recipe"]
    return recipe


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pictures", type=int, default=28, help="a round, drawn anew each time")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--workers",
        type=int,
        default=min(8, available_cpus()),  # As a run has.
        help="processes of the other side",
    )
    parser.add_argument("--policy", default="full:pixels=99999999")
    options = parser.parse_args()
    known: list[tuple[Any, str, Any]] = [
        (BENCHMARKS, "screens", Screens),
        (PROTOCOLS, "look", Look),
    ]
    for registry, name, thing in known:
        registry.add(name, thing, "drawn screens")
    with tempfile.TemporaryDirectory() as name:
        return 0 if measure(options, Path(name)) >= LEAST_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
