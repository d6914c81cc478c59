"""Everything that wants measuring once a GPU is at hand, in one command of at most nine minutes.

    python benchmarks/gpu_day.py                                    # on a GPU: Qwen2.5-VL 7B
    python benchmarks/gpu_day.py --device cpu --shape tiny-wide     # to see that it runs

Every part is a separate process that ends when its time is up; the output until then
counts. Random weights: nothing is downloaded.

* tests: those marked `gpu`, and with vLLM installed those marked `vllm`;
* ours: throughput of the adapter with and without reuse, and of a script that asks one step at a
  time; the share of time with kernels running; the most memory next to what was planned;
* vLLM, where it can be imported: the same steps with the same weights through `vllm:`;
* agreement: at how many steps the ways of asking got different replies, in the type of the run.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import torch

# Run as a script or as a module, from anywhere.
sys.path.append(str(Path(__file__).parents[1]))

from adapters.local.contract import Loaded
from adapters.local.memory import COHORTS, free_bytes, typical_tokens, worked_per_token
from adapters.local.worker import planned
from benchmarks import local_two_rounds
from benchmarks.local_agreement import differing
from benchmarks.two_rounds import Measured

ROOT = Path(__file__).parents[1]
MINUTES = 9.0
TESTS_S = 150.0
"""The most that the tests may take of it."""
STEPS = 120
"""Of the sample: three batches of the size that is planned for a 7B model in 140 GB."""


def main() -> None:
    arguments = parse()
    if arguments.part:
        measure(arguments)
        return
    begun = time.monotonic()
    print(facts(), flush=True)

    def left() -> float:
        return 60.0 * float(arguments.minutes) - (time.monotonic() - begun)

    for mark, file in (("gpu", "tests/local/test_gpu.py"), ("vllm", "tests/local/engine")):
        if mark == "gpu" or find_spec("vllm"):
            line = [sys.executable, "-m", "pytest", "-m", mark, file, "-q", "-x", "--no-header"]
            part(f"tests marked {mark}", line, min(left(), TESTS_S))
    part("measurements", [sys.executable, __file__, "--part", *sys.argv[1:]], left())
    print(f"\nall of it took {time.monotonic() - begun:.0f} s")


def part(name: str, line: Sequence[str], seconds: float) -> None:
    """Run a command, its output here, for so many seconds at most."""
    print(f"\n== {name} (at most {seconds:.0f} s)", flush=True)
    begun = time.monotonic()
    process = subprocess.Popen(line, cwd=ROOT)
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        print(f"== {name}: ended, its time was up", flush=True)
        return
    print(f"== {name}: exit status {status} after {time.monotonic() - begun:.0f} s", flush=True)


def facts() -> str:
    """The machine, in two lines."""
    gpus = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
    versions = [
        f"{name} {found.__version__}"
        for name in ("torch", "transformers", "PIL")
        if (found := __import__(name))
    ]
    return (
        f"{', '.join(gpus) or 'no GPU'}; {os.cpu_count()} processors, Python "
        f"{platform.python_version()}, {', '.join(versions)}\n"
        f"free: {free_bytes('cuda:0' if gpus else 'cpu') / 2**30:.1f} GB; vllm "
        f"{'is' if find_spec('vllm') else 'is not'} installed"
    )


def measure(arguments: argparse.Namespace) -> None:
    """Measure one way of asking after the other; print every figure at once."""
    asked = local_two_rounds.parse(bench_line(arguments))
    measured: list[Measured] = []

    def tell(found: Measured) -> None:
        measured.append(found)
        lines = local_two_rounds.table(measured)
        print(
            *(lines[:1] if len(measured) == 1 else []), lines[len(measured)], sep="\n", flush=True
        )

    with tempfile.TemporaryDirectory() as folder:
        bench = local_two_rounds.Bench(asked, Path(folder))
        print(f"{local_two_rounds.described(asked)}; built in {bench.built_s:.0f} s", flush=True)
        bench.naive("warm", 1)
        tell(bench.naive("naive", asked.naive_steps))
        tell(bench.batched("batched", reuse=False))
        tell(bench.batched("reuse", reuse=True))
        print(memory(bench.loaded, asked.batch_size, measured[-1]), flush=True)
        print(f"kernels, reuse: {bench.kernels('reuse')}", flush=True)
        names = ["naive", "batched"]
        if find_spec("vllm"):
            tell(bench.vllm("vllm", **engine(arguments)))
            names.append("vllm")
            print(f"reuse is {_times(measured[2], measured[3])} vllm")
        print(f"reuse is {_times(measured[2], measured[0])} naive (wanted on a large GPU: 8)")
        print(f"reuse is {_times(measured[2], measured[1])} batched (wanted there: 1.3)")
        base = bench.replies("reuse")
        for name in names:
            other = bench.replies(name)
            both = {step: replies for step, replies in base.items() if step in other}
            count = differing(both, other)
            print(f"agreement in {asked.dtype}: reuse and {name} differ at {count} of {len(both)}")


def bench_line(arguments: argparse.Namespace) -> list[str]:
    """The arguments of `local_two_rounds`."""
    line = ["--shape", arguments.shape, "--device", arguments.device, "--profile-s", "10"]
    line += ["--steps", str(arguments.steps), "--naive-steps", "4"]
    for name in ("dtype", "batch_size", "max_pixels", "tokens"):
        value = getattr(arguments, name)
        line += [] if value is None else [f"--{name.replace('_', '-')}", str(value)]
    return line


def engine(arguments: argparse.Namespace) -> dict[str, object]:
    """Options of `vllm:`: on a CPU nothing that takes minutes, or all of the memory."""
    if arguments.device.startswith("cuda"):
        return {"max_model_len": 16_384, "engine_args": {"gpu_memory_utilization": 0.85}}
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    return {"max_model_len": 16_384, "max_num_seqs": 8, "engine_args": {"enforce_eager": True}}


def memory(loaded: Loaded, rows: int | None, measured: Measured) -> str:
    """Compare the memory planned for a batch with the most that was used."""
    plan = planned(loaded, rows)
    tokens = typical_tokens(loaded.family, loaded.context_tokens)
    weights = sum(tensor.nbytes for tensor in loaded.model.state_dict().values())
    kept, worked = loaded.family.cache_bytes_per_token(loaded.model), worked_per_token(loaded.model)
    needed = weights + plan.rows * tokens * (COHORTS * kept + worked)
    held = "not measured" if measured.memory is None else f"{measured.memory / 2**30:.1f} GB"
    return (
        f"memory: planned {needed / 2**30:.1f} GB ({weights / 2**30:.1f} GB of weights; "
        f"{plan.rows} rows of {tokens:,} tokens, {kept:,} bytes a token kept, {worked:,} worked "
        f"on; {plan.open_dialogues} open dialogues), most held {held}"
    )


def _times(one: Measured, other: Measured) -> str:
    return f"{one.steps_per_hour / other.steps_per_hour:.2f} times"


def parse() -> argparse.Namespace:
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shape", default="qwen2.5-vl-7b" if gpu else "tiny-wide")
    parser.add_argument("--device", default="cuda:0" if gpu else "cpu")
    parser.add_argument("--dtype", help="default: bfloat16 on a GPU, float32 on a CPU")
    parser.add_argument("--batch-size", type=int, help="rows of a batch (default: by memory)")
    parser.add_argument("--max-pixels", type=int)
    parser.add_argument("--tokens", type=int, help="of a reply")
    parser.add_argument("--steps", type=int, default=STEPS if gpu else 16)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for everything together")
    parser.add_argument("--part", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
