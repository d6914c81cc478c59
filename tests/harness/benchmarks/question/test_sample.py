"""The sample of questions: answers that stand on the picture, the same on every machine."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from lxml import etree

import harness
from harness.benchmarks import Items, benchmark, open_benchmark
from harness.errors import DataError
from harness.pictures import read_size
from harness.runs import Unit
from harness.sample import files
from parsers.question import QuestionDetail
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


@cache
def pages(split: str) -> dict[str, list[str]]:
    """The texts of the pages of the files, by site."""
    found: dict[str, list[str]] = {}
    for row in pq.read_table(files()[split], columns=["website", "cleaned_html"]).to_pylist():
        text = " ".join("".join(etree.fromstring(row["cleaned_html"]).itertext()).split())
        found.setdefault(row["website"], []).append(text)
    return found


def of(split: str, *tasks: str) -> Sequence[Unit[QuestionDetail]]:
    return [unit for unit in sample(split).entries if unit.labels["task"] in tasks]


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


@pytest.mark.parametrize("split", SPLITS)
def test_right_answers_stand_on_pages_of_the_site(split: str) -> None:
    for unit in of(split, "heading", "element", "short"):
        (answer,) = unit.detail.gold.answers
        assert any(answer in text for text in pages(split)[unit.labels["website"]]), unit.unit_id


@pytest.mark.parametrize("split", SPLITS)
def test_boxes_lie_in_the_picture_of_one_size(split: str) -> None:
    for unit in sample(split).entries:
        (picture,) = sample(split).pictures(unit)
        size = read_size(picture)
        assert (size.width, size.height) == (1280, 720)
        for box in re.findall(r"\[([\d., ]+)\]", " ".join((unit.detail.asked.prompt,))):
            left, top, right, bottom = map(float, box.split(","))
            assert 0 <= left < right <= 1 and 0 <= top < bottom <= 1


@pytest.mark.parametrize("split", SPLITS)
def test_what_cannot_be_answered_is_on_another_page_only(split: str) -> None:
    assert len(of(split, "unanswerable")) >= 5
    for unit in of(split, "unanswerable"):
        gold = unit.detail.gold
        assert gold.unanswerable and not gold.answers
        label = re.findall("“(.*?)”", unit.detail.asked.question)[0]
        texts = pages(split)[unit.labels["website"]]
        assert any(label in text for text in texts) and not all(label in text for text in texts)


@pytest.mark.parametrize("split", SPLITS)
def test_no_letter_is_right_more_often_than_others_by_much(split: str) -> None:
    for task in ("next-page", "which-box"):
        units = of(split, task)
        assert all(len(set(unit.detail.asked.options)) == 4 for unit in units)
        letters = Counter(unit.detail.gold.answers[0] for unit in units)
        assert max(letters.values()) <= len(units) * 0.36


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
