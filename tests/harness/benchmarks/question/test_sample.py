"""The sample of questions: answers that stand on the picture, the same on every machine."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import harness
from harness.benchmarks import Items, benchmark, open_benchmark
from harness.errors import DataError
from tests import numbers
from tests.harness.commands.tool import call, isolate

NAME = "sample-questions"
SPLITS = ("dev", "test")
TASKS = {"heading", "element", "next-page", "which-box", "short", "unanswerable"}
DIGESTS = {
    "dev": "5f9cf54462ec6863d83b26dae4031e5671b690a32e94979b4f4dc66486b2a8ae",
    "test": "441d7940b1d17c805b30bbfd2347540d4663e8d13702a2340ba4939bcb2baad0",
}
"""Of all questions: what is asked about which picture, and the right answers."""


@cache
def sample(split: str) -> Items:
    opened = open_benchmark(NAME, splits=[split])
    assert isinstance(opened, Items)
    return opened


@pytest.mark.parametrize("split", SPLITS)
def test_questions_are_the_same_on_every_machine(split: str) -> None:
    digest = hashlib.sha256()
    for unit in sample(split).entries:
        (picture,) = sample(split).pictures(unit)
        asked, gold = unit.detail.asked, unit.detail.gold
        said = unit.unit_id, asked.prompt, asked.metric, gold.answers, gold.unanswerable
        digest.update(repr(said).encode() + picture)
    assert digest.hexdigest() == DIGESTS[split]


def test_dev_and_test_share_no_site_and_have_the_declared_sizes() -> None:
    sites = [{unit.labels["website"] for unit in sample(split).entries} for split in SPLITS]
    assert not sites[0] & sites[1]
    for size in benchmark(NAME).sizes:
        units = sample(size.split).entries
        assert (len({unit.parents["page"] for unit in units}), len(units)) == (
            size.tasks,
            size.rows,
        )
        assert Counter(unit.labels["task"] for unit in units).keys() == TASKS
    assert sum(len(sample(split).entries) for split in SPLITS) >= 120


def test_the_oracle_is_right_and_chance_is_a_quarter_of_two_in_six_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    line = ("-b", NAME, "--split", "dev", "--progress", "off", "-m", "oracle", "-o", "run")
    assert call(*line).code == 0
    found = numbers.row(harness.open_run("run").summary, "score", "cells")
    assert found["number"] == 1.0
    assert found["chance"] == pytest.approx((1 / 4 + 1 / 4) / 6)
    assert json.loads(Path("run/manifest.json").read_text())["dataset"]["origin"] == "package"


def test_it_can_be_checked_and_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)
    for command in ("check", "list"):
        done = call("data", command, "--benchmark", NAME)
        assert done.code == 0, done.err
        assert "marlowe" in done.out or "227 questions" in done.out


def test_the_sample_takes_no_path_and_no_foreign_split() -> None:
    with pytest.raises(DataError, match="sample-questions ships with the package"):
        open_benchmark(NAME, data=Path("there"))
    with pytest.raises(DataError, match="train"):
        open_benchmark(NAME, splits=["train"])
