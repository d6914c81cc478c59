"""What is measured on a GPU runs on a CPU as well, and its exit status says what failed."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

from benchmarks import gpu_day

NOT_THERE = ("pyarrow", "datasets", "pandas", "openai", "anthropic", "google.genai", "vllm")
"""Packages that a lent machine need not have."""


def found(out: Path) -> dict[str, Any]:
    lines = (json.loads(line) for line in (out / "results.jsonl").read_text().splitlines())
    return {line["what"]: line["found"] for line in lines}


def asked(tmp_path: Path) -> argparse.Namespace:
    folder = tmp_path / "model"
    folder.mkdir()
    small = ("--rows", "2", "--steps", "3", "--shape", "tiny", "--original", "tiny-qwen-vl")
    place = ("--out", str(tmp_path), "--folder", str(folder), "--device", "cpu")
    return gpu_day.parse([*small, *place, "--max-pixels", "20000"])


@pytest.mark.parametrize("part", ["speed", "original"])
def test_two_rounds_are_measured(tmp_path: Path, part: str) -> None:
    arguments = asked(tmp_path)
    assert gpu_day.PARTS[part](arguments) == 0
    shape = arguments.shape if part == "speed" else arguments.original
    told = found(tmp_path)[f"{shape}: two rounds"]
    assert (told["rows"], told["steps"], told["most_gb"]) == (2, 3, None)
    assert told["steps_per_hour"] > 0 and told["reply_tokens_per_second"] > 0


@pytest.mark.parametrize("agree", [True, False])
def test_replies_that_differ_are_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agree: bool
) -> None:
    arguments = asked(tmp_path)
    if not agree:
        page = gpu_day.page
        texts = iter(range(10**6))
        monkeypatch.setattr(gpu_day, "page", lambda number: page(next(texts)))
    assert gpu_day.agreement(arguments) == (0 if agree else 1)
    told = found(tmp_path)["agreement in float32"]
    assert told["replies"] == 6
    assert (told["differ"] == 0) is agree


def test_a_part_whose_time_is_up_has_failed_and_what_it_found_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["gpu_day", "--out", str(tmp_path)])
    gpu_day.note(tmp_path, "before", 1)
    assert not gpu_day.carried_out("speed", 0.5, tmp_path)
    told = found(tmp_path)
    assert told["before"] == 1
    assert told["== speed"]["status"] == "its time was up"


@pytest.mark.parametrize(
    ("last", "status", "expected"),
    [
        ("9 passed in 3 s", 0, 0),
        ("9 skipped in 3 s", 0, 1),
        ("1 failed, 8 passed", 1, 1),
        ("", 4, 4),
    ],
)
def test_tests_that_were_all_skipped_are_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str, status: int, expected: int
) -> None:
    def run(line: object, stdout: Any, **_: object) -> subprocess.CompletedProcess[str]:
        stdout.write(f"first\n{last}\n")
        return subprocess.CompletedProcess([], status)

    monkeypatch.setattr(subprocess, "run", run)
    result = gpu_day.tests(argparse.Namespace(out=tmp_path))
    assert bool(result) is bool(expected)
    # The output is kept.
    assert (tmp_path / "tests.txt").read_text().startswith("first")


def test_it_needs_no_package_for_data_or_providers() -> None:
    blocked = "".join(f"sys.modules[{name!r}] = None\n" for name in NOT_THERE)
    tests = ", ".join(path.removesuffix(".py").replace("/", ".") for path in gpu_day.TESTS)
    code = f"import sys\n{blocked}import benchmarks.gpu_day, {tests}"
    root = Path(gpu_day.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
