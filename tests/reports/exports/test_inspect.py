"""Logs of inspect_ai, read back by inspect_ai itself."""

from __future__ import annotations

import base64
import hashlib
import io
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from adapters.conversation import Finish, Reply, Usage
from harness.runs import CallRecord, EmbedRecord, MessageRecord, Spent, open_run
from parsers.records import Prediction, Status
from reports.exports import ExportError, export
from reports.exports.results import results_of
from tests.harness.commands.tool import call
from tests.reports.episodes.worlds import EPISODES, forms
from tests.reports.exports.runs import HOSTILE, made_up, ran
from tests.reports.runs import setup, step, worked, write

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")

from inspect_ai.analysis import evals_df, samples_df
from inspect_ai.log import EvalLog, EvalSample, list_eval_logs, read_eval_log
from inspect_ai.model import ContentImage, ContentReasoning, ContentText


def exported(path: Path, out: Path, **options: Any) -> EvalLog:
    """The log of a run, as inspect_ai reads it."""
    done = export([path], "inspect", out, **options)
    return read_eval_log(str(done.files[0]), resolve_attachments=True)


def samples_of(log: EvalLog) -> dict[tuple[str, int], EvalSample]:
    assert log.samples is not None
    return {(str(one.id), one.epoch): one for one in log.samples}


def asked(
    unit: str, place: str, sent: Sequence[MessageRecord], reply: str, **more: Any
) -> CallRecord:
    """A call whose conversation is named by its place."""
    usage = more.pop("usage", None)
    answer = Reply(reply, usage=usage, model=more.pop("model", ""), latency_s=0.5)
    answer = replace(answer, **more.pop("about", {}))
    values: dict[str, Any] = {"conversation": place, "request": place, "cost": 0.1} | more
    return CallRecord(
        f"{unit}/0/{place}", unit, 0, place, messages=tuple(sent), reply=answer, **values
    )


def said(role: str, *parts: str) -> MessageRecord:
    return MessageRecord(role, parts)


def told(sample: EvalSample) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in sample.messages]


def one_step(path: Path, calls: Sequence[CallRecord], **facts: Any) -> EvalSample:
    """The sample of a run that has one step with these calls."""
    record = step("A", 0, True, total_steps=1, calls=tuple(one.id for one in calls), **facts)
    made = write(path / "run", [record], setup(dataset={"rows": 1}), calls=calls)
    (sample,) = exported(made, path / "out").samples or []
    return sample


def test_every_unit_is_a_sample_with_its_scores(run: Path, tmp_path: Path) -> None:
    log, opened = exported(run, tmp_path), open_run(run)
    declared, samples = opened.manifest.declaration, samples_of(log)
    records = opened.records()
    assert samples.keys() == {(one.unit_id, one.repeat + 1) for one in records}
    for record in records:
        sample = samples[record.unit_id, record.repeat + 1]
        assert sample.scores is not None
        for measure in declared.of_units:
            expected = (record.scores or {}).get(measure.score("mind2web"))
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


def test_results_of_the_worked_example(tmp_path: Path) -> None:
    write(tmp_path / "run", worked())
    frame = evals_df(str(exported(tmp_path / "run", tmp_path / "out").location))
    assert frame["score_success_macro"][0] == pytest.approx(5 / 6)
    assert frame["score_success_micro"][0] == pytest.approx(5 / 6)
    assert frame["score_task_success_rate"][0] == pytest.approx(2 / 3)
    assert frame["score_success_macro_low"][0] < 5 / 6 <= frame["score_success_macro_high"][0]
    samples = samples_df(str(tmp_path / "out"))
    assert (samples["score_success"] == 1).sum() == 5
    # The row without a right answer has no value, and is among no mean.
    assert samples["score_success"].isna().sum() == 1


def test_the_headline_is_under_the_rules_of_the_run(tmp_path: Path) -> None:
    write(tmp_path / "run", worked(), setup(invalid="fail"))
    log = exported(tmp_path / "run", tmp_path / "out")
    assert log.results is not None
    (success,) = [one for one in log.results.scores if one.name == "success"]
    assert success.metrics["macro"].value == pytest.approx(13 / 18)
    assert success.metrics["micro"].value == pytest.approx(5 / 7)


