"""Rows that cannot be read: the run stops with one line, or counts them as invalid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.benchmarks._files import page, picture, task, write
from tests.harness.commands.tool import Called, call

BROKEN = {
    "page": ({"cleaned_html": page()[:-20]}, "column 'cleaned_html': the page cannot be parsed"),
    "candidates": ({"pos_candidates": ["{"]}, "column 'pos_candidates': candidate 0"),
    "operation": ({"operation": '{"op": "FLY"}'}, "op 'FLY'"),
    "header of the picture": (
        {"screenshot": {"bytes": b"garbage", "path": None}},
        "screenshot: not a JPEG, PNG or WebP picture",
    ),
}


def evaluate(data: Path, *more: str) -> Called:
    return call(
        *("--model", "always-click", "--benchmark", "multimodal-mind2web", "--data", str(data)),
        *("--distractors", "5", "--progress", "off", "--details", "--out", "run", *more),
    )


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()]


def one_broken(folder: Path, fields: dict[str, object]) -> Path:
    rows = task("a", 3)
    rows[1] |= fields
    return write(folder / "test_task.parquet", rows)


@pytest.mark.parametrize(("fields", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_row_stops_the_run_or_is_counted_as_invalid(
    place: Path, fields: dict[str, object], reason: str
) -> None:
    data = one_broken(place, fields)
    stopped = evaluate(data)
    assert stopped.code == 2
    assert f"{data}, row 2: " in stopped.err
    assert reason in stopped.err.splitlines()[-1]
    assert stopped.err.endswith(
        "; --benchmark-option skip_bad_rows=yes counts such rows as invalid\n"
    )

    # The run that stopped goes on, and a later session needs the option no more.
    counted = evaluate(data, "--benchmark-option", "skip_bad_rows=yes")
    assert counted.code == 0
    assert "2 valid, 1 invalid (1 unreadable_row; not asked)" in counted.out
    (line,) = [line for line in lines(place / "run") if line["invalid"]]
    assert (line["invalid"], line["settled"], line["asked"]) == ("unreadable_row", True, False)
    assert reason in line["error"]
    assert evaluate(data).code == 0
    assert call("score", "run").code == 0


def test_a_picture_with_a_sound_header_is_decoded_to_find_out(place: Path) -> None:
    data = one_broken(place, {"screenshot": {"bytes": picture()[:-200], "path": None}})
    counted = evaluate(data, "--benchmark-option", "skip_bad_rows=yes")
    assert counted.code == 0
    (line,) = [line for line in lines(place / "run") if line["invalid"]]
    assert "the picture does not decode: image file is truncated" in line["error"]


def test_an_estimate_counts_broken_rows_as_the_run_would(place: Path) -> None:
    data = one_broken(place, {"cleaned_html": ""})
    assert evaluate(data, "--dry-run").code == 2
    counted = evaluate(data, "--dry-run", "--benchmark-option", "skip_bad_rows=yes")
    assert counted.code == 0
    assert "1 unreadable_row" in counted.out


def test_data_check_names_every_broken_row(place: Path) -> None:
    rows = task("a", 4)
    for row in rows[1:3]:
        row |= {"pos_candidates": ["{"]}
    rows[3] |= {"screenshot": {"bytes": picture()[:-200], "path": None}}
    data = write(place / "test_task.parquet", rows)
    called = call("data", "check", "--data", str(data))
    assert called.code == 2
    assert "error: 2 rows: column 'pos_candidates': candidate 0 cannot be decoded" in called.out
    assert "error: 1 row: screenshot: the picture does not decode" in called.out
    assert "test_task: 1 row, 1 task" in called.out
