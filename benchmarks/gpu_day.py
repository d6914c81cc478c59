"""What wants measuring once a GPU is at hand, in one command of at most ten minutes.

    python -m benchmarks.gpu_day --out results                              # on a GPU
    python -m benchmarks.gpu_day --device cpu --shape tiny --original tiny-qwen-vl --steps 4

It needs torch, transformers, tiktoken and pytest. Weights are random and pages made up: nothing is
downloaded, and no data set is read. Every part is a process that ends when its time is up; what it
found until then is in `results.jsonl` of the folder `--out`, and pytest's output in `tests.txt`:

* tests: both files of tests marked `gpu`;
* agreement: in float32, two rounds in batches against the same steps one at a time, and how many
  replies differ (none may);
* speed: two rounds in the type in which models are run: steps per hour, tokens per second, the
  batch size that was planned, and the most memory that was used next to the weights;
* original: the same with the original Qwen-VL at its own size.

The exit status is 1 if a part failed, ran out of time, or found replies that differ.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from PIL import Image

from adapters.contract import AdapterInfo, EncodedPicture, Generation, PixelPicture, Request
from adapters.conversation import Conversation, Picture, Reply, user
from adapters.local.adapter import LocalAdapter, opened
from adapters.local.contract import Loaded
from adapters.local.loading import quiet
from adapters.local.options import full_precision
from benchmarks.model_shapes import build

ROOT = Path(__file__).parents[1]
TESTS = ("tests/local/test_gpu.py", "tests/local/qwen_vl/test_gpu.py")
MINUTES = 10.0
WORDS = ("search", "book", "flight", "cart", "button", "link", "price", "date", "menu", "next")
SHARES = {"tests": 0.35, "agreement": 0.25, "speed": 0.25, "original": 0.15}
"""Share of the time that each part may take; what is left over goes to those after it."""
PAGE = 1280, 2560
"""Width and height in pixels of the pages that are shown."""


def main() -> int:
    arguments = parse()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.part:
        return PARTS[arguments.part](arguments)
    begun = time.monotonic()
    note(arguments.out, "machine", facts())
    failed = []
    left = 1.0
    for name, share in SHARES.items():
        seconds = share / left * (60.0 * arguments.minutes - (time.monotonic() - begun))
        left -= share
        if not carried_out(name, max(1.0, seconds), arguments.out):
            failed.append(name)
    note(arguments.out, "failed", failed)
    print(f"all of it took {time.monotonic() - begun:.0f} s; figures: {arguments.out}")
    return 1 if failed else 0


def note(out: Path, what: str, found: object) -> None:
    """Show a finding, and write it to the file at once."""
    print(f"{what}: {found}", flush=True)
    with (out / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"what": what, "found": found}) + "\n")


def carried_out(name: str, seconds: float, out: Path) -> bool:
    """Run a part in a process for so many seconds at most. Returns whether it succeeded."""
    print(f"\n== {name} (at most {seconds:.0f} s)", flush=True)
    begun = time.monotonic()
    line = [sys.executable, "-m", "benchmarks.gpu_day", *sys.argv[1:], "--part", name]
    with tempfile.TemporaryDirectory() as folder:
        # Pytest is a child of the part: both are in its group.
        process = subprocess.Popen([*line, "--folder", folder], cwd=ROOT, process_group=0)
        try:
            status: object = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = "its time was up"
    note(out, f"== {name}", {"status": status, "seconds": round(time.monotonic() - begun)})
    return status == 0


def facts() -> dict[str, object]:
    """Return what the machine has."""
    gpus = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return {
        "begun": time.strftime("%Y-%m-%d %H:%M:%S"),
        "gpus": gpus,
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        **{name: __import__(name).__version__ for name in ("torch", "transformers", "PIL")},
    }


def tests(arguments: argparse.Namespace) -> int:
    """Run the tests marked `gpu`; tests that are skipped are no success on a GPU."""
    line = [
        sys.executable,
        "-m",
        "pytest",
        "-m",
        "gpu",
        *TESTS,
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
    ]
    path = arguments.out / "tests.txt"
    with path.open("w", encoding="utf-8") as file:
        status = subprocess.run(line, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT).returncode
    last = "".join(path.read_text(encoding="utf-8").splitlines()[-1:])
    note(arguments.out, "tests", last)
    return status if " passed" in last else 1


def agreement(arguments: argparse.Namespace) -> int:
    """Compare replies in batches with those of single steps, in float32."""
    full_precision("float32")
    loaded = made(arguments, arguments.shape, "float32")
    together = opened(info_of(loaded, arguments.shape), loaded, arguments.rows)
    steps = min(arguments.steps, 2 * together.rows)
    batched, _ = asyncio.run(two_rounds(together, loaded, steps, 16))
    alone = LocalAdapter(info_of(loaded, arguments.shape), loaded, 1)
    single, _ = asyncio.run(two_rounds(alone, loaded, steps, 16))
    differ = sum(
        one.token_ids != other.token_ids for one, other in zip(batched, single, strict=True)
    )
    found = {"rows": together.rows, "replies": len(batched), "differ": differ}
    note(arguments.out, "agreement in float32", found)
    return 1 if differ else 0


def speed(arguments: argparse.Namespace) -> int:
    """Measure two rounds in the type in which models are run."""
    return measured(arguments, arguments.shape)


def original(arguments: argparse.Namespace) -> int:
    """Measure the original Qwen-VL."""
    return measured(arguments, arguments.original)


def measured(arguments: argparse.Namespace, shape: str) -> int:
    cuda = arguments.device.startswith("cuda")
    loaded = made(arguments, shape, "bfloat16" if cuda else "float32")
    weights = sum(tensor.nbytes for tensor in loaded.model.state_dict().values())
    adapter = opened(info_of(loaded, shape), loaded, arguments.rows)
    note(arguments.out, f"{shape}: notices", adapter.notices())
    replies, seconds = asyncio.run(two_rounds(adapter, loaded, arguments.steps, 64))
    used = [reply.usage for reply in replies if reply.usage]
    found = {
        "rows": adapter.rows,
        "steps": arguments.steps,
        "steps_per_hour": round(3600 * arguments.steps / seconds),
        "prompt_tokens_per_second": round(sum(usage.input for usage in used) / seconds),
        "reply_tokens_per_second": round(sum(usage.output for usage in used) / seconds, 1),
        "weights_gb": round(weights / 2**30, 1),
        "most_gb": round(torch.cuda.max_memory_allocated() / 2**30, 1) if cuda else None,
    }
    note(arguments.out, f"{shape}: two rounds", found)
    return 0


PARTS: dict[str, Callable[[argparse.Namespace], int]] = {
    "tests": tests,
    "agreement": agreement,
    "speed": speed,
    "original": original,
}


def made(arguments: argparse.Namespace, shape: str, dtype: str) -> Loaded:
    """Build a model of a shape with random weights."""
    quiet()
    begun = time.monotonic()
    texts = [page(number) for number in range(60)]
    loaded = build(shape, texts, arguments.folder, arguments.device, dtype, arguments.max_pixels)
    note(arguments.out, f"{shape} in {dtype}: built in s", round(time.monotonic() - begun, 1))
    return loaded


def info_of(loaded: Loaded, shape: str) -> AdapterInfo:
    return AdapterInfo(shape, shape, "local", image_rule=loaded.family.image_rule)


def page(number: int) -> str:
    """Return made-up text as long as that of a step."""
    chance = random.Random(number)
    return " ".join(chance.choice(WORDS) for _ in range(chance.randint(300, 700)))


class Screens:
    """Made-up screenshots, one for each digest."""

    async def encoded(self, picture: Picture) -> EncodedPicture:
        raise AssertionError("a local model takes pixels")

    async def pixels(self, picture: Picture) -> PixelPicture:
        chance = random.Random(picture.digest)
        small = Image.frombytes("RGB", (32, 64), chance.randbytes(32 * 64 * 3))
        data = small.resize((picture.width, picture.height)).tobytes()
        return PixelPicture(data, picture.width, picture.height)


async def two_rounds(
    adapter: LocalAdapter, loaded: Loaded, steps: int, tokens: int
) -> tuple[list[Reply], float]:
    """Ask steps in two rounds, as many at a time as the adapter takes, and close it.

    Returns the replies of both rounds, step by step, and the seconds that they took.
    """
    rule = loaded.family.image_rule
    width, height = rule.fit(*PAGE) if rule else PAGE
    slots, generation = asyncio.Semaphore(adapter.info.concurrency), Generation(max_tokens=tokens)

    async def step(number: int) -> list[Reply]:
        asked = Conversation((user(Picture(str(number), "made up", width, height), page(number)),))
        replies = []
        async with slots:
            for place in ("round-1", "round-2"):
                request = Request(asked, generation, f"s{number}", place)
                replies.append(await adapter.ask(request, Screens()))
                asked = asked.then(replies[-1], user(page(number + 1000)[:600]))
        return replies

    begun = time.monotonic()
    try:
        parts = await asyncio.gather(*(step(number) for number in range(steps)))
    finally:
        await adapter.close()
    return [reply for part in parts for reply in part], time.monotonic() - begun


def parse(line: Sequence[str] | None = None) -> argparse.Namespace:
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shape", default="qwen2.5-vl-7b" if gpu else "tiny")
    parser.add_argument("--original", default="qwen-vl" if gpu else "tiny-qwen-vl")
    parser.add_argument("--device", default="cuda:0" if gpu else "cpu")
    parser.add_argument("--rows", type=int, help="of a batch (default: by memory)")
    parser.add_argument("--max-pixels", type=int, default=1_638_400 if gpu else 20_000)
    parser.add_argument("--steps", type=int, default=96 if gpu else 8)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for everything together")
    parser.add_argument("--out", type=Path, default=Path("gpu_day"), help="folder of the results")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args(line)
    arguments.out = arguments.out.resolve()
    return arguments


if __name__ == "__main__":
    sys.exit(main())
