"""`harness.evaluate` is typed by the declarations of settings, and its scores are attributes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import pytest

import harness
from docs.site.settings import TYPES, python_name, types
from harness.runs.scores import RunScores, scores_of
from harness.session.run_options import RunOptions
from harness.settings import (
    SETTINGS,
    Settings,
    field_of,
    of_session,
    on_record,
    read_settings,
)
from parsers.declaration import Declaration, Measure
from tests.harness.commands.tool import call
from tests.numbers import row

TASKS: dict[str, Any] = {"benchmark": "sample", "split": "dev", "limit": 2, "progress": "off"}


def test_the_types_are_up_to_date_with_the_declarations() -> None:
    assert TYPES.read_text("utf-8") == types(), "python -m docs.site.settings writes it anew"


def test_every_setting_and_short_form_is_there_with_its_help() -> None:
    keys = RunOptions.__annotations__
    assert {field_of(key) for key in keys} == SETTINGS.keys() - {"model"}
    text = " ".join(TYPES.read_text("utf-8").split())
    for setting in SETTINGS.values():
        if setting.name != "model":
            assert f"{python_name(setting)}: " in text and f'"""{setting.help}"""' in text
    assert {"track", "with_server", "redo_from", "wait", "history", "f1"} <= keys.keys()
    assert not {"max_steps", "dtype", "candidates", "none", "website"} & keys.keys()


def test_paths_and_lists_are_taken_as_the_types_say(tmp_path: Path) -> None:
    options: RunOptions = {
        "out": tmp_path / "run",
        "split": ["dev"],
        "max_tokens": [800, 300],
        "shard": (1, 4),
        "role": {"planner": {"model": "oracle"}},
        "adapter_option": ["detail=low"],
        "history": "all",
    }
    read = read_settings(options)
    assert (read.out, read.split, read.max_tokens) == (
        str(tmp_path / "run"),
        ("dev",),
        (800, 300),
    )
    assert (read.shard, read.role) == ((1, 4), (("planner", "oracle"),))
    assert read.adapter_option == (("detail", "low"),)
    assert read.protocol_option == (("history", "all"),)


def test_an_option_is_on_record_by_its_owner_whatever_it_is_called() -> None:
    """What belongs to a session is known of adapters and roles; others have names of their own."""
    pairs = (("ends", "x"), ("detail", "low"), ("wait", 1))
    settings = Settings(
        benchmark_option=(("data", "x"), ("devices", "a"), ("workers", 2)),
        protocol_option=(("attempts", 3), ("ends", "x")),
        adapter_option=pairs,
        role=(("track", "openai:p"), ("track.attempts", "3"), ("track.effort", "low")),
    )
    config = on_record(settings)
    assert config["benchmark_option"] == dict(settings.benchmark_option)
    assert config["protocol_option"] == dict(settings.protocol_option)
    assert config["adapter_option"] == {"detail": "low", "wait": 1}
    assert config["role"] == {"track": "openai:p", "track.effort": "low"}
    assert of_session(settings)["ends"] == "x"
    # Nothing on record is the same as no option.
    assert "adapter_option" not in on_record(Settings(adapter_option=pairs[:1]))


def test_scores_are_those_of_the_summary(place: Path) -> None:
    run = harness.evaluate("lexical", **TASKS)
    scores = run.scores
    assert_type(scores.element.value, float | None)
    assert list(scores) == [
        *("success", "element", "operation_f1", "operation_exact", "task_success")
    ]
    headline = row(run.summary, "success")
    assert scores.success.value == scores["success"].value == headline["number"]
    assert scores.success.interval is not None
    assert scores.success.interval.low == headline["low"]
    assert (scores.success.n, scores.success.over) == (2, "tasks")
    table = call("score", str(run.path)).out
    assert f"{100 * (scores.element.value or 0):.1f}" in table
    shown = repr(scores).splitlines()
    assert shown[0] == f"scores of {run.path}:"
    assert shown[1].split()[:2] == ["success", f"{100 * (scores.success.value or 0):.1f}"]


def test_a_score_that_does_not_exist_is_refused_with_those_that_do(place: Path) -> None:
    scores = harness.evaluate("lexical", **TASKS).scores
    with pytest.raises(AttributeError, match="no score 'elment'; did you mean 'element'"):
        _ = scores.elment
    with pytest.raises(KeyError, match="no score 'operation'"):
        scores["operation"]
    assert scores.get("nothing") is None and "task" not in scores


def test_task_success_is_withheld_until_every_task_is_complete() -> None:
    measures = (
        Measure("hit", main=True, averages=("micro",)),
        Measure("all_hit", all_of="hit"),
    )
    declared = Declaration(measures, unit="item", units="items")
    none = {"group": "", "value": "", "number": None, "low": None, "high": None}
    whole = {**none, "measure": "all_hit", "average": "parents", "won": 1, "complete": 2}
    summary = {
        "rules": {"invalid": "valid", "level": 0.95},
        "repeats": 1,
        "counts": [{"group": "", "value": "", "n_settled": 0}],
        "estimates": [
            {**none, "measure": "hit", "average": "micro", "rule": "valid", "n": 0},
            {**whole, "rule": "valid", "n": 3},
            {**whole, "rule": "strict", "n": 9},
        ],
    }
    scores = scores_of(summary, declared, "scores")
    assert isinstance(scores, RunScores)
    assert scores.hit.reason == "no item has been scored"
    assert scores.all_hit.reason == "withheld until every task is complete (2 of 3)"
    assert scores.all_hit.n == 2
