"""Classes of whole runs: counts, frames, formats and the command."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.runs import DataGone, RunError, StepData, StepUnit, open_run
from harness.tables import FORMATS
from parsers import Status
from reports.errors import classify_run
from reports.errors.command import errors
from reports.errors.labels import Label, add_labels, read_labels
from reports.errors.table import (
    columns,
    errors_frame,
    errors_table,
    frame_columns,
    keys,
    render,
)
from reports.kinds.step.errors import ErrorClass
from tests.reports.errors.cases import CHOICES, PAGE, record, rounds
from tests.reports.runs import schema, write
from tests.units import changed

DIGEST = hashlib.sha256(PAGE.encode()).hexdigest()
NOTE = "Contains test data"


def _records() -> list[StepUnit]:
    """Ten rows on two sites: two successes, one invalid, one open, six errors."""
    made = [
        record(),
        record("15"),
        record("22"),
        record(None, None, status=Status.NONE),
        replace(record(), invalid="no_positive", asked=False, prediction=None, scores=None),
        record(),
        record("12", "TYPE", "Ohi", gold=("TYPE", "Ohio")),
        record(None, None, status=Status.EMPTY),
        record(None, None, status=Status.AMBIGUOUS),
        replace(record(), settled=False, error="timeout", prediction=None, scores=None),
    ]
    return [
        changed(
            one,
            step_id=f"s{place}",
            index=place,
            website="=shop|<b>" if place < 5 else "café",
            total_steps=10,
            html_digest=DIGEST,
        )
        for place, one in enumerate(made)
    ]


Found = Iterator[tuple[str, StepData | DataGone]]


def _page(dataset: Mapping[str, Any], step_ids: Collection[str]) -> Found:
    for step_id in step_ids:
        gone = step_id == "s2"
        yield step_id, DataGone("the data is gone") if gone else StepData(PAGE, None)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    records = _records()
    calls = rounds(records[1], 'I press "Save address".')
    return write(tmp_path / "run", records, calls=calls, complete=False)


def _call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(errors, [str(argument) for argument in arguments])


EXPECTED = [
    ErrorClass.SUCCESS,
    ErrorClass.WRONG_DESCRIBED,
    ErrorClass.WRONG_UNKNOWN_PAGE,
    ErrorClass.NONE_CHOSEN,
    ErrorClass.INVALID,
    ErrorClass.SUCCESS,
    ErrorClass.WRONG_VALUE,
    ErrorClass.NO_ANSWER,
    ErrorClass.NO_ANSWER,
    ErrorClass.UNSETTLED,
]


def test_a_run_is_classified_with_its_pages_and_calls(run: Path) -> None:
    found = classify_run(open_run(run, _page))
    assert [one.error_class for one in found] == EXPECTED
    assert found[2].detail == "the data is gone"


def test_without_pages_none_is_looked_up(run: Path) -> None:
    def refuse(dataset: Mapping[str, Any], step_ids: Collection[str]) -> Found:
        raise AssertionError("looked up")

    found = classify_run(open_run(run, refuse), pages=False)
    assert found[1].error_class is ErrorClass.WRONG_UNKNOWN_PAGE
    assert found[1].detail == "the page was not read"
    assert found[1].flags == ("described_target",)


def test_counts_and_shares_equal_those_of_the_raw_lines(run: Path) -> None:
    lines = [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()]
    settled = [line for line in lines if line["invalid"] is None and line["settled"]]
    failed = [line for line in settled if not line["scores"]["success"]]
    table = errors_table(open_run(run, _page))
    assert table["steps"].sum() == len(lines)
    assert table["share"].sum() == pytest.approx(1)
    assert table["share_of_errors"].sum() == pytest.approx(1)
    by_class = table.set_index("title")
    assert by_class.loc["success", "share"] == 1 - len(failed) / len(settled)
    statuses = Counter(line["prediction"]["status"] for line in failed)
    for status in ("empty", "ambiguous"):
        assert by_class.loc[f"no answer: {status}", "steps"] == statuses[status]


@pytest.mark.parametrize("by", ("split", "website", "operation"))
def test_groups_sum_to_the_whole(run: Path, by: Any) -> None:
    table = errors_table(open_run(run, _page), by)
    whole = table[table["by"] == "all"].groupby("error_class")["steps"].sum()
    groups = table[table["by"] == by].groupby("error_class")["steps"].sum()
    assert whole.to_dict() == groups.to_dict()


def test_a_key_that_the_benchmark_does_not_have_names_those_it_has(run: Path) -> None:
    assert keys(open_run(run).manifest.declaration) == ("split", "website", "operation")
    result = _call(run, "--by", "task")
    assert result.exit_code == 2
    assert "expected split or website or operation" in result.output


def test_near_misses_and_lost_descriptions_are_counted(run: Path) -> None:
    table = errors_table(open_run(run, _page))
    assert table.attrs["beside"] == [
        {
            "run": "run",
            "wrong_values": 1,
            "near_by_f1": 0,
            "near_by_edit": 0,
            "wrong_elements": 2,
            "described_target": 1,
            "no_action": 0,
        }
    ]
    text = " ".join(render(table).split())
    assert "round 1 described the target in 1 of 2 wrong elements" in text


def test_the_frame_has_its_schema(run: Path) -> None:
    add_labels(run, [Label("s1", "pop-up")])
    opened = open_run(run, _page)
    frame = errors_frame(opened)
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == schema(frame_columns(opened))
    assert frame["described_target"].tolist()[1]
    assert frame["human_label"].tolist()[1] == "pop-up"


def test_an_empty_run_has_an_empty_table(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [], complete=False)
    table = errors_table(run, examples=2)
    assert len(table) == 0
    for form in FORMATS:
        assert NOTE in render(table, form)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_carries_the_note_and_no_control_characters(run: Path, form: Any) -> None:
    evil = replace(CHOICES[5], text="<a> \x1b[2J </a><script>|")
    records = [
        changed(one, choices=(*CHOICES[:5], evil, *CHOICES[6:]), repeat=1) for one in _records()
    ]
    write(run, records, complete=False)
    add_labels(run, [Label("s2", "<img onerror=x>\x1b[31m", repeat=1)])
    text = render(errors_table(open_run(run, _page), "website", examples=9), form)
    assert NOTE in text
    assert "\x1b" not in text
    if form == "markdown":
        assert "<" not in text
    if form == "csv":
        rows = list(csv.reader(line for line in text.splitlines() if line[0] != "#"))
        assert {len(row) for row in rows} == {len(columns("steps"))}
        assert not any(cell.startswith("=") for row in rows for cell in row)


def test_the_command_prints_counts_and_examples(run: Path) -> None:
    done = _call(run, "--no-pages", "--examples", "1", "--by", "operation")
    assert done.exit_code == 0
    assert "None chosen, target offered" in done.output
    assert "operation TYPE, 1 rows" in done.output
    assert "'Ohi'," in done.output and "'Ohio'" in done.output


def test_shares_are_printed_of_the_rows_that_they_are_of(run: Path) -> None:
    table = errors_table(open_run(run, _page))
    printed = {" ".join(line.split()) for line in render(table).splitlines()}
    # Eight of the ten rows are valid and were answered, and six of these failed.
    assert printed >= {"success 2 25.0", "no answer: empty 1 12.5 16.7"}
    assert printed >= {"invalid row 1", "not answered 1"}


def test_the_command_writes_json_to_a_file(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "errors.json"
    done = _call(run, "--no-pages", "--format", "json", "--examples", "1", "--out", out)
    assert (done.exit_code, done.output) == (0, "")
    content = json.loads(out.read_text("utf-8"))
    assert sum(row["steps"] for row in content["rows"]) == 10
    assert {one["error_class"] for one in content["examples"]} >= {"none_chosen", "wrong_value"}


def test_labels_of_the_page_are_imported_and_counted(run: Path, tmp_path: Path) -> None:
    entries = [{"run": "run", "step_id": "s1", "label": "pop-up", "note": "a banner"}]
    (file := tmp_path / "labels.json").write_text(json.dumps({"labels": [*entries, 5]}))
    done = _call(run, "--no-pages", "--import-labels", file)
    assert "1 labels imported" in done.stderr and "left out: label 2" in done.stderr
    assert read_labels(run).labels[0].note == "a banner"
    assert "labels of run: pop-up 1" in done.stdout


def test_corrupt_labels_are_named_in_the_table(run: Path) -> None:
    (run / "labels.jsonl").write_text("no label\n")
    done = _call(run, "--no-pages")
    assert done.exit_code == 0
    assert "line 1 is not a label" in " ".join(done.output.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["--by", "colour"],
        ["--format", "pdf"],
        ["--examples", "-1"],
        ["--import-labels", "nothing.json"],
        ["--out", "/nowhere/at/all"],
    ],
)
def test_bad_input_exits_with_two(run: Path, arguments: list[str]) -> None:
    assert _call(run, *arguments).exit_code == 2


def test_what_is_no_run_or_has_a_corrupt_line_is_named(run: Path, tmp_path: Path) -> None:
    assert "is not a run directory" in str(_call(tmp_path / "nothing").exception)
    path = run / "steps.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"repeat":0', b'"repeat":', 1))
    with pytest.raises(RunError, match="line 1"):
        classify_run(open_run(run))