def test_splits_are_groups_beside_all_of_them_together(
    runs: Mapping[str, Path], tmp_path: Path
) -> None:
    log = exported(runs["made-up"], tmp_path)
    assert log.results is not None
    (hit,) = [one for one in log.results.scores if one.name == "hit"]
    micro = {one.group: one.value for one in hit.metrics.values() if one.name == "micro"}
    assert micro == pytest.approx({None: 9 / 12, "left": 4 / 6, "right": 5 / 6})
    assert hit.metrics["micro"].group is None


def test_a_reply_is_shown_once_however_the_conversation_goes_on(tmp_path: Path) -> None:
    first = asked("A_0", "round-1", [said("system", "S"), said("user", "Q1")], "R1")
    again = [said("assistant", "R1"), said("user", "Q2")]
    second = asked("A_0", "round-2", again, "R2", earlier="round-1")
    sample = one_step(tmp_path, [first, second])
    assert told(sample) == [
        ("system", "S"),
        ("user", "Q1"),
        ("assistant", "R1"),
        ("user", "Q2"),
        ("assistant", "R2"),
    ]
    assert all(not (one.metadata or {}).get("call") for one in sample.messages)
    assert sample.output.completion == "R2" and sample.turn_count == 2
    assert sample.total_time == 1.0
    ids = [message.id for message in sample.messages]
    assert len(set(ids)) == 5


def test_conversations_side_by_side_stand_one_after_the_other(tmp_path: Path) -> None:
    begin = [said("system", "S"), said("user", "left?")]
    left = asked("A_0", "left-1", begin, "L1")
    right = asked("A_0", "right-1", [said("system", "S"), said("user", "right?")], "R1")
    left_on = [said("assistant", "L1"), said("user", "and?")]
    right_on = [said("assistant", "R1"), said("user", "and?")]
    calls = [
        left,
        right,
        asked("A_0", "left-2", left_on, "L2", earlier="left-1"),
        asked("A_0", "right-2", right_on, "R2", earlier="right-1"),
    ]
    sample = one_step(tmp_path, calls)
    assert [text for _, text in told(sample)] == [
        *("S", "left?", "L1", "and?", "L2"),
        *("right?", "R1", "and?", "R2"),
    ]
    begun = [(one.text, one.metadata) for one in sample.messages if one.role == "user"]
    assert begun[0] == ("left?", {"call": "left-1"})
    assert begun[2] == ("right?", {"call": "right-1"})


def test_other_models_and_embedders_are_told_apart(tmp_path: Path) -> None:
    planner = asked(
        *("A_0", "plan", [said("system", "P"), said("user", "plan")], "do it"),
        role="planner",
        model="planner-1",
        usage=Usage(40, output=4),
    )
    embed = asked("A_0", "embed", (), "", role="memory", embed=EmbedRecord(2, 8, "d", ("a", "b")))
    own = asked("A_0", "only", [said("system", "S"), said("user", "?")], "mine")
    roles = {
        "": Spent(1, Usage(100, output=5), 0.1),
        "memory": Spent(1, None, None),
        "planner": Spent(1, Usage(40, output=4), 0.2),
    }
    sample = one_step(tmp_path, [planner, embed, own], roles=roles)
    assert told(sample) == [
        *(("system", "P"), ("user", "plan"), ("assistant", "do it")),
        *(("user", "a\n\nb"), ("assistant", "2 vectors of 8 numbers")),
        *(("system", "S"), ("user", "?"), ("assistant", "mine")),
    ]
    replies = [one.metadata or {} for one in sample.messages if one.role == "assistant"]
    assert [one.get("role") for one in replies] == ["planner", "memory", None]
    assert sample.output.completion == "mine" and sample.turn_count == 1
    assert sample.role_usage["planner"].input_tokens == 40
    assert sample.model_usage.keys() == {"model-1", "planner-1"}
    assert sample.model_usage["planner-1"].total_cost == 0.2


