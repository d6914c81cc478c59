"""Logs of inspect_ai, read back by inspect_ai itself: samples, scores, results, settings."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import pytest

from adapters.conversation import Usage
from harness.runs import open_run
from parsers.records import Prediction, Status
from reports.exports import ExportError, export
from reports.exports.results import results_of
from tests.harness.commands.tool import call
from tests.reports.exports.runs import ran
from tests.reports.runs import setup, step, worked, write

pytest.importorskip("inspect_ai", reason="needs the extra [inspect]")

from inspect_ai.analysis import evals_df, samples_df
from inspect_ai.log import list_eval_logs, read_eval_log

from tests.reports.exports.logs import asked, exported, one_step, said, samples_of


def test_every_unit_is_a_sample_with_its_scores(run: Path, tmp_path: Path) -> None:
    log, opened = exported(run, tmp_path), open_run(run)
    declared, samples = opened.manifest.declaration, samples_of(log)
    records = opened.records()
    assert samples.keys() == {(one.unit_id, one.repeat + 1) for one in records}
    for record in records:
        sample = samples[record.unit_id, record.repeat + 1]
        assert sample.scores is not None
        for measure in declared.of_units:
            expected = (record.scores or {}).get(measure.name)
            value = sample.scores[measure.name].as_float()
            assert value == expected or (expected is None and math.isnan(value))
        assert next(iter(sample.scores)) == declared.main_of_units.name
        assert sample.metadata["split"] == record.split
        assert record.parents.items() <= sample.metadata.items()
        replies = [one for one in sample.messages if one.role == "assistant"]
        assert sum(bool(one.text) for one in replies) == sum(
            bool(one.reply.text) for one in opened.calls_of(record.unit_id, record.repeat)
        )
    assert log.status == "success"
    assert log.results is not None
    assert log.results.total_samples == log.results.completed_samples + sum(
        sample.error is not None for sample in samples.values()
    )


def test_results_are_those_of_reports(run: Path, tmp_path: Path) -> None:
    log, opened = exported(run, tmp_path), open_run(run)
    assert log.results is not None
    found = {
        (score.name, metric.group, metric.name): metric.value
        for score in log.results.scores
        for metric in score.metrics.values()
    }
    own = [one for one in results_of(opened) if one.headline and one.value is not None]
    several = len({one.split for one in own}) > 1
    for one in own:
        group = one.split if several and not one.pooled else None
        key, name = (one.measure.name, group), one.average or "rate"
        assert found.pop((*key, name)) == one.value
        if one.interval:
            assert found.pop((*key, f"{name}_low")) == one.interval.low
            assert found.pop((*key, f"{name}_high")) == one.interval.high
    assert not found
    frame = evals_df(str(tmp_path))
    main = opened.manifest.declaration.main
    value = next(one.value for one in reversed(own) if one.measure == main and one.first)
    assert frame["score_headline_value"].tolist() == [value]
    assert frame["model"].tolist() == [log.eval.model]


def test_rows_that_count_as_failures_score_zero(tmp_path: Path) -> None:
    rows = [*worked(), step("D", 0, True, total_steps=1, status=Status.REFUSAL)]
    made = setup(invalid="fail", exclude_status=["refusal"], dataset={"rows": 8})
    log = exported(write(tmp_path / "run", rows, made), tmp_path / "out")
    values = [one.scores["success"].as_float() for one in log.samples or [] if one.scores]
    assert log.results is not None and len(values) == 8
    (success,) = [one for one in log.results.scores if one.name == "success"]
    assert sum(values) / 8 == pytest.approx(success.metrics["micro"].value) == 5 / 8


def test_tokens_read_from_a_cache_are_no_input_tokens(tmp_path: Path) -> None:
    usage = Usage(900, cached=500, cache_write=100, output=40, reasoning=25)
    sample = one_step(tmp_path, [asked("A_0", "only", [said("user", "?")], "a")], usage=usage)
    found = sample.model_usage["model-1"]
    assert (found.input_tokens, found.input_tokens_cache_read) == (300, 500)
    assert (found.input_tokens_cache_write, found.output_tokens) == (100, 40)
    assert (found.total_tokens, found.reasoning_tokens) == (940, 25)
    assert found.total_cost == 0.25


def test_the_target_and_the_answer_are_as_on_the_page(tmp_path: Path) -> None:
    sample = one_step(tmp_path, [asked("A_0", "only", [said("user", "?")], "B")])
    assert sample.input == "Buy A."
    assert sample.target == "element: B Right\noperation: CLICK"
    assert sample.choices == ["Wrong", "Right", "none of these"]
    assert sample.scores is not None
    assert sample.scores["success"].answer == "element: B Right\noperation: CLICK"
    assert sample.metadata["actions_before"] == ["[link] Home -> CLICK", "[button] Go -> CLICK"]
    assert "multiple" in str(sample.scores["success"].explanation)


def test_rows_without_an_outcome_say_why(tmp_path: Path) -> None:
    steps = [
        step("A", 0, True),
        step("A", 1, None),
        step("A", 2, False, settled=False),
        step("A", 3, False, status=Status.REFUSAL),
        step("A", 4, False, status=Status.PARSE_ERROR),
    ]
    write(tmp_path / "run", steps, complete=False)
    with pytest.raises(ExportError, match="not finished"):
        export([tmp_path / "run"], "inspect", tmp_path / "out")
    log = exported(tmp_path / "run", tmp_path / "out", unfinished=True)
    right, invalid, unsettled, refused, unread = log.samples or []
    assert right.scores is not None and right.scores["success"].reason is None
    assert invalid.scores is not None and invalid.error is None
    assert invalid.scores["success"].reason == "no_positive"
    assert math.isnan(invalid.scores["success"].as_float())
    assert invalid.scores["success"].explanation == "not counted: no_positive"
    assert unsettled.scores is None
    assert unsettled.error is not None and unsettled.error.message == "timeout: no reply"
    assert refused.scores is not None and refused.scores["success"].reason == "refusal"
    assert unread.scores is not None
    assert unread.scores["success"].reason == "invalid_response_format"
    explained = str(unread.scores["success"].explanation).splitlines()
    assert explained == ["parse_error", "flags: multiple", unread.metadata["error_class"]]
    assert log.status == "cancelled"
    assert log.results is not None
    # Two of the seven rows have not been reached.
    assert (log.results.total_samples, log.results.completed_samples) == (7, 4)
    assert "INCOMPLETE" in str((log.eval.metadata or {})["unfinished"])
    errors = samples_df(str(tmp_path / "out"))["error"]
    assert [text for text in errors if text] == ["timeout: no reply"]


def test_what_an_answer_leaves_open_is_no_failure(tmp_path: Path) -> None:
    said = Prediction.of(Status.ANSWERED, element="7", flags=("element-only",))
    write(tmp_path / "run", [step("A", 0, True, total_steps=1, prediction=said)])
    log = exported(tmp_path / "run", tmp_path / "out")
    ((_, sample),) = samples_of(log).items()
    assert sample.scores is not None and sample.scores["element"].value == 1
    assert math.isnan(sample.scores["success"].as_float())
    assert log.results is not None and log.results.headline is None
    assert [score.name for score in log.results.scores] == ["element"]


def test_repeats_are_epochs(tmp_path: Path) -> None:
    steps = [step("A", 0, right, repeat=n, total_steps=1) for n, right in enumerate((True, False))]
    write(tmp_path / "run", steps, setup(repeats=2, dataset={"rows": 1}))
    log = exported(tmp_path / "run", tmp_path / "out")
    values = {key: (one.scores or {})["success"].value for key, one in samples_of(log).items()}
    assert values == {("A_0", 1): 1.0, ("A_0", 2): 0.0}
    assert log.eval.config.epochs == 2 and log.eval.dataset.samples == 1


def test_a_log_does_not_depend_on_where_the_data_is(tmp_path: Path) -> None:
    data = tmp_path / "private" / "mine.parquet"
    data.parent.mkdir()
    data.write_bytes(files("harness.sample").joinpath("data/dev.parquet").read_bytes())
    ran(tmp_path / "run", "-m", "always-click", "--data", str(data), "--limit", "1")
    first = exported(tmp_path / "run", tmp_path / "a").model_dump_json()
    data.unlink()
    assert exported(tmp_path / "run", tmp_path / "b").model_dump_json() == first
    done = export([tmp_path / "run"], "inspect", tmp_path / "c", with_pictures=True)
    assert "missing" in done.notes[0]
    text = read_eval_log(str(done.files[0])).model_dump_json()
    assert "private" not in text and "mine.parquet, row" in text


def test_equal_runs_give_equal_logs_and_other_runs_other_ids(
    runs: Mapping[str, Path], tmp_path: Path
) -> None:
    opened = list(runs.values())
    first = export(opened, "inspect", tmp_path / "a", with_pictures=True)
    second = export(opened, "inspect", tmp_path / "b", with_pictures=True)
    logs, again = ([read_eval_log(str(path)) for path in done.files] for done in (first, second))
    assert [one.model_dump_json() for one in logs] == [one.model_dump_json() for one in again]
    for name in ("eval_id", "run_id", "task_id"):
        assert len({getattr(log.eval, name) for log in logs}) == len(opened)
    assert len({one.uuid for log in logs for one in log.samples or []}) == sum(
        len(log.samples or []) for log in logs
    )
    assert len(list_eval_logs(str(tmp_path / "a"))) == len(opened)


def test_settings_are_the_arguments_of_the_task(runs: Mapping[str, Path], tmp_path: Path) -> None:
    log, manifest = exported(runs["steps"], tmp_path), open_run(runs["steps"]).manifest
    assert (log.eval.task, log.eval.model) == ("sample", "policy/lexical")
    assert log.eval.solver == "seeact-two-rounds"
    assert log.eval.task_args["distractors"] == 20 and log.eval.task_args["limit"] == 6
    assert log.eval.packages == manifest.environment["packages"]
    assert log.eval.created == manifest.created
    git = manifest.environment["git"]
    assert (log.eval.revision and log.eval.revision.commit) == (git and git["commit"])
    metadata = log.eval.metadata or {}
    assert metadata["prompts_sha256"] == manifest.prompts
    assert metadata["note"] == "" or metadata["note"]


def test_nothing_secret_is_in_a_log(tmp_path: Path) -> None:
    made = setup(
        base_url="https://me:hunter2@models.example/v1",
        data="/home/me/data",
        adapter_option={"api_key": "[masked]"},
        role={"planner": "hf:/home/me/planner", "planner.base_url": "https://hunter2.example"},
        ranker="/home/me/ranks.parquet",
        model={"name": "openai:gpt-x", "endpoint": "https://hunter2.example/v1"},
        dataset={"data": "/home/me/data"},
    )
    record = step("A", 0, True, source="/home/me/data/part-0.parquet, row 1")
    write(tmp_path / "run", [record], made, complete=True)
    log = exported(tmp_path / "run", tmp_path / "out")
    text = log.model_dump_json()
    assert log.eval.task_args["ranker"] == "ranks.parquet"
    assert log.eval.model_dump()["model_roles"]["planner"]["model"] == "hf/planner"
    assert "hunter2" not in text and "/home/me" not in text
    assert "part-0.parquet, row 1" in text


def test_settings_of_other_types_are_told_in_a_line(tmp_path: Path) -> None:
    write(tmp_path / "run", worked(), setup(temperature="hot\x1b[31m"))
    done = call("export", tmp_path / "run", "--to", "inspect", "-o", tmp_path / "out")
    assert done.code == 2 and "does not take temperature of GenerateConfig" in done.complaint
    assert not (tmp_path / "out").exists()
    odd = {"max_tokens": 5, "role": ["a"], "adapter_option": "x", "protocol_option": 1}
    write(tmp_path / "odd", worked(), setup(**odd))
    log = exported(tmp_path / "odd", tmp_path / "out")
    assert log.eval.model_roles is None and log.eval.model_args == {}


def test_without_the_package_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "run", worked())
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    done = call("export", tmp_path / "run", "--to", "inspect", "-o", tmp_path / "out")
    assert done.code == 2 and "pip install '.[inspect]'" in done.complaint
