"""What rows are grouped by: bands, and numbers recomputed from the lines of a run."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.runs import ChoiceRecord, StepRecord
from reports.keys import KEYS, MEANINGS, Key, band, target_top
from reports.tables import by_table
from tests.reports.runs import setup, step, worked, write

Boxes = tuple[tuple[float, float, float, float] | None, ...]


def _with_boxes(record: StepRecord, boxes: Boxes) -> StepRecord:
    return replace(record, gold=replace(record.gold, boxes=boxes))


def _varied() -> list[StepRecord]:
    records = []
    for number in range(60):
        record = step(
            f"T{number // 5}",
            number % 5,
            None if number % 13 == 4 else number % 3 != 0,
            total_steps=5,
            positives=number % 8,
            page_size=None if number % 17 == 3 else (1280, 300 * (number % 40)),
        )
        box = (0.0, 100.0 * number, 10.0, 0.0 if number % 11 == 0 else 10.0)
        record = _with_boxes(record, (None, box))
        extra = tuple(
            ChoiceRecord(chr(68 + place), f"n{place}", "a", "More", None, False)
            for place in range(number % 4)
        )
        records.append(replace(record, choices=(*record.choices, *extra)))
    return records


def _group(key: Key, line: dict[str, Any]) -> str:
    """The group of a raw line, worked out apart from the package."""
    if key == "positives":
        n = line["positives"]
        return str(n) if n < 3 else "3-5" if n < 6 else "6+"
    if key == "page_height":
        if line["page_size"] is None:
            return "unknown"
        height = line["page_size"][1]
        for low, high in ((0, 999), (1000, 1999), (2000, 3999), (4000, 7999)):
            if low <= height <= high:
                return f"{low}-{high}"
        return "8000+"
    if key == "target_top":
        tops = [b[1] for b in line["gold"]["boxes"] if b and b[2] > 0 and b[3] > 0]
        if not tops:
            return "unknown"
        for low, high in ((0, 719), (720, 1439), (1440, 2879), (2880, 5759)):
            if low <= min(tops) <= high:
                return f"{low}-{high}"
        return "5760+"
    if key == "step_index":
        return str(line["index"])
    assert key == "distractors"
    return str(sum(not choice["positive"] for choice in line["choices"]))


@pytest.mark.parametrize("key", KEYS[5:])
def test_numbers_are_those_of_the_raw_lines(tmp_path: Path, key: Key) -> None:
    run = write(tmp_path / "run", _varied(), setup(dataset={"rows": 60}))
    groups: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    names = set()
    for text in (run / "steps.jsonl").read_text("utf-8").splitlines():
        line = json.loads(text)
        name = _group(key, line)
        names.add(name)
        if line["invalid"] is None:
            groups[name][line["task_id"]].append(float(line["scores"]["success"]))
    table = by_table(run, key)
    assert set(table[key]) == names
    for _, row in table[table["line"] == "valid"].iterrows():
        own = groups[row[key]]
        values = [value for task in own.values() for value in task]
        assert (row["tasks"], row["steps"]) == (len(own), len(values))
        assert pd.isna(row["tasks_total"])
        if values:
            means = [math.fsum(task) / len(task) for task in own.values()]
            assert row["step_success_macro"] == pytest.approx(math.fsum(means) / len(means))
            assert row["step_success_micro"] == pytest.approx(math.fsum(values) / len(values))


def test_groups_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [step("A", index, True) for index in (12, 2, 0, 10, 25)])
    assert list(dict.fromkeys(by_table(run, "step_index")["step_index"])) == [
        "0",
        "2",
        "10-14",
        "20+",
    ]


def test_bands() -> None:
    names = [band(value, (720, 1440))[1] for value in (0, 719, 719.9, 720, 5000, None, -3)]
    assert names == ["0-719", "0-719", "0-719", "720-1439", "1440+", "unknown", "0-719"]


def test_the_target_is_the_highest_element_with_an_extent() -> None:
    boxes = ((0.0, 50.0, 0.0, 5.0), (0.0, 300.0, 9.0, 9.0), (0.0, 200.0, 9.0, 9.0), None)
    assert target_top(_with_boxes(step("A", 0, True), boxes)) == 200.0
    assert target_top(step("A", 0, True)) is None


def test_every_key_says_what_it_means(tmp_path: Path) -> None:
    assert set(MEANINGS) == set(KEYS)
    run = write(tmp_path / "run", worked())
    for key in KEYS:
        assert len(by_table(run, key))
