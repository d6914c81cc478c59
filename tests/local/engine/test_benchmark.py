"""The benchmark for a day with a GPU runs to its end without one, vLLM beside our own batches."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import gpu_day
from tests.local.engine.conftest import Log

SMALL = ("--batch-size", "2", "--steps", "4", "--tokens", "2-6", "--max-pixels", "20000")


def found(path: Path) -> dict[str, Any]:
    lines = (json.loads(line) for line in path.read_text().splitlines())
    return {line["what"]: line["found"] for line in lines}


def asked(tmp_path: Path) -> argparse.Namespace:
    folder = tmp_path / "bench"
    folder.mkdir()
    place = ("--out", str(tmp_path / "day.jsonl"), "--folder", str(folder))
    return gpu_day.parse(["--device", "cpu", "--shape", "tiny", *SMALL, *place])


def test_every_way_is_measured_with_the_same_lengths_and_compared(log: Log, tmp_path: Path) -> None:
    arguments = asked(tmp_path)
    gpu_day.speed(arguments)
    told = found(arguments.out)
    ways = [told[name] for name in ("naive", "batched", "reuse", "vllm")]
    assert [way["steps"] for way in ways] == [4, 4, 4, 4]
    # Eight replies of two to six tokens each.
    assert len({way["tokens"] for way in ways[:3]}) == 1
    assert 16 < ways[0]["tokens"] < 48
    lengths = [sampling["max_tokens"] for sampling in log("sampling")]
    assert sum(lengths) == ways[0]["tokens"] and len(set(lengths)) > 1
    assert told["reuse / naive"]["wanted"] == 8
    assert told["reuse / vllm"]["times"] > 0
    assert told["kernels"] == "not measured (no GPU)"
    assert told["memory"]["rows"] == 2
    # A ratio is written before anything that may be cut.
    assert list(told).index("reuse / batched") < list(told).index("memory")


def test_agreement_is_found_in_float32(log: Log, tmp_path: Path) -> None:
    arguments = asked(tmp_path)
    gpu_day.agreement(arguments)
    told = found(arguments.out)
    for name, count in (("naive", 0), ("batched", 0), ("vllm", 4)):
        # The stand-in of vLLM says what no model does.
        expected = {"differ": count, "steps": 4, "dtype": "float32"}
        assert told[f"agreement of reuse and {name}"] == expected


def test_a_part_whose_time_is_up_is_ended_and_the_next_one_runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "day.jsonl"
    begun = "import time; print('begun', flush=True); time.sleep(600)"
    gpu_day.part("long", [sys.executable, "-c", begun], 3.0, out)
    gpu_day.part("short", [sys.executable, "-c", "print('done')"], 60.0, out)
    assert "done" in capfd.readouterr().out
    told = found(out)
    assert told["== long"].startswith("ended, its time was up")
    assert told["== short"].startswith("exit status 0")
