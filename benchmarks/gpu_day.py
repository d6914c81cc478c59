"""Everything that wants measuring once a GPU is at hand, in one command of at most thirty minutes.

    python benchmarks/gpu_day.py                                    # on a GPU: Qwen2.5-VL 7B
    python benchmarks/gpu_day.py --device cpu --shape tiny-wide     # to see that it runs

Every part is a separate process that ends when its time is up. What was found until then is in the
file `--out`, a JSON object per line, each written at once. Random weights: nothing is downloaded.

* tests: those marked `gpu`, and with vLLM installed those marked `vllm`;
* speed, in the type in which models are run: a script that asks one step at a time, the adapter
  with and without reuse, and vLLM where it can be imported, with the same weights. Replies are 20
  to 300 tokens long, drawn per call, the same in every way;
* then the most memory next to what was planned, and the share of time with kernels running;
* agreement, in float32: at how many steps the ways of asking got different replies. In 16 bits
  random weights differ by rounding alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import torch

# Run as a script or as a module, from anywhere.
sys.path.append(str(Path(__file__).parents[1]))

from adapters.local.contract import Loaded
from adapters.local.memory import COHORTS, free_bytes, typical_tokens, worked_per_token
from adapters.local.options import full_precision
from adapters.local.worker import planned
from benchmarks import local_two_rounds
from benchmarks.local_agreement import differing
from benchmarks.two_rounds import Measured

ROOT = Path(__file__).parents[1]
MINUTES = 30.0
TESTS_S = 240.0
"""The most that the tests of a mark may take of it."""
AGREEMENT = 1 / 4
"""Share of the remaining time that is kept for the agreement."""
STEPS = 120
"""Of the sample: three batches of the size that is planned for a 7B model in 140 GB."""
WANTED = {"naive": 8.0, "batched": 1.3}
"""How many times faster our adapter with reuse is to be on a large GPU."""


def main() -> None:
    arguments = parse()
    if arguments.part:
        PARTS[arguments.part](arguments)
        return
    begun = time.monotonic()
    note(arguments.out, "machine", facts())

    def left() -> float:
        return 60.0 * float(arguments.minutes) - (time.monotonic() - begun)

    for mark, file in (("gpu", "tests/local/test_gpu.py"), ("vllm", "tests/local/engine")):
        if mark == "gpu" or find_spec("vllm"):
            line = [sys.executable, "-m", "pytest", "-m", mark, file, "-q", "-x", "--no-header"]
            part(f"tests marked {mark}", line, min(left(), TESTS_S), arguments.out)
    for name, share in (("speed", 1 - AGREEMENT), ("agreement", 1.0)):
        # A process that is ended leaves its folder behind, with a whole model in it.
        with tempfile.TemporaryDirectory() as folder:
            line = [sys.executable, __file__, *sys.argv[1:], "--part", name, "--folder", folder]
            part(name, [*line, "--out", str(arguments.out)], share * left(), arguments.out)
    print(f"\nall of it took {time.monotonic() - begun:.0f} s; figures: {arguments.out}")


def note(out: Path, what: str, found: object) -> None:
    """Show a finding, and write it to the file at once."""
    print(f"{what}: {found}", flush=True)
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"what": what, "found": found}) + "\n")


def part(name: str, line: Sequence[str], seconds: float, out: Path) -> None:
    """Run a command, its output here, for so many seconds at most."""
    print(f"\n== {name} (at most {seconds:.0f} s)", flush=True)
    begun = time.monotonic()
    process = subprocess.Popen(line, cwd=ROOT)
    try:
        ended = f"exit status {process.wait(seconds)}"
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        ended = "ended, its time was up"
    note(out, f"== {name}", f"{ended} after {time.monotonic() - begun:.0f} s")


def facts() -> dict[str, object]:
    """The machine."""
    gpus = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
    return {
        "begun": time.strftime("%Y-%m-%d %H:%M:%S"),
        "gpus": gpus,
        "processors": os.cpu_count(),
        "free_gb": round(free_bytes("cuda:0" if gpus else "cpu") / 2**30, 1),
        "python": platform.python_version(),
        **{name: __import__(name).__version__ for name in ("torch", "transformers", "PIL")},
        "vllm": bool(find_spec("vllm")),
    }


def speed(arguments: argparse.Namespace) -> None:
    """Measure one way of asking after the other, in the type of a run, and compare them at once."""
    asked = local_two_rounds.parse(bench_line(arguments, arguments.dtype))
    bench = opened(asked, arguments)
    measured: dict[str, Measured] = {}

    def tell(found: Measured) -> None:
        measured[found.name] = found
        lines = local_two_rounds.table([*measured.values()])
        print(lines[0], lines[len(measured)], sep="\n")
        note(arguments.out, found.name, asdict(found))

    def ratio(name: str) -> None:
        one, other = measured["reuse"], measured[name]
        found = {
            "times": round(one.steps_per_hour / other.steps_per_hour, 2),
            # The steps of the script are few, and their replies may be longer than usual.
            "times_by_tokens": round(one.tokens_per_second / other.tokens_per_second, 2),
        }
        wanted = {"wanted": WANTED[name]} if name in WANTED else {}
        note(arguments.out, f"reuse / {name}", {**found, **wanted})

    bench.naive("warm", 1)
    tell(bench.naive("naive", asked.naive_steps))
    tell(bench.batched("batched", reuse=False))
    tell(bench.batched("reuse", reuse=True))
    ratio("naive")
    ratio("batched")
    note(arguments.out, "memory", memory(bench.loaded, asked.batch_size, measured["reuse"]))
    note(arguments.out, "kernels", bench.kernels("reuse"))
    if find_spec("vllm"):
        tell(bench.vllm("vllm", **engine(arguments)))
        ratio("vllm")


def agreement(arguments: argparse.Namespace) -> None:
    """Compare the replies of the ways of asking, in float32."""
    asked = local_two_rounds.parse(bench_line(arguments, "float32"))
    full_precision(torch.float32)
    bench = opened(asked, arguments)
    bench.batched("reuse", reuse=True)
    base = bench.replies("reuse")
    ways: dict[str, Callable[[str], Measured]] = {
        "naive": lambda name: bench.naive(name, asked.naive_steps),
        "batched": lambda name: bench.batched(name, reuse=False),
    }
    if find_spec("vllm"):
        ways["vllm"] = lambda name: bench.vllm(name, **engine(arguments))
    for name, ask in ways.items():
        ask(name)
        other = bench.replies(name)
        both = {step: replies for step, replies in base.items() if step in other}
        found = {"differ": differing(both, other), "steps": len(both), "dtype": "float32"}
        note(arguments.out, f"agreement of reuse and {name}", found)


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {"speed": speed, "agreement": agreement}


def opened(asked: argparse.Namespace, arguments: argparse.Namespace) -> local_two_rounds.Bench:
    bench = local_two_rounds.Bench(asked, arguments.folder)
    described = f"{local_two_rounds.described(asked)}; built in {bench.built_s:.0f} s"
    note(arguments.out, "model", described)
    return bench


def bench_line(arguments: argparse.Namespace, dtype: str | None) -> list[str]:
    """The arguments of `local_two_rounds`."""
    line = ["--shape", arguments.shape, "--device", arguments.device, "--profile-s", "10"]
    line += ["--naive-steps", "12", "--tokens", arguments.tokens]
    line += ["--steps", str(arguments.steps), *(["--dtype", dtype] if dtype else [])]
    for name in ("batch_size", "max_pixels"):
        value = getattr(arguments, name)
        line += [] if value is None else [f"--{name.replace('_', '-')}", str(value)]
    return line


def engine(arguments: argparse.Namespace) -> dict[str, object]:
    """Options of `vllm:`: on a CPU nothing that takes minutes, or all of the memory."""
    if arguments.device.startswith("cuda"):
        return {"max_model_len": 16_384, "engine_args": {"gpu_memory_utilization": 0.85}}
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    return {"max_model_len": 16_384, "max_num_seqs": 8, "engine_args": {"enforce_eager": True}}


def memory(loaded: Loaded, rows: int | None, measured: Measured) -> dict[str, object]:
    """Compare the memory planned for a batch with the most that was used, in GB."""
    plan = planned(loaded, rows)
    tokens = typical_tokens(loaded.family, loaded.context_tokens)
    weights = sum(tensor.nbytes for tensor in loaded.model.state_dict().values())
    kept, worked = loaded.family.cache_bytes_per_token(loaded.model), worked_per_token(loaded.model)
    needed = weights + plan.rows * tokens * (COHORTS * kept + worked)
    return {
        "planned_gb": round(needed / 2**30, 1),
        "weights_gb": round(weights / 2**30, 1),
        "most_held_gb": None if measured.memory is None else round(measured.memory / 2**30, 1),
        "rows": plan.rows,
        "tokens_a_row": tokens,
        "kept_bytes_a_token": kept,
        "worked_bytes_a_token": worked,
        "open_dialogues": plan.open_dialogues,
    }


def parse(line: Sequence[str] | None = None) -> argparse.Namespace:
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shape", default="qwen2.5-vl-7b" if gpu else "tiny-wide")
    parser.add_argument("--device", default="cuda:0" if gpu else "cpu")
    parser.add_argument("--dtype", help="of the speed (default: bfloat16; CPU: float32)")
    parser.add_argument("--batch-size", type=int, help="rows of a batch (default: by memory)")
    parser.add_argument("--max-pixels", type=int)
    parser.add_argument("--tokens", default="20-300", help="of a reply: a number, or a range")
    parser.add_argument("--steps", type=int, default=STEPS if gpu else 8)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for everything together")
    parser.add_argument("--out", type=Path, default=Path("gpu_day.jsonl"), help="file to add to")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args(line)
    arguments.out = arguments.out.resolve()
    return arguments


if __name__ == "__main__":
    main()
