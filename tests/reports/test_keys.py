"""What rows are grouped by: bands, and numbers recomputed from the lines of a run."""

from __future__ import annotations

import json
import math
import operator
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy import stats

from harness.runs import StepUnit
from harness.tables.results import POOLED
from parsers import F1_VARIANTS, MIND2WEB, Operation
from parsers.records import Choice
from reports.keys import band, keys
from reports.kinds.step import target_top
from reports.tables import main_table
from tests.reports.runs import setup, step, worked, write
from tests.units import changed, flat

KEYS = keys(MIND2WEB)

Boxes = tuple[tuple[float, float, float, float] | None, ...]


def _with_boxes(record: StepUnit, boxes: Boxes) -> StepUnit:
    return changed(record, gold=replace(record.detail.gold, boxes=boxes))


def _varied() -> list[StepUnit]:
    records = []
    for number in range(60):
        record = step(
            f"T{number // 5}",
            number % 5,
            None if number % 13 == 4 else number % 3 != 0,
            total_steps=5,
            split=f"test_{number // 25}",
            website=f"shop-{number // 15}",
            domain=f"domain-{number // 20}",
            subdomain=f"sub-{number // 10}",
            f1=dict.fromkeys(F1_VARIANTS, (number % 7) / 6),
            positives=number % 8,
            page_size=None if number % 17 == 3 else (1280, 300 * (number % 40)),
        )
        box = (0.0, 100.0 * number, 10.0, 0.0 if number % 11 == 0 else 10.0)
        record = _with_boxes(record, (None, box))
        operation: Operation = ("CLICK", "TYPE", "SELECT")[number % 3]
        record = changed(record, gold=replace(record.detail.gold, operation=operation))
        extra = tuple(
            Choice(chr(68 + place), f"n{place}", "a", "More") for place in range(number % 4)
        )
        records.append(changed(record, choices=(*record.detail.choices, *extra)))
    return records


def _group(key: str, line: dict[str, Any]) -> str:
    """The group of a raw line, worked out apart from the package."""
    if key in ("split", "website", "domain", "subdomain"):
        return str(line[key])
    if key == "operation":
        return str(line["gold"]["operation"])
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
    return str(sum(choice["id"] not in line["gold"]["elements"] for choice in line["choices"]))


Scored = dict[str, list[list[float]]]
"""Element, operation F1 and success of the steps of each task."""


def _check_rates(row: Any, own: Scored) -> None:
    """Rates and intervals of a row, worked out with scipy from the scores by task."""
    steps = [scores for task in own.values() for scores in task]
    assert (row["tasks"], row["steps"]) == (len(own), len(steps))
    for place, metric in enumerate(("element", "operation_f1", "step_success")) if steps else ():
        sums = [math.fsum(scores[place] for scores in task) for task in own.values()]
        sizes = [len(task) for task in own.values()]
        means = [total / size for total, size in zip(sums, sizes, strict=True)]
        macro, micro = math.fsum(means) / len(means), math.fsum(sums) / len(steps)
        assert row[f"{metric}_macro"] == pytest.approx(macro)
        assert row[f"{metric}_micro"] == pytest.approx(micro)
        won, lost = sum(total > 0 for total in sums), sum(map(operator.lt, sums, sizes))
        _check_interval(row, f"{metric}_macro", means, [1] * len(means), (won, lost))
        _check_interval(row, f"{metric}_micro", sums, sizes, (won, lost))


def _check_interval(
    row: Any, name: str, sums: list[float], sizes: list[int], moved: tuple[int, int]
) -> None:
    """An interval by the module that chooses it, from the sums of tasks alone, unless another
    measure cuts it."""
    tasks, mean = len(sums), math.fsum(sums) / sum(sizes)
    low, high, method = (row[f"{name}_{end}"] for end in ("low", "high", "method"))
    if tasks == 1:
        assert method == "clopper-pearson" if 0 in moved else pd.isna(low)
        return
    assert (method, bool(row[f"{name}_few"])) == ("wilson", min(moved) < 30)
    assert 0 <= low <= mean + 1e-12 and mean - 1e-12 <= high <= 1


def _check_tasks(row: Any, own: Scored, spoilt: set[str]) -> None:
    """Task success of a row; `spoilt` tasks have a row that counts as failed."""
    wins = sum(all(s[2] for s in task) and name not in spoilt for name, task in own.items())
    assert (row["task_success_succeeded"], row["task_success_total"]) == (wins, len(own))
    wanted = stats.binomtest(wins, len(own)).proportion_ci(0.95, "exact")
    assert row["task_success_low"] == pytest.approx(wanted.low, abs=1e-9)
    assert row["task_success_high"] == pytest.approx(wanted.high, abs=1e-9)


@pytest.mark.parametrize("key", KEYS)
def test_numbers_are_those_of_the_raw_lines(tmp_path: Path, key: str) -> None:
    run = write(tmp_path / "run", _varied(), setup(dataset={"rows": 60}))
    groups: dict[str, dict[str, Scored]] = {
        line: defaultdict(lambda: defaultdict(list)) for line in ("valid", "strict")
    }
    spoilt: set[str] = set()
    names = set()
    for text in (run / "steps.jsonl").read_text("utf-8").splitlines():
        line = flat(json.loads(text))
        name, task = _group(key, line), line["task_id"]
        names.add(name)
        if line["invalid"] is not None:
            spoilt.add(task)
            groups["strict"][name][task].append([0.0, 0.0, 0.0])
            continue
        scores = line["scores"]
        own = [scores["element"], scores["operation_f1.mind2web"], scores["success"]]
        for kind in groups.values():
            kind[name][task].append([float(value) for value in own])
    table = main_table(run, key)
    assert set(table[key]) - {POOLED} == names
    for _, row in table[table[key] != POOLED].iterrows():
        found = groups[row["line"]][row[key]]
        _check_rates(row, found)
        if key not in ("split", "website", "domain", "subdomain"):
            assert pd.isna(row["task_success_total"])
        else:
            _check_tasks(row, found, spoilt if row["line"] == "strict" else set())


def test_groups_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [step("A", index, True) for index in (12, 2, 0, 10, 25)])
    assert list(dict.fromkeys(main_table(run, "step_index")["step_index"])) == [
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
    assert all(key.meaning for key in KEYS.values())
    run = write(tmp_path / "run", worked())
    for key in KEYS:
        assert len(main_table(run, key))
