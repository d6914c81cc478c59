"""Somebody else's predictions about real annotations, without pictures, against totals by hand."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.registry import Entry
from harness.benchmarks import BENCHMARKS, benchmark
from tests import numbers
from tests.grounding import Screens
from tests.harness.benchmarks._files import shared_data
from tests.harness.commands.tool import Called, call, isolate
from tests.test_made_up_kind import RoadSigns

PRO = "screenspot-pro/annotations"
V2 = "screenspot-v2-converted"
Line = dict[str, Any]


@pytest.fixture(autouse=True)
def screens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setitem(BENCHMARKS._entries, "screens", Entry("", Screens))


def lines_about(rows: list[Line]) -> Iterator[tuple[Line, Line | None]]:
    """Every row with what is said about it: points and boxes in all numbers, declines, nothing."""
    for row in rows:
        (left, top, right, bottom), (width, height) = row["bbox"], row["img_size"]
        drawn = hashlib.sha256(row["id"].encode()).digest()
        # From two box widths to the left to as many to the right, and so on.
        x = min(max(left + (drawn[0] / 64 - 1.5) * (right - left), 0), width)
        y = min(max(top + (drawn[1] / 128 - 0.5) * (bottom - top), 0), height)
        line: Line = {"item": row["id"]}
        match drawn[2] % 8:
            case 0:
                line["point"] = [x, y]
            case 1:
                line |= {"point": [x / width, y / height], "coordinates": "unit"}
            case 2:
                numbers = [round(1000 * x / width), round(1000 * y / height)]
                line |= {"point": numbers, "coordinates": "per-mille"}
            case 3:
                numbers = [round(999 * x / width), round(999 * y / height)]
                line |= {"point": numbers, "coordinates": "per-999"}
            case 4:
                line["box"] = [left, top, right, bottom]
            case 5:
                line["declined"] = True
            case 6 if drawn[3] % 2:
                line["point"] = [width + 50, y]
            case 7:
                yield row, None
                continue
        yield row, line


def is_hit(row: Line, line: Line | None) -> bool:
    """Whether it counts, told from the stored row alone."""
    if line is None or "point" not in line:
        return line is not None and "box" in line
    (left, top, right, bottom), (width, height) = row["bbox"], row["img_size"]
    most = {"unit": 1, "per-mille": 1000, "per-999": 999}.get(line.get("coordinates", ""))
    x, y = line["point"]
    if most is not None:
        x, y = x * width / most, y * height / most
    slack = 1e-6
    inside = left - slack <= x <= right + slack and top - slack <= y <= bottom + slack
    return bool(inside and x <= width and y <= height)


def score(lines: list[Line], *options: str | Path) -> Called:
    Path("p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return call("score", "--predictions", "p.jsonl", *options)


@pytest.mark.parametrize(
    ("benchmark", "folder", "files"),
    [("screenspot-pro", PRO, 26), ("screenspot-v2", V2, 3)],
)
def test_totals_are_those_of_a_script_of_its_own(benchmark: str, folder: str, files: int) -> None:
    paths = sorted(shared_data(f"grounding/{folder}").glob("*.json"))
    assert len(paths) == files
    hits: dict[tuple[str, str], list[bool]] = defaultdict(list)
    lines = []
    statuses = {"declined": 0, "unreadable": 0, "out of range": 0, "no reply": 0}
    for path in paths:
        for row, line in lines_about(json.loads(path.read_text("utf-8"))):
            part = row["group"] if benchmark == "screenspot-pro" else path.stem.split("_")[1]
            hits[part, row["ui_type"]].append(is_hit(row, line))
            statuses["no reply"] += line is None
            if line is not None:
                lines.append(line)
                statuses["declined"] += "declined" in line
                statuses["unreadable"] += line.keys() == {"item"}
                beyond = line.get("point", [0])[0] > row["img_size"][0]
                statuses["out of range"] += beyond and "coordinates" not in line
    every = [one for cell in hits.values() for one in cell]
    assert 0.1 < sum(every) / len(every) < 0.5, "worth telling apart"
    options = ("-b", benchmark, "--data", shared_data("grounding"))
    found = json.loads(score(lines, *options, "--json=full").out)
    micro = numbers.row(found, "hit", "micro")
    assert micro["number"] == pytest.approx(sum(every) / len(every), abs=1e-12)
    cells = [sum(cell) / len(cell) for cell in hits.values()]
    assert numbers.row(found, "hit", "cells")["number"] == pytest.approx(
        sum(cells) / len(cells), abs=1e-12
    )
    assert micro["n"] == len(every), "rows without a prediction are wrong"
    told = " ".join(score(lines, *options).out.split())
    for what, count in statuses.items():
        assert f"{what} {count} (" in told
    assert f"{len(lines)} predictions for {len(every):,} items; items without one count" in told
    left_out = json.loads(
        score(lines, *options, "--json=full", "--benchmark-option", "unattempted=exclude").out
    )
    assert numbers.row(left_out, "hit", "micro")["n"] == len(lines)


def test_the_note_is_that_of_the_benchmark() -> None:
    lines: list[Line] = [{"item": "marlowe-2c52d5d2-1", "point": [1, 2]}]
    note = json.loads(score(lines, "-b", "sample-grounding", "--json=full").out)["note"]
    assert note == benchmark("sample-grounding").note and "Mind2Web" not in note


def test_what_is_absent_is_right_where_it_is_declined() -> None:
    lines: list[Line] = [{"item": "gone", "declined": True}, {"item": "search", "declined": True}]
    found = json.loads(score(lines, "-b", "screens", "--json=full").out)
    hit, present, declined = (
        numbers.row(found, name, "micro") for name in ("hit", "present", "declined")
    )
    assert hit["number"] == 1 / 5
    assert (present["number"], present["n"]) == (0, 4)
    assert declined["number"] == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"item": "serch", "point": [1, 2]}, "no item serch among those selected; did you mean"),
        ({"item": "menu", "point": [1, 2], "declined": True}, "one of point, box and declined"),
        ({"item": "menu", "point": [1]}, "line 1"),
        ({"item": "menu", "point": [1, "2"]}, "line 1"),
        ({"item": "menu", "point": [1, 2], "coordinates": "pixels"}, "line 1: Invalid enum"),
        ({"item": "menu", "pont": [1, 2]}, "line 1: Object contains unknown field `pont`"),
        ({"step": "menu"}, "line 1"),
    ],
)
def test_a_mistake_in_the_file_is_told(line: Line, problem: str) -> None:
    told = score([line], "-b", "screens")
    assert told.code == 2 and problem in " ".join(told.err.split())
    assert "Traceback" not in told.err


def test_shares_that_are_taken_for_pixels_are_told() -> None:
    lines: list[Line] = [{"item": "menu", "point": [0.5, 0.25]}]
    told = " ".join(score(lines, "-b", "screens").out.split())
    assert "1 place in pixels lie within 0 to 1" in told


def test_a_second_line_about_an_item_is_refused() -> None:
    twice: list[Line] = [{"item": "menu", "point": [1, 2]}] * 2
    assert "a second prediction for item menu" in score(twice, "-b", "screens").err


def test_a_kind_that_knows_none_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = replace(RoadSigns(), declared=replace(RoadSigns().declared, actions=None))
    monkeypatch.setitem(BENCHMARKS._entries, "road-signs", Entry("", bare))
    told = score([{"item": "x"}], "-b", "road-signs")
    assert told.code == 2 and "road-signs declares no actions to predict" in told.err
