"""Benchmarks of BrowserGym's tasks: names, episodes, scores, and what is said of an environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.benchmarks import benchmark, open_benchmark
from harness.benchmarks.episode.browsergym.suites import SUITES
from harness.benchmarks.episode.task import EpisodeDetail, EpisodeTask
from harness.errors import DataError, UserError
from harness.settings import read_settings
from parsers import Prediction, Status
from reports.published.source import published_rows
from tests.harness.benchmarks.episode.browsergym.talker import GREETER, MODEL
from tests.harness.commands.tool import Called, call, isolate


def opened(python: str, name: str, data: Path | None = None, **settings: Any) -> list[Any]:
    source = benchmark(name).with_options({"env_python": python}.items())
    return list(open_benchmark(source.of_run(read_settings(settings)), data=data).entries)


def play(python: str, tasks: str, model: str, *more: str) -> Called:
    """Play an episode of each task in the run `r`."""
    words = f"run -b browsergym:{tasks} -m {model} --benchmark-option episodes=1 -o r".split()
    return call(*words, "--benchmark-option", f"env_python={python}", *more)


def test_tasks_are_those_that_are_installed_and_match(python: str) -> None:
    found = opened(python, "browsergym:miniwob.*s")
    tasks = {unit.parents["task"] for unit in found}
    assert tasks == {"hangs", "dies", "raises", "chatters", "breeds"}
    assert len(found) == 25 and {unit.detail.asked.max_steps for unit in found} == {10}
    assert [unit.unit_id for unit in opened(python, "browsergym:webarena.*")] == ["0", "1"]
    assert {unit.split for unit in found} == {"test"}


def test_the_seed_of_an_episode_follows_from_run_task_and_number(python: str) -> None:
    def seeds(seed: int) -> list[int]:
        units = opened(python, "browsergym:miniwob.click-*", seed=seed)
        return [unit.detail.asked.parameters["seed"] for unit in units]

    assert seeds(7) == seeds(7) and not set(seeds(7)) & set(seeds(8))
    assert len(set(seeds(7))) == 5 and all(0 <= seed < 2**31 for seed in seeds(7))


@pytest.mark.parametrize(
    "name", ["browsergym", "browsergym:", "browsergym:webarena", "browsergym:x.*"]
)
def test_a_name_without_a_suite_is_one_line(name: str) -> None:
    with pytest.raises(DataError, match=r"names no tasks of a suite: write browsergym:miniwob\.\*"):
        benchmark(name)


def test_what_is_missing_is_one_line(python: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"name its Python with --benchmark-option env_python=PATH"):
        open_benchmark("browsergym:miniwob.*")
    with pytest.raises(UserError, match="there is no Python"):
        opened(str(tmp_path), "browsergym:miniwob.*")
    with pytest.raises(DataError, match=r"MiniWoB\+\+ has no task 'click-tset'; did you mean"):
        opened(python, "browsergym:miniwob.click-tset")
    with pytest.raises(UserError, match=r"cannot be imported \(Resource punkt_tab not found\.\); "):
        opened(python, "browsergym:visualwebarena.*")
    with pytest.raises(UserError, match=r"cannot be imported \(Couldn't reach"):
        opened(python, "browsergym:assistantbench.*")
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexit 3\n")
    silent.chmod(0o700)
    with pytest.raises(UserError, match="exit status 3"):
        opened(str(silent), "browsergym:miniwob.*")


@pytest.mark.parametrize(
    ("suite", "reward", "scores"),
    [
        ("webarena", 1.0, {"success": 1.0, "reward": 1.0}),
        ("webarena_verified", 0.5, {"success": 0.0, "reward": 0.5}),
        ("assistantbench", 0.5, {"accuracy": 0.5, "success": 0.0}),
        ("miniwob", 0.33, {"success": 0.0, "success_browsergym": 1.0, "success_seeclick": 0.0}),
        ("workarena", None, {"success": 0.0, "reward": 0.0}),
    ],
)
def test_success_by_suite(suite: str, reward: float | None, scores: dict[str, float]) -> None:
    said = Prediction(Status.ANSWERED, parsed={"reward": reward, "steps": 3, "end": "stopped"})
    source = benchmark(f"browsergym:{suite}.*")
    found = source.score(said, EpisodeDetail(EpisodeTask({})))
    assert {**found, "steps": 3.0} == found and {**found, **scores} == found
    assert set(found) == {measure.name for measure in source.declared.measures}


def test_tasks_of_several_parts_have_more_steps_and_one_episode() -> None:
    assert SUITES["workarena"].lasts("servicenow.order-ipad-pro") == (15, 10)
    assert SUITES["workarena"].lasts("servicenow.basic-budget-l3") == (50, 1)
    assert SUITES["assistantbench"].split_of("imp.0") is None


def test_a_run_plays_goes_on_and_is_reported(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    for _ in range(2):
        done = play(python, "miniwob.click-test", "oracle")
        assert done.code == 0 and "100.0" in done.out
    shown = call("show", "click-test-0", "--run", "r").out
    assert "reward 1.0, steps 1, end the task ended it" in shown
    assert call("report", "r").code == 0


@pytest.mark.parametrize("protocol", ["autowebglm", "seeact-two-rounds", "seeact-annotation"])
def test_protocols_that_play_live_pages_play_it(
    protocol: str, python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    done = play(python, "miniwob.click-test", "oracle", "--protocol", protocol)
    assert done.code == 0, done.err
    assert "reward 1.0" in call("show", "click-test-0", "--run", "r").out


def test_a_model_plays_by_action_strings_and_its_run_is_scored_without_the_environment(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    done = play(python, "miniwob.click-test", MODEL, "--protocol", "action-strings")
    assert done.code == 0, done.err
    shown = call("show", "click-test-0", "--run", "r").out
    assert "reward 1.0, steps 5" in shown
    assert "HOVER (failed: TimeoutError:" in shown and "SCROLL_BY: 0, 50" in shown
    assert "0 of 1 predictions read differently" in call("score", "r").out
    (tmp_path / "r" / "summary.json").unlink()
    assert call("report", "r").code == 0


@pytest.mark.parametrize(
    ("tasks", "end"),
    [
        ("miniwob.click-test", "reward 1.0, steps 2, end the task ended it"),
        ("webarena.0", "reward 1.0, steps 1, end the task ended it"),
        ("openended", "reward 0.0, steps 3, end the task ended it"),
    ],
)
def test_a_message_to_the_user_ends_an_episode_only_where_its_task_says_so(
    tasks: str, end: str, python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    for name in SUITES["webarena"].sites:
        monkeypatch.setenv(name, "http://shop.invalid")
    own = {"goal": "Find a red lamp.", "start_url": "https://lamps.invalid/"}
    Path("tasks.jsonl").write_text(json.dumps(own) + "\n")
    data = ("--data", "tasks.jsonl") if tasks == "openended" else ()
    done = play(python, tasks, GREETER, "--protocol", "action-strings", *data)
    assert done.code == 0, done.err
    (record,) = harness.open_run("r").records()
    shown = call("show", record.unit_id, "--run", "r").out
    assert end in shown and ("MESSAGE: 42" in shown or "MESSAGE(" in shown)
    if data:
        assert "Find a red lamp." in shown and "https://lamps.invalid/" in shown
        assert record.scores == {"ended": 1.0, "steps": 3.0}
        assert "Ended" in done.out and call("report", "r").code == 0


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (None, "needs tasks of yours, a line each: --data FILE with"),
        ("", "has no tasks"),
        ('{"goal": "x"}', "line 1: Object missing required field `start_url`"),
        ('{"goal": "x", "start_url": "javascript:alert(1)"}', "line 1: Expected `str` matching"),
        ('{"goal": "x", "start_url": "http://a/", "id": "2"}\n' * 2, "line 2: a second task"),
        ("\xff", "line 1: "),
    ],
)
def test_tasks_of_the_user_are_read_or_refused_in_one_line(
    lines: str | None, told: str, python: str, tmp_path: Path
) -> None:
    data = tmp_path / "tasks.jsonl"
    data.write_bytes((lines or "").encode("latin-1"))
    with pytest.raises(DataError, match=told) as refused:
        opened(python, "browsergym:openended", None if lines is None else data)
    assert "\n" not in str(refused.value)


def test_the_option_is_refused_where_nothing_has_another_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    done = call("run", "-m", "random", "-b", "sample", "--benchmark-option", "env_python=x")
    assert done.code == 2
    assert "--benchmark-option env_python: sample has no such option" in done.err


def test_the_check_says_how_to_make_an_environment() -> None:
    told = call("environments", "check", "browsergym")
    assert told.code == 0 and "pip install browsergym-miniwob" in told.out
    webarena = call("environments", "check", "webarena").out
    assert "export WA_SHOPPING=http://..." in webarena and "nltk.downloader punkt_tab" in webarena
    assert "export OPENAI_API_KEY=...    # for the 118 tasks" in webarena
    assert "openended --data tasks.jsonl" in call("environments", "check", "openended").out
    assert call("environments", "check", "webarna").code == 2


def test_published_rows_stand_beside_the_whole_of_webarena_and_are_not_ranked_with_it() -> None:
    source = benchmark("browsergym:webarena.*")
    rows = [row for row in published_rows() if row.scope.covers(source.declared, source.name)]
    assert {row.model: row.values["success"] for row in rows}["AutoWebGLM 6B"] == pytest.approx(
        0.182
    )
    assert len(rows) == 7 and all(row.keys["population"] != source.name for row in rows)
    part = benchmark("browsergym:webarena.1*")
    assert not any(row.scope.covers(part.declared, part.name) for row in published_rows())
    assert [(size.split, size.rows) for size in source.sizes] == [("test", 812)]
