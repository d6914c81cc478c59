"""Share of a local model's replies that depend on the way a run is carried out.

    python benchmarks/local_agreement.py                        # a tiny Qwen2.5-VL, on the CPU
    python benchmarks/local_agreement.py --family qwen3-vl --dtype float32
    python benchmarks/local_agreement.py --model qwen2.5-vl --model-path FOLDER --devices cuda:0

The sample's steps are asked in two rounds, greedily, several times: in batches of eight, of four,
and one at a time. Each line says at how many steps a reply (of either round) and the prediction
differ from the first run. In float32 none should; in 16 bits sums are rounded differently, and now
and then another token wins. With `--again` the first run is repeated unchanged, which shows the
device's own variation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.planning.plan import plan_run
from harness.session.observers import SessionObserver
from harness.session.run import carry_out
from harness.settings import Settings

BATCH = 8


@dataclass(frozen=True, slots=True)
class RunReplies:
    """Replies and prediction of every step of a run, and its duration in seconds."""

    replies: Mapping[str, tuple[Any, ...]]
    predictions: Mapping[str, Any]
    seconds: float


def asked(options: argparse.Namespace, out: Path, **changes: Any) -> RunReplies:
    """Run the sample once, in a separate folder."""
    device: dict[str, Any] = {"batch_size": BATCH, "devices": options.devices, **changes}
    device |= {"model_path": options.model_path, "dtype": options.dtype}
    device |= {"max_pixels": options.max_pixels}
    pairs = {name: value for name, value in device.items() if value is not None}
    settings = Settings(
        model=options.model,
        benchmark="sample",
        split=("dev", "test"),
        limit=options.tasks or None,
        benchmark_option=(("distractors", options.distractors), ("image_policy", "full")),
        max_tokens=(options.max_tokens,),
        out=str(out),
        cache=False,
        preflight=False,
        adapter_option=tuple(sorted(pairs.items())),
    )

    started = time.monotonic()
    result = asyncio.run(carry_out(plan_run(settings), SessionObserver()))
    seconds = time.monotonic() - started
    return RunReplies(
        replies_of(out),
        {record.unit_id: record.prediction for record in result.records},
        seconds,
    )


def replies_of(run: Path) -> dict[str, tuple[Any, ...]]:
    """Every step's replies in a run of local models, by place."""
    replies: dict[str, list[Any]] = {}
    for line in (run / "calls.jsonl").read_text().splitlines():
        call = json.loads(line)
        replies.setdefault(call["unit_id"], []).append((call["place"], call["reply"]["native"]))
    return {step: tuple(sorted(own, key=lambda call: call[0])) for step, own in replies.items()}


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    return sum(one[step] != other[step] for step in one)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", help="a local model's name; default: a tiny one built now")
    parser.add_argument("--model-path")
    parser.add_argument("--family", default="qwen2.5-vl", help="of the tiny model")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--devices", default=None, help="like cuda:0")
    parser.add_argument("--max-pixels", type=int, default=None)
    parser.add_argument("--max-tokens", type=int, default=32)
    parser.add_argument("--distractors", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=0, help="the first so many")
    parser.add_argument("--threads", type=int, default=1, help="of the CPU")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    import torch

    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.model is None:
            from adapters.local.loading import quiet
            from tests.local import tiny

            quiet()
            options.model = f"hf:{tiny.build(options.family, folder / 'model')}"
            options.max_pixels = options.max_pixels or 40_000
        ways: dict[str, dict[str, Any]] = {
            "four at a time": {"batch_size": 4},
            "one at a time": {"batch_size": 1},
        }
        if options.again:
            ways["the same again"] = {}
        base = asked(options, folder / "base")
        steps = len(base.replies)
        print(f"{options.family if options.model_path is None else options.model}, {options.dtype}")
        print(f"{steps} steps in batches of {BATCH}")
        for number, (way, carrying) in enumerate(ways.items()):
            other = asked(options, folder / str(number), **carrying)
            replies = differing(base.replies, other.replies)
            predictions = differing(base.predictions, other.predictions)
            print(
                f"{way:16} replies differ at {replies} steps ({replies / steps:.1%}), "
                f"predictions at {predictions} ({predictions / steps:.1%}); "
                f"{other.seconds:.0f} s instead of {base.seconds:.0f} s"
            )


if __name__ == "__main__":
    main()