def test_tokens_read_from_a_cache_are_no_input_tokens(tmp_path: Path) -> None:
    usage = Usage(900, cached=500, cache_write=100, output=40, reasoning=25)
    sample = one_step(tmp_path, [asked("A_0", "only", [said("user", "?")], "a")], usage=usage)
    found = sample.model_usage["model-1"]
    assert (found.input_tokens, found.input_tokens_cache_read) == (300, 500)
    assert (found.input_tokens_cache_write, found.output_tokens) == (100, 40)
    assert (found.total_tokens, found.reasoning_tokens) == (940, 25)
    assert found.total_cost == 0.25


def test_thoughts_and_reasons_to_end_are_where_inspect_has_them(tmp_path: Path) -> None:
    about = {"reasoning": "Hm.", "finish": Finish.LENGTH}
    sample = one_step(
        tmp_path,
        [asked("A_0", "only", [said("user", "?")], "half an", about=about)],
        status=Status.TRUNCATED,
    )
    thought, text = sample.messages[-1].content_list
    assert isinstance(thought, ContentReasoning) and thought.reasoning == "Hm."
    assert isinstance(text, ContentText) and text.text == "half an"
    assert sample.output.stop_reason == "max_tokens"
    assert sample.scores is not None and sample.scores["success"].reason == "truncated"
    assert sample.metadata["status"] == "truncated"


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
    assert "UNFINISHED" in str((log.eval.metadata or {})["unfinished"])
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


def test_what_is_done_on_a_page_is_a_tool_call(tmp_path: Path) -> None:
    forms(tmp_path / "run")
    log = exported(tmp_path / "run", tmp_path / "out", with_pictures=True)
    sample = samples_of(log)["form-0/0", 1]
    roles = [message.role for message in sample.messages]
    assert roles == ["user", *("user", "assistant", "tool") * 2]
    typed, clicked = (one for one in sample.messages if one.role == "assistant")
    assert typed.tool_calls is not None and clicked.tool_calls is not None
    assert typed.tool_calls[0].function == "TYPE"
    assert typed.tool_calls[0].arguments == {"element": "1", "value": "Ohio"}
    assert "point" in clicked.tool_calls[0].arguments
    middle, end = (one for one in sample.messages if one.role == "tool")
    assert middle.tool_call_id == typed.tool_calls[0].id
    assert "reward 1, ended: solved" in end.text
    # What the model was sent next is not shown twice; what it never saw is shown once.
    assert [type(one) for one in middle.content_list] == [ContentText]
    assert [type(one) for one in end.content_list] == [ContentText, ContentImage]
    failed = samples_of(log)["form-3/1", 1]
    errors = [one.error for one in failed.messages if one.role == "tool" and one.error]
    assert [error.message for error in errors] == [" ".join(EPISODES[7].error.split("\n"))]
    lost = samples_of(log)["form-3/0", 1]
    assert lost.error is not None and lost.error.message == "timeout: no observation"


def test_pictures_are_those_that_were_sent(runs: Mapping[str, Path], tmp_path: Path) -> None:
    from harness.pictures import Recipe, imaging

    opened = open_run(runs["steps"])
    log = exported(runs["steps"], tmp_path, with_pictures=True)
    checked = 0
    for record in opened.records()[:8]:
        sample = samples_of(log)[record.unit_id, 1]
        shown = [
            part.image
            for message in sample.messages
            for part in message.content_list
            if isinstance(part, ContentImage)
        ]
        assert len(shown) == record.asked
        for picture, uri in zip(record.pictures, shown, strict=False):
            head, _, encoded = uri.partition(",")
            data, source = base64.b64decode(encoded), opened.screenshot(record.unit_id)
            assert head == "data:image/jpeg;base64"
            assert data == imaging.prepare(source, Recipe.parse(picture.recipe))[0]
            with Image.open(io.BytesIO(data)) as image:
                assert image.size == (picture.width, picture.height)
            checked += 1
    assert checked > 4
    bare = exported(runs["steps"], tmp_path / "bare")
    assert not any(one.attachments for one in bare.samples or [])
    words = "\n".join(text for one in bare.samples or [] for _, text in told(one))
    assert f"[picture, {picture.width} x {picture.height}" in words


def test_pictures_that_are_gone_are_counted(tmp_path: Path) -> None:
    forms(tmp_path / "run", blobs=False)
    done = export([tmp_path / "run"], "inspect", tmp_path / "out", with_pictures=True)
    assert "pictures are missing" in done.notes[0]
    log = read_eval_log(str(done.files[0]))
    assert not any(one.attachments for one in log.samples or [])


