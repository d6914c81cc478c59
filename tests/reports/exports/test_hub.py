"""Evaluation results for the hub, read back by its own package."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from huggingface_hub import EvalResultEntry, parse_eval_result_entries

from reports.exports import ExportError, export
from reports.names import name_of
from reports.tables import main_table
from tests.harness.commands.tool import call
from tests.reports.exports.runs import made_up
from tests.reports.runs import setup, worked, write

REPO: dict[str, Any] = {"dataset_id": "me/data"}
HUB = {"origin": "hub", "repo": "owner/data", "revision": "c0ffee", "rows": 7}


def _entries(folder: Path) -> dict[str, EvalResultEntry]:
    """The entries of the only file, by task id."""
    (path,) = folder.glob("*/.eval_results/*.yaml")
    entries = parse_eval_result_entries(yaml.safe_load(path.read_text("utf-8")))
    return {entry.task_id: entry for entry in entries}


def _whole(path: Path, **more: Any) -> Path:
    return write(path, worked(), setup(dataset=HUB, **more))


def test_entries_are_the_headline_of_the_report_per_cent(tmp_path: Path) -> None:
    export([_whole(tmp_path / "r")], "hub", tmp_path / "out")
    entries = _entries(tmp_path / "out")
    assert {name: entry.value for name, entry in entries.items()} == {
        "test_website_element": 83.33,
        "test_website_operation_f1": 83.33,
        "test_website_step_success": 83.33,
        "test_website_task_success": 66.67,
    }
    for entry in entries.values():
        assert (entry.dataset_id, entry.dataset_revision) == ("owner/data", "c0ffee")
        assert isinstance(entry.date, str) and entry.date.endswith("Z")
        assert entry.notes and "\n" not in entry.notes and "95 % CI [" in entry.notes
        assert "distractors=20" in entry.notes
        assert entry.source_url is None


def test_what_a_number_is_stands_in_its_notes(tmp_path: Path) -> None:
    run = _whole(tmp_path / "r", invalid="fail", image_policy="oracle-crop")
    export([run], "hub", tmp_path / "out")
    notes = _entries(tmp_path / "out")["test_website_step_success"].notes or ""
    for told in ("macro: mean over tasks", "7 steps of 3 tasks", "count as 0", "UPPER BOUND"):
        assert told in notes
    assert "INCOMPLETE" not in notes and "PART" not in notes


@pytest.mark.parametrize("how", ["limit", "unfinished"])
def test_numbers_on_a_part_have_ids_of_their_own(tmp_path: Path, how: str) -> None:
    made = setup(dataset=HUB, **({"limit": 3} if how == "limit" else {}))
    run = write(tmp_path / "r", worked(), made, complete=how == "limit")
    export([run], "hub", tmp_path / "out", unfinished=True)
    entries = _entries(tmp_path / "out")
    assert entries and all(name.endswith("_part") for name in entries)
    notes = entries["test_website_step_success_part"].notes or ""
    assert "PART: " in notes and ("INCOMPLETE" in notes) == (how == "unfinished")


def test_every_kind_of_unit_has_the_numbers_of_its_report(run: Path, tmp_path: Path) -> None:
    export([run], "hub", tmp_path, **REPO)
    entries = _entries(tmp_path)
    table = main_table(run)
    declared = table.attrs["declared"]
    rows = table[table["headline"].astype(bool)]
    shown = {
        (re.sub("[-.]", "_", f"{row['split']}_{name_of(measure, declared)}"), value)
        for _, row in rows.iterrows()
        for measure in (*declared.in_tables, *declared.of_parents)
        if (value := row[_column(measure, declared)]) is not None and not math.isnan(value)
        if row["split"] != "all splits pooled"
    }
    told = {(name.removesuffix("_part"), entry.value) for name, entry in entries.items()}
    assert told == {(name, round(100 * value, 2)) for name, value in shown} and told


def _column(measure: Any, declared: Any) -> str:
    name = name_of(measure, declared)
    return name if measure.all_of else f"{name}_{measure.averages[0]}"


def test_published_files_are_not_named_after_folders(tmp_path: Path) -> None:
    runs = [_whole(tmp_path / name / "run", model={"name": name}) for name in ("one", "two")]
    done = export(runs, "hub", tmp_path / "out")
    assert [path.name for path in done.files] == ["run.yaml", "run.yaml"]
    same = [_whole(tmp_path / name / "run") for name in ("three", "four")]
    with pytest.raises(ExportError, match="one by one"):
        export(same, "hub", tmp_path / "more")


def test_the_source_is_named_where_there_is_one(tmp_path: Path) -> None:
    source: dict[str, Any] = {"source_url": "https://example.org/run", "source_user": "me"}
    export([_whole(tmp_path / "r")], "hub", tmp_path / "out", **source)
    for entry in _entries(tmp_path / "out").values():
        assert (entry.source_url, entry.source_name) == ("https://example.org/run", "vlm-eval")
        assert (entry.source_user, entry.source_org) == ("me", None)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "the data of r did not come from the hub: name the repository of marks with --data"),
        ({"dataset_id": "data"}, "not the id of a repository"),
        ({"dataset_id": "../../etc"}, "not the id of a repository"),
        ({**REPO, "source_url": "javascript:alert(1)"}, "--source-url is not an address"),
        ({**REPO, "source_name": "mine"}, "need --source-url"),
    ],
)
def test_what_is_missing_or_wrong_is_one_line(
    tmp_path: Path, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ExportError) as refused:
        export([made_up(tmp_path / "r")], "hub", tmp_path / "out", **options)
    assert complaint in refused.value.message and not (tmp_path / "out").exists()


def test_a_repository_given_by_hand_has_no_commit_of_another(tmp_path: Path) -> None:
    export([_whole(tmp_path / "r")], "hub", tmp_path / "out", dataset_id="mirror/data")
    assert {e.dataset_revision for e in _entries(tmp_path / "out").values()} == {None}


def test_runs_of_several_benchmarks_do_not_share_a_repository(tmp_path: Path) -> None:
    runs = [made_up(tmp_path / "r"), _whole(tmp_path / "s")]
    with pytest.raises(ExportError, match="runs of one benchmark, not marks, test"):
        export(runs, "hub", tmp_path / "out", **REPO)


@pytest.mark.parametrize("score", ["-9.5", "9.5", "1e999"])
def test_a_number_that_is_no_share_is_refused(tmp_path: Path, score: str) -> None:
    run = made_up(tmp_path / "r", text="x", complete=False)
    lines = (run / "steps.jsonl").read_bytes().splitlines()
    bare = [line[: line.rindex(b',"checksum"')] + b"}\n" for line in lines]
    changed = b"".join(bare).replace(b'"near":0.5', b'"near":' + score.encode())
    assert changed != b"".join(bare)
    (run / "steps.jsonl").write_bytes(changed)
    to = ("--to", "hub", "--unfinished", "--dataset-id", "me/data", "-o", tmp_path / "out")
    done = call("export", run, *to)
    assert done.code == 2 and str(run) in done.complaint
    assert not (tmp_path / "out").exists()


def test_hostile_names_stay_inside_and_in_one_line(tmp_path: Path) -> None:
    name = "../../x\n- dataset: {id: evil}\x1b[2J"
    run = made_up(tmp_path / "r", name=name)
    manifest = msgspec.json.decode((run / "manifest.json").read_bytes())
    manifest["config"]["benchmark"] = "b: [}\u2028&a *a"
    (run / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    done = export([run], "hub", tmp_path / "out", **REPO)
    for path in done.files:
        assert path.resolve().is_relative_to(tmp_path / "out")
        assert path.parent.parent.name.startswith("x-")
    assert all("\x1b" not in (entry.notes or "") for entry in _entries(tmp_path / "out").values())


def test_private_addresses_are_left_out(tmp_path: Path) -> None:
    made = setup(dataset=HUB, base_url="http://me:pw@host.internal/v1", data="/home/me/data")
    made = replace(made, dataset={**made.dataset, "data": "/home/me/data"})
    export([write(tmp_path / "r", worked(), made)], "hub", tmp_path / "out")
    text = "".join(path.read_text("utf-8") for path in (tmp_path / "out").rglob("*.yaml"))
    assert "host.internal" not in text and "/home/me" not in text
