"""Every Eval Ever's JSON, validated against the schemas that its package ships."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from reports.exports import ExportError, export
from reports.exports.results import results_of
from reports.names import name_of
from tests.harness.commands.tool import call
from tests.reports.exports.runs import HOSTILE, made_up
from tests.reports.runs import setup, worked, write

SCHEMAS = Path(__file__).parent / "every_eval_ever"
WHO: dict[str, Any] = {
    "organisation": "A Lab",
    "relationship": "third_party",
    "developer": "somebody",
}


def _complaints(record: object) -> list[str]:
    schema = json.loads((SCHEMAS / "eval.schema.json").read_text("utf-8"))
    return [error.message for error in Draft7Validator(schema).iter_errors(record)]


def _exported(out: Path, run: Path, **options: Any) -> dict[str, Any]:
    """The valid record of a run."""
    (path,) = export([run], "eee", out, **{**WHO, **options}).files
    record: dict[str, Any] = json.loads(path.read_bytes())
    assert _complaints(record) == []
    return record


def test_every_kind_of_unit_is_valid_and_has_the_numbers_of_its_report(
    run: Path, tmp_path: Path
) -> None:
    from harness.runs import open_run

    record, declared = _exported(tmp_path, run), open_run(run).manifest.declaration
    by_id = {one["evaluation_result_id"]: one for one in record["evaluation_results"]}
    assert len(by_id) == len(record["evaluation_results"])
    known = [one for one in results_of(open_run(run)) if one.value is not None]
    shown = {
        (run.name, one.split, name_of(one.measure, declared), one.average, one.line)
        for one in known
    }
    assert {tuple(id.replace(":parents:", "::").split(":")) for id in by_id} == shown
    for one in known:
        id = ":".join(
            (
                run.name,
                one.split,
                name_of(one.measure, declared),
                one.average or "parents",
                one.line,
            )
        )
        score = by_id[id]["score_details"]
        assert score["score"] == one.value
        if one.interval:
            interval = score["uncertainty"]["confidence_interval"]
            assert (interval["lower"], interval["upper"]) == (one.interval.low, one.interval.high)
            assert score["uncertainty"]["num_samples"] == one.n


def test_nothing_of_the_data_is_written(tmp_path: Path) -> None:
    run = made_up(tmp_path / "r", text="a secret of the test set")
    assert "a secret" not in json.dumps(_exported(tmp_path / "out", run))


def test_files_lie_where_the_datastore_has_them_and_names_are_repeatable(tmp_path: Path) -> None:
    run = made_up(tmp_path / "r")
    one, other = (export([run], "eee", tmp_path / n, **WHO) for n in ("a", "b"))
    (record,) = one.files
    place = record.relative_to(tmp_path / "a")
    assert place.parts[:-1] == ("data", "marks", "somebody", "r")
    assert uuid.UUID(record.stem).version == 4
    assert [a.read_bytes() for a in one.files] == [b.read_bytes() for b in other.files]
    again = made_up(tmp_path / "s")
    assert export([again], "eee", tmp_path / "c", **WHO).files[0].stem != record.stem


def test_splits_are_not_counted_twice_unsaid(tmp_path: Path) -> None:
    record = _exported(tmp_path / "out", made_up(tmp_path / "r"))
    pooled = [r for r in record["evaluation_results"] if "all splits" in r["evaluation_name"]]
    assert pooled and all("pooled" in one["score_details"]["details"] for one in pooled)
    one_split = _exported(tmp_path / "one", write(tmp_path / "s", worked()))
    assert "pooled" not in json.dumps(one_split)


def test_what_is_not_whole_is_marked(tmp_path: Path) -> None:
    run = made_up(tmp_path / "r", complete=False)
    record = _exported(tmp_path / "out", run, unfinished=True)
    assert record["source_metadata"]["additional_details"]["finished"] == "false"
    for one in record["evaluation_results"]:
        assert one["score_details"]["details"]["finished"] == "false"


def test_data_from_the_hub_is_named_with_its_commit(tmp_path: Path) -> None:
    origin = {"origin": "hub", "repo": "owner/data", "revision": "c0ffee", "rows": 7}
    record = _exported(tmp_path / "o", write(tmp_path / "r", worked(), setup(dataset=origin)))
    source = record["evaluation_results"][0]["source_data"]
    assert (source["source_type"], source["hf_repo"]) == ("hf_dataset", "owner/data")
    assert source["hf_split"] == "test_website"
    assert source["additional_details"]["revision"] == "c0ffee"
    local = _exported(tmp_path / "p", write(tmp_path / "s", worked()))
    told = local["evaluation_results"][0]["source_data"]
    assert told["source_type"] == "other" and "ab" * 32 in told["additional_details"]["files"]


def test_all_that_is_missing_is_asked_for_in_one_line(tmp_path: Path) -> None:
    run = made_up(tmp_path / "r", name="m")
    done = call("export", run, "--to", "eee", "-o", tmp_path / "out")
    assert done.code == 2 and not (tmp_path / "out").exists()
    for asked in ("--organisation NAME", "--relationship first_party|", "--developer NAME (who"):
        assert asked in done.complaint
    with pytest.raises(ExportError, match=r"needs --developer NAME \(who has made m\)$"):
        _exported(tmp_path / "out", run, developer="")


@pytest.mark.parametrize("option", ["relationship", "deployment", "availability"])
def test_words_that_the_schema_does_not_have_are_refused(tmp_path: Path, option: str) -> None:
    with pytest.raises(ExportError, match=f"--{option} is one of .*, not friends"):
        _exported(tmp_path / "out", made_up(tmp_path / "r"), **{option: "friends"})


@pytest.mark.parametrize(
    ("model", "developer", "id"),
    [
        ("Qwen/Qwen3-VL-8B-Instruct", "", "Qwen/Qwen3-VL-8B-Instruct"),
        ("gpt-5.4", "openai", "openai/gpt-5.4"),
        ("accounts/fireworks/models/x", "meta", "meta/accounts/fireworks/models/x"),
        ("/home/me/models/tuned", "me", "me/tuned"),
    ],
)
def test_models_are_named_by_who_has_made_them(
    tmp_path: Path, model: str, developer: str, id: str
) -> None:
    run = write(tmp_path / "r", worked(), setup(model={"name": model, "model": model}))
    done = export([run], "eee", tmp_path / "out", **{**WHO, "developer": developer})
    record = json.loads(done.files[0].read_bytes())
    assert record["model_info"]["id"] == id and "/home" not in record["model_info"]["id"]
    first, _, rest = id.partition("/")
    assert done.files[0].parts[-3] == first
    if "/" not in rest:
        assert done.files[0].parts[-2] == rest


def test_settings_of_a_hostile_manifest_stay_within_the_schema(tmp_path: Path) -> None:
    config = {"max_tokens": 7, "temperature": True, "top_p": "=1", "protocol": HOSTILE}
    model = {"name": HOSTILE, "provider": ["x"], "revision": {"a": HOSTILE}}
    run = write(tmp_path / "r", worked(), setup(model=model, dataset={"files": 3}, **config))
    done = export([run], "eee", tmp_path / "out", **WHO)
    assert done.files[0].resolve().is_relative_to(tmp_path / "out")
    record = json.loads(done.files[0].read_bytes())
    assert not _complaints(record)
    assert "\x1b" not in json.dumps(record, ensure_ascii=False)