def test_a_log_does_not_depend_on_where_the_data_is(tmp_path: Path) -> None:
    data = tmp_path / "private" / "mine.parquet"
    data.parent.mkdir()
    data.write_bytes(files("harness.sample").joinpath("data/dev.parquet").read_bytes())
    ran(tmp_path / "run", "-m", "always-click", "--data", str(data), "--limit", "1")
    first = export([tmp_path / "run"], "inspect", tmp_path / "a").files[0].read_bytes()
    data.unlink()
    assert export([tmp_path / "run"], "inspect", tmp_path / "b").files[0].read_bytes() == first
    done = export([tmp_path / "run"], "inspect", tmp_path / "c", with_pictures=True)
    assert "missing" in done.notes[0]
    text = read_eval_log(str(done.files[0])).model_dump_json()
    assert "private" not in text and "mine.parquet, row" in text


def test_more_pictures_than_fit_into_memory_are_refused(
    runs: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reports.exports.inspect.pictures.LIMIT", 1_000_000)
    done = call(
        *("export", runs["steps"], "--to", "inspect", "--with-pictures", "-o", tmp_path / "out")
    )
    assert done.code == 2 and "more than 1 MB" in done.complaint
    assert not (tmp_path / "out").exists()


def test_equal_runs_give_equal_files_and_other_runs_other_ids(
    runs: Mapping[str, Path], tmp_path: Path
) -> None:
    opened = list(runs.values())
    first = export(opened, "inspect", tmp_path / "a", with_pictures=True)
    second = export(opened, "inspect", tmp_path / "b", with_pictures=True)
    digests = [
        [hashlib.sha256(path.read_bytes()).hexdigest() for path in done.files]
        for done in (first, second)
    ]
    assert digests[0] == digests[1]
    logs = [read_eval_log(str(path)) for path in first.files]
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
    assert log.eval.task_args_passed["limit"] == 6
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
        adapter_options={"api_key": "[masked]"},
        roles={"planner": "hf:/home/me/planner", "planner.base_url": "https://hunter2.example"},
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


def test_hostile_texts_are_texts(tmp_path: Path) -> None:
    made_up(tmp_path / "run", text=HOSTILE)
    log = exported(tmp_path / "run", tmp_path / "out")
    for sample in log.samples or []:
        assert told(sample)[-1] == ("assistant", HOSTILE)
        assert sample.input == HOSTILE
    texts = ("attachment://0123456789abcdef", "data:image/png;base64,AAAA", "<img src=x>")
    for number, text in enumerate(texts):
        sample = one_step(
            tmp_path / str(number), [asked("A_0", "only", [said("user", text)], text)]
        )
        assert told(sample) == [("user", text), ("assistant", text)]


def test_settings_of_other_types_are_told_in_a_line(tmp_path: Path) -> None:
    write(tmp_path / "run", worked(), setup(temperature="hot\x1b[31m"))
    done = call("export", tmp_path / "run", "--to", "inspect", "-o", tmp_path / "out")
    assert done.code == 2 and "does not take temperature of GenerateConfig" in done.complaint
    assert not (tmp_path / "out").exists()
    odd = {"max_tokens": 5, "roles": ["a"], "adapter_options": "x", "protocol_options": 1}
    write(tmp_path / "odd", worked(), setup(**odd))
    log = exported(tmp_path / "odd", tmp_path / "out")
    assert log.eval.model_roles is None and log.eval.model_args == {}


def test_without_the_package_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "run", worked())
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    done = call("export", tmp_path / "run", "--to", "inspect", "-o", tmp_path / "out")
    assert done.code == 2 and "pip install 'vlm-web-eval[inspect]'" in done.complaint


def test_inspect_prints_the_log(runs: Mapping[str, Path], tmp_path: Path) -> None:
    (path,) = export([runs["episodes"]], "inspect", tmp_path).files
    command = [sys.executable, "-m", "inspect_ai", "log", "dump", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    log = EvalLog.model_validate_json(done.stdout)
    assert log.eval.task == "forms" and len(log.samples or []) == 8
