"""Gain of a local model from batches, and from reading each screenshot once.

    python benchmarks/local_two_rounds.py --shape tiny
    python benchmarks/local_two_rounds.py --shape qwen2.5-vl-7b --repeats 4
    python benchmarks/local_two_rounds.py --pretend 8 --batch-size 32 --max-pixels 1638400

A model of the given shape with random weights answers the sample's steps in two rounds, through the
engine and the adapter as in any run. A reply has `--tokens` generated tokens, or a number drawn
from a range (`--tokens 20-300`), the same in every way:

* naive: transformers' `generate`, a step at a time, both rounds in full (a part of the steps);
* batched: the adapter, every round in full;
* reuse: the unchanged adapter, round 2 going on from round 1's keys and values.

Times of waiting are shares of the time since the first batch: `starved`, the adapter would have
taken another batch and none was ready; `idle`, none was under way at all; `still`, the device
itself had nothing to do between two batches. `kernels` is the share of `--profile-s` seconds of
steady state with the GPU computing (torch.profiler, in a separate pass); a CPU has none.

With `--pretend SECONDS` nothing is computed: a device takes that long for every batch, and only the
waiting is measured, of whatever feeds it with real pages, pictures and prompts.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

# Run as a script or as a module, from anywhere.
sys.path.append(str(Path(__file__).parents[1]))

from adapters import AdapterInfo, make
from adapters.contract import PictureSource, Request
from adapters.conversation import Reply
from adapters.local.contract import Loaded
from adapters.local.loading import quiet
from adapters.local.memory import give_back
from adapters.local.worker import ThreadWorker
from adapters.vllm.adapter import VllmAdapter
from benchmarks.local_agreement import replies_of
from benchmarks.model_shapes import build
from benchmarks.naive_adapter import Naive
from benchmarks.pretended_worker import PretendedWorker
from benchmarks.shape_figures import SHAPES
from benchmarks.two_rounds import (
    Clocked,
    Drawn,
    Lengths,
    Measured,
    drawn,
    kernel_time,
    measure,
    opened,
    questions,
)
from harness.planning.plan import Plan

HEAD = "way        steps   steps/h  tokens/s  rows prompt starved   idle  still   memory naive"
LEARNED_FROM = 60
"""Steps whose texts the tokenizer is made from."""


class DrawnNaive(Naive):
    """The script, with replies of drawn lengths."""

    lengths: Lengths = (1, 1)

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        return await super().ask(drawn(request, self.lengths), pictures)


class Bench:
    """One model and the ways of asking it, each in a separate run directory."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self._arguments = arguments
        self._folder = folder
        everything = self._opened("everything")
        self.steps, texts = questions(everything, arguments.steps, LEARNED_FROM)
        self.plan = self._opened("plan", repeats=arguments.repeats, steps=tuple(self.steps))
        checkpoint = folder / "model"
        checkpoint.mkdir()
        begun = time.monotonic()
        self.loaded: Loaded = build(
            arguments.shape,
            texts,
            checkpoint,
            arguments.device,
            arguments.dtype,
            arguments.max_pixels,
        )
        self.built_s = time.monotonic() - begun
        self._info = AdapterInfo(
            "random-weights",
            arguments.shape,
            "local",
            context_tokens=self.loaded.context_tokens,
            image_rule=self.loaded.family.image_rule,
        )

    def naive(self, name: str, count: int) -> Measured:
        """A step at a time, for that many steps from all over the sample."""
        chosen = self.steps[:: max(1, len(self.steps) // count)][:count]
        plan = self._opened(name, steps=tuple(chosen))
        naive = DrawnNaive(self._info, self.loaded)
        naive.lengths = self._arguments.tokens
        return measure(name, plan, naive, self._arguments.device)

    def batched(self, name: str, *, reuse: bool) -> Measured:
        adapter = self._adapter(reuse=reuse)
        return measure(name, self._at(name), adapter, self._arguments.device)

    def pretended(self, name: str, rows: int, seconds: float) -> Measured:
        """A device of that speed instead of the model."""
        worker = PretendedWorker(rows, seconds)
        dtype = getattr(torch, self._arguments.dtype)
        adapter = Drawn(self._info, self.loaded.family, [worker], threads=4, dtype=dtype)
        adapter.lengths = self._arguments.tokens
        return measure(name, self._at(name), adapter, self._arguments.device)

    def vllm(self, name: str, **options: object) -> Measured:
        """vLLM's engine with the same weights, once those here are let go."""
        quiet()
        checkpoint = self._folder / "model"
        self.loaded.model.save_pretrained(checkpoint)
        del self.loaded
        give_back(self._arguments.device)
        adapter = make(
            f"vllm:{checkpoint}",
            dtype=self._arguments.dtype,
            max_pixels=self._arguments.max_pixels,
            **options,
        )
        assert isinstance(adapter, VllmAdapter)
        clocked = Clocked(adapter, self._arguments.tokens)
        return measure(name, self._at(name), clocked, self._arguments.device)

    def replies(self, name: str) -> dict[str, tuple[Any, ...]]:
        """Return the replies of one way of asking, by step."""
        return replies_of(self._folder / name)

    def kernels(self, name: str) -> str:
        """Describe the share of time that the GPU computed."""
        if torch.device(self._arguments.device).type != "cuda":
            return "not measured (no GPU)"
        adapter = self._adapter(reuse=True)
        found = kernel_time(self._at(f"{name}-profiled"), adapter, self._arguments.profile_s)
        if found is None:
            return "not measured (the run was too short: raise --repeats)"
        return f"{found.share:.1%} of {found.seconds:.0f} s"

    def _adapter(self, *, reuse: bool) -> Drawn:
        worker = ThreadWorker(self.loaded, rows=self._arguments.batch_size, kv_reuse=reuse)
        dtype = getattr(torch, self._arguments.dtype)
        adapter = Drawn(self._info, self.loaded.family, [worker], threads=4, dtype=dtype)
        adapter.lengths = self._arguments.tokens
        return adapter

    def _at(self, name: str) -> Plan:
        return replace(self.plan, directory=self._folder / name)

    def _opened(self, name: str, *, repeats: int = 1, steps: tuple[str, ...] = ()) -> Plan:
        pixels, (_, tokens) = self._arguments.max_pixels, self._arguments.tokens
        return opened(self._folder / name, pixels, tokens, repeats=repeats, steps=steps)


def run(arguments: argparse.Namespace, say: Callable[[str], None] = print) -> list[Measured]:
    """All ways after each other, with one model; what was found is said."""
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(arguments, Path(name))
        say(f"{described(arguments)}; built in {bench.built_s:.0f} s")
        if arguments.pretend is not None:
            rows = arguments.batch_size or 32
            measured = [bench.pretended("pretended", rows, arguments.pretend)]
            for line in table(measured):
                say(line)
            return measured
        bench.naive("warm", 1)
        measured = [
            bench.naive("naive", arguments.naive_steps),
            bench.batched("batched", reuse=False),
            bench.batched("reuse", reuse=True),
        ]
        kernels = bench.kernels("reuse")
    for line in table(measured):
        say(line)
    say(f"kernels, reuse: {kernels}")
    rates = {m.name: m.steps_per_hour for m in measured}
    say(f"reuse is {rates['reuse'] / rates['naive']:.2f} times naive (wanted on a large GPU: 8)")
    say(f"reuse is {rates['reuse'] / rates['batched']:.2f} times batched (wanted there: 1.3)")
    return measured


def described(arguments: argparse.Namespace) -> str:
    """Describe the measured model and device in a line."""
    device = torch.device(arguments.device)
    gpu = device.type == "cuda"
    where = torch.cuda.get_device_name(device) if gpu else f"CPU, {torch.get_num_threads()} threads"
    return (
        f"{arguments.shape}, {arguments.dtype}, {where}, torch {torch.__version__}, "
        f"{spelled(arguments.tokens)} tokens a reply, pictures up to {arguments.max_pixels:,} "
        "pixels"
    )


def spelled(lengths: Lengths) -> str:
    """
    >>> spelled((20, 300)), spelled(lengths_of("128"))
    ('20-300', '128')
    """
    return str(lengths[0]) if lengths[0] == lengths[1] else f"{lengths[0]}-{lengths[1]}"


def lengths_of(text: str) -> Lengths:
    """Read a number of tokens, or a range. Raises ValueError."""
    least, _, most = text.partition("-")
    lengths = int(least), int(most or least)
    if not 0 < lengths[0] <= lengths[1]:
        raise ValueError(f"{text} is not a number of tokens or a range like 20-300")
    return lengths


def table(measured: Sequence[Measured]) -> list[str]:
    """A line for every way.

    >>> print(*table([Measured("naive", 10, 2000, 100.0, 1.0)])[:2], sep="\\n")
    way        steps   steps/h  tokens/s  rows prompt starved   idle  still   memory naive
    naive         10       360        20   1.0      -       -      -      -        -  1.00
    """
    lines = [HEAD]
    for m in measured:
        memory = "-" if m.memory is None else f"{m.memory / 2**30:.1f} GB"
        prompt = "-" if m.prompt is None else f"{m.prompt:.0f}"
        lines.append(
            f"{m.name:9}{m.steps:7} {m.steps_per_hour:9,.0f} {m.tokens_per_second:9,.0f} "
            f"{m.rows:5.1f} {prompt:>6} {_share(m.starved):>7} {_share(m.idle):>6} "
            f"{_share(m.still):>6} {memory:>8} {m.steps_per_hour / measured[0].steps_per_hour:5.2f}"
        )
    if all(m.memory is None for m in measured):
        # Of the whole process, all ways together; kilobytes on Linux.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        lines.append(f"peak memory of the process: {peak / 2**20:.1f} GB")
    return lines


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def parse(line: Sequence[str] | None = None) -> argparse.Namespace:
    """The arguments; what is not given depends on the device."""
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shape", choices=SHAPES, default="tiny")
    parser.add_argument("--device", default="cuda:0" if gpu else "cpu")
    parser.add_argument("--dtype", help="default: bfloat16 on a GPU, float32 on a CPU")
    parser.add_argument("--batch-size", type=int, help="rows of a batch (default: by memory)")
    parser.add_argument("--max-pixels", type=int, help="of a picture (1,638,400; CPU: 40,000)")
    parser.add_argument("--tokens", type=lengths_of, help="of a reply, or a range (128; CPU: 16)")
    parser.add_argument("--steps", type=int, help="of the sample (all; CPU: 48)")
    parser.add_argument("--repeats", type=int, default=1, help="how often they are asked")
    parser.add_argument("--naive-steps", type=int, default=8)
    parser.add_argument("--profile-s", type=float, default=60.0)
    parser.add_argument("--pretend", type=float, metavar="SECONDS", help="instead of computing")
    arguments = parser.parse_args(line)
    cuda = torch.device(arguments.device).type == "cuda"
    arguments.dtype = arguments.dtype or ("bfloat16" if cuda else "float32")
    arguments.max_pixels = arguments.max_pixels or (1280 * 1280 if cuda else 40_000)
    arguments.tokens = arguments.tokens or lengths_of("128" if cuda else "16")
    if arguments.steps is None and not cuda and arguments.pretend is None:
        arguments.steps = 48
    if "tiny" in arguments.shape:
        # Threads wait for each other longer than such matrices take.
        torch.set_num_threads(1)
    return arguments


if __name__ == "__main__":
    run(parse())
    sys.exit(0)
