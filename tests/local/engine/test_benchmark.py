"""The benchmark for a day with a GPU runs to its end without one, vLLM beside our own batches."""

from __future__ import annotations

import sys

import pytest

from benchmarks import gpu_day
from tests.local.engine.conftest import Log

SMALL = ("--batch-size", "2", "--steps", "4", "--tokens", "4", "--max-pixels", "20000")


def test_every_way_is_measured_and_compared(
    log: Log, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["gpu_day.py", "--device", "cpu", "--shape", "tiny", *SMALL])
    gpu_day.measure(gpu_day.parse())
    told = capsys.readouterr().out
    for name, steps in (("naive", 4), ("batched", 4), ("reuse", 4), ("vllm", 4)):
        assert any(line.split()[:2] == [name, str(steps)] for line in told.splitlines()), told
    assert "kernels, reuse: not measured (no GPU)" in told
    assert "memory: planned" in told and "2 rows of" in told
    assert "agreement in float32: reuse and batched differ at 0 of 4" in told
    # The stand-in says what no model does.
    assert "agreement in float32: reuse and vllm differ at 4 of 4" in told
    assert len(log("ids")) == 8


def test_a_part_whose_time_is_up_is_ended_and_the_next_one_runs(
    capfd: pytest.CaptureFixture[str],
) -> None:
    begun = "import time; print('begun', flush=True); time.sleep(600)"
    gpu_day.part("long", [sys.executable, "-c", begun], 3.0)
    gpu_day.part("short", [sys.executable, "-c", "print('done')"], 60.0)
    told = capfd.readouterr().out
    assert "== long: ended, its time was up" in told
    assert "done" in told and "== short: exit status 0" in told
