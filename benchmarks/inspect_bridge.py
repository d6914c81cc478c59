"""Cost of the same steps as a run of ours and as a task of inspect_ai, with a model that answers
at once: processor time, memory of the process, size of what is written.

    python benchmarks/inspect_bridge.py            # the whole sample: 153 steps, 2 rounds each
    python benchmarks/inspect_bridge.py --limit 3

Each is run in a separate process, in turns, and pictures are prepared and encoded in all of them.
Needs the extra [inspect]. Exit status 1 if the numbers of calls or the scores differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

SIDES = ("vlm-eval run", "inspect eval --no-log-images", "inspect eval")
REPLY = "The next action is to press the button.\n\nELEMENT: C\nACTION: CLICK\nVALUE: None"


class Took(NamedTuple):
    """Resources that a process used; `cpu_s` includes its child processes."""

    wall_s: float
    cpu_s: float
    memory_mb: float
    written_mb: float
    told: dict[str, Any]


def ours(limit: int | None, folder: Path) -> dict[str, Any]:
    """A run with a scripted model that looks at its pictures."""
    import harness
    from adapters import Reply, Request, Usage
    from adapters.scripted import scripted

    def answer(request: Request) -> Reply:
        return Reply(REPLY, usage=Usage(input=2_000, output=60))

    run = harness.evaluate(
        scripted(function=answer, look=True),
        benchmark="sample",
        limit=limit,
        out=str(folder),
        progress="off",
        preflight=False,
        cache=False,
    )
    total = run.scores.element.value
    return {"calls": sum(1 for _ in run.calls()), "element": total}


def bridged(limit: int | None, folder: Path, *, images: bool) -> dict[str, Any]:
    """The same as a task of inspect."""
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from harness.bridge.tasks import benchmark

    calls = 0

    def answer(*_: Any) -> ModelOutput:
        nonlocal calls
        calls += 1
        output = ModelOutput.from_content("mockllm", REPLY)
        output.usage = ModelUsage(input_tokens=2_000, output_tokens=60, total_tokens=2_060)
        return output

    (log,) = inspect_eval(
        benchmark(benchmark="sample", **({"limit_tasks": limit} if limit else {})),
        model=get_model("mockllm/model", custom_outputs=answer),
        log_dir=str(folder),
        log_images=images,
        display="none",
    )
    assert log.status == "success" and log.results is not None
    element = next(one for one in log.results.scores if one.name == "element")
    value = next(
        m.value for m in element.metrics.values() if (m.group, m.name) == ("macro", "value")
    )
    return {"calls": calls, "element": value}


def measured(side: str, limit: int | None) -> Took:
    """Run one side in a separate process."""
    with tempfile.TemporaryDirectory() as name:
        folder, told = Path(name) / "out", Path(name) / "told.json"
        command = [sys.executable, __file__, "--side", side, "--folder", str(folder)]
        command += ["--told", str(told), *(["--limit", str(limit)] if limit else [])]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{side} failed")
        written = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        return Took(
            time.perf_counter() - start,
            used.ru_utime + used.ru_stime,
            used.ru_maxrss / 1024,
            written / 1e6,
            json.loads(told.read_text()),
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--limit", type=int, help="only the first N tasks")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--told", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        told = (
            ours(options.limit, options.folder)
            if options.side == "vlm-eval run"
            else bridged(options.limit, options.folder, images=options.side == "inspect eval")
        )
        options.told.write_text(json.dumps(told))
        return 0
    seen = set()
    for _ in range(options.rounds):
        for side in SIDES:
            took = measured(side, options.limit)
            seen.add(json.dumps(took.told))
            print(
                f"{side:30} {took.cpu_s:6.1f} s CPU, {took.wall_s:5.1f} s, "
                f"{took.memory_mb:4.0f} MB, {took.written_mb:5.1f} MB written, "
                f"{took.told['calls']} calls"
            )
    return len(seen) > 1


if __name__ == "__main__":
    sys.exit(main())
