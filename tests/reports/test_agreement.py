"""A report works out of the lines of a run what its `summary.json` has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reports.frames.rows import run_rows
from tests.reports.exports.runs import KINDS


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"made-up", "episodes"}))
def test_runs_of_every_kind_have_the_numbers_of_their_summaries(kind: str, tmp_path: Path) -> None:
    run = KINDS[kind](tmp_path / "run")
    summary = json.loads((run / "summary.json").read_text("utf-8"))
    recorded = {
        (row["measure"], row["average"], row["rule"]): [row.get(name) for name in ("number", "low")]
        for row in summary["estimates"]
        if not row.get("group")
    }
    (rows,) = run_rows(run)
    found = {
        (row.measure, row.average, row.rule): [row.number, row.interval and row.interval.low]
        for row in rows.total.rows
    }
    assert found.keys() == recorded.keys()
    for key, numbers in found.items():
        assert numbers == pytest.approx(recorded[key], abs=1e-12), key
    spent = rows.frame["cost"].sum()
    assert spent == pytest.approx(summary["cost"] or 0)
