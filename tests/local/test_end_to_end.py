"""Whole runs of the sample with tiny models, through the command line."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

from tests.harness.commands import tool
from tests.local.conftest import Checkpoint
from tests.local.tiny import FAMILIES

Lines = dict[str, dict[str, Any]]
Run = Callable[..., Path]


def arguments(model: Path, out: Path, *more: str) -> list[str]:
    quiet = ("--progress", "off", "--no-cache", "--adapter-option=preflight=no")
    asked = ("--image-policy", "full", "--adapter-option", "max_pixels=40000", "--max-tokens", "8")
    task = () if "--benchmark" in more else tool.ONE_TASK
    return ["--model", f"hf:{model}", *task, *asked, *quiet, "--out", str(out), *more]


def calls(out: Path) -> Lines:
    """The calls of a run, by id; a line that was cut off is none."""
    lines = (out / "calls.jsonl").read_text().splitlines(keepends=True)
    whole = [json.loads(line) for line in lines if line.endswith("\n")]
    return {line["id"]: line for line in whole}


def told(out: Path) -> dict[str, tuple[Any, ...]]:
    """What a run says that must not depend on how it was carried out."""
    return {
        name: (call["reply"]["text"], call["reply"]["native"], call["conversation"])
        for name, call in calls(out).items()
    }


def measured(out: Path) -> dict[str, Any]:
    (session,) = json.loads((out / "manifest.json").read_text())["sessions"]
    found: dict[str, Any] = session["measured"]["model"]
    return found


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool.isolate(monkeypatch, tmp_path)


@pytest.fixture
def run(checkpoint: Checkpoint, tmp_path: Path) -> Run:
    def make(family: str, name: str, *more: str) -> Path:
        out = tmp_path / name
        called = tool.call(*arguments(checkpoint(family), out, *more))
        assert called.code == 0, called.err
        return out

    return make


def test_a_model_without_rules_of_its_own_is_planned_and_asked_like_the_others(run: Run) -> None:
    """SmolVLM is the example of the documentation."""
    planned = run("smolvlm", "planned", "--dry-run")
    assert not planned.exists()
    out = run("smolvlm", "run")
    found = calls(out).values()
    assert {call["place"] for call in found} == {"round-1", "round-2"}
    assert all(step["settled"] for step in tool.steps(out))
    # Pictures are cut into tiles, each with tokens of its own.
    assert all(call["reply"]["usage"]["input"] > 20 for call in found)


@pytest.mark.parametrize("family", FAMILIES)
def test_two_rounds_of_the_sample_run_to_the_end(run: Run, family: str) -> None:
    out = run(family, "run", "--adapter-option", "batch_size=4")
    steps = tool.steps(out)
    assert len(steps) > 4
    assert all(step["settled"] for step in steps)
    second = [c for c in calls(out).values() if c["place"] == "round-2"]
    assert len(second) == len(steps)
    for call in second:
        first = calls(out)[call["id"].replace("round-2", "round-1")]["reply"]["usage"]
        assert call["reply"]["usage"]["input"] > first["input"] + first["output"]
    facts = measured(out)
    assert facts["counts"]["rows"] == 2 * len(steps)
    # Replies are gathered into batches: not full at the start and at the end.
    assert facts["counts"]["batches"] < 1.5 * facts["counts"]["rows"] / 4
    assert (facts["batch_size"], facts["dtype"]) == (4, "float32")
    assert {"torch", "transformers", "device", "identity"} <= facts.keys()


def test_a_run_that_was_killed_goes_on_to_the_same_replies(
    run: Run, checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = "qwen3-vl"
    base = told(run(family, "whole", "--adapter-option", "batch_size=2"))
    out = tmp_path / "killed"
    command = arguments(checkpoint(family), out, "--adapter-option", "batch_size=2")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    killed = tool.start(*command, OMP_NUM_THREADS="1")
    journal = out / "calls.jsonl"
    deadline = time.monotonic() + 300
    while not (journal.exists() and journal.stat().st_size):
        assert killed.poll() is None, killed.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    before = calls(out)
    assert 0 < len(before) < len(base)
    called = tool.call(*command)
    assert called.code == 0, called.err
    assert told(out) == base
    assert {name: calls(out)[name] for name in before} == before


def test_a_local_model_is_asked_for_places_in_its_own_pixels(run: Run) -> None:
    sample = ("--benchmark", "sample-grounding", "--limit", "4")
    out = run("qwen2.5-vl", "run", *sample, "--adapter-option", "batch_size=2")
    settings = json.loads((out / "manifest.json").read_text())["config"]
    options = settings["protocol_option"]
    assert (options["form"], options["coordinates"]) == ("qwen2.5-vl", "absolute")
    lines = [json.loads(line) for line in (out / "steps.jsonl").read_text().splitlines()]
    assert len(lines) == 4 and all(line["settled"] for line in lines)
    sizes = {(p["width"], p["height"]) for line in lines for p in line["pictures"]}
    assert all(side % 28 == 0 and side < 1280 for size in sizes for side in size)
    assert all(call["place"] == "answer" for call in calls(out).values())
    assert tool.call("score", str(out)).code == 0
