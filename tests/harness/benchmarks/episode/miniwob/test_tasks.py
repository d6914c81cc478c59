"""Which tasks and episodes of MiniWoB++ there are, and how their results are scored."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.benchmarks import benchmark, open_benchmark
from harness.benchmarks.episode.miniwob.benchmark import BENCHMARK, pages
from harness.benchmarks.episode.task import EpisodeDetail, EpisodeTask
from harness.settings import Settings
from parsers import Prediction, Status
from reports.published.source import published_rows
from tests.harness.benchmarks.episode.miniwob.played import needs_miniwob
from tests.harness.commands.tool import call, isolate


@needs_miniwob
def test_the_published_tasks_have_a_hundred_episodes_and_all_others_are_another_split() -> None:
    opened = open_benchmark("miniwob")
    assert len(opened) == 5_600
    published = {unit.parents["task"] for unit in opened.entries}
    assert published == {row.split for row in published_rows() if row.level == "task"}
    both = open_benchmark("miniwob", splits=("published", "other"))
    every = {page.stem for page in pages().glob("*.html")}
    assert {unit.parents["task"] for unit in both.entries} == every and len(every) == 130
    long = {u.parents["task"] for u in both.entries if u.detail.asked.max_steps != 10}
    assert long == {"choose-date", "guess-number", "use-slider"}
    assert {u.detail.asked.max_steps for u in both.entries} == {10, 30}


@needs_miniwob
def test_the_seed_of_a_page_is_a_text_that_follows_from_run_task_and_number() -> None:
    def seeds(seed: int) -> dict[str, Any]:
        opened = open_benchmark(benchmark("miniwob").of_run(Settings(seed=seed)))
        return {unit.unit_id: unit.detail.asked.parameters["seed"] for unit in opened.entries}

    first = seeds(7)
    assert first == seeds(7) and len(set(first.values())) == 5_600
    assert all(isinstance(seed, str) for seed in first.values())
    assert not set(first.values()) & set(seeds(8).values())


def test_no_package_of_the_official_environment_is_imported() -> None:
    code = (
        "import sys; from harness.benchmarks import open_benchmark; open_benchmark('miniwob'); "
        "sys.exit(any(name in sys.modules for name in ('miniwob', 'selenium', 'gymnasium')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("raw", "scores"),
    [
        (1.0, (1, 1, 1)),
        (0.9, (0, 1, 1)),
        (0.33, (0, 0, 1)),
        (0.8, (0, 0, 1)),
        (0.0, (0, 0, 0)),
        (-1.0, (0, 0, 0)),
        (None, (0, 0, 0)),
    ],
)
def test_success_is_a_raw_reward_of_one_and_other_rules_stand_beside_it(
    raw: float | None, scores: tuple[int, int, int]
) -> None:
    said = Prediction(Status.ANSWERED, parsed={"reward": raw, "steps": 3, "end": "x"})
    detail = EpisodeDetail(EpisodeTask({"task": "click-test", "seed": "1"}))
    found = BENCHMARK.score(said, detail)
    names = ("success", "success_seeclick", "success_browsergym")
    assert tuple(found[name] for name in names) == scores
    assert found["raw_reward"] == (raw or 0.0) and found["steps"] == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--only", "task=click-tset"), "no task 'click-tset'"),
        (("--split", "test"), "no split 'test'"),
        (("--data", "."), "leave out --data"),
        (("--split", "other", "--only", "task=use-slider"), "no scripted solution of use-slider"),
        (("--distractors", "5"), "--distractors"),
    ],
)
@needs_miniwob
def test_what_cannot_be_played_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    isolate(monkeypatch, tmp_path)
    done = call("run", "-m", "oracle", "-b", "miniwob", *arguments)
    assert done.code == 2 and said in done.err and len(done.err.splitlines()) == 1


@needs_miniwob
def test_an_episode_that_was_not_played_cannot_be_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    done = call("show", "click-test-0", "-b", "miniwob")
    assert done.code == 2 and "--run RUN" in done.complaint


@pytest.mark.parametrize(
    ("place", "name", "found", "said"),
    [
        ("harness.benchmarks.episode.miniwob.benchmark", "find_spec", None, "pip install"),
        ("harness.live.chromium", "chromium", None, "apt install chromium"),
    ],
)
@needs_miniwob
def test_what_is_not_installed_is_said_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str, name: str, found: Any, said: str
) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setattr(f"{place}.{name}", lambda *_: found)
    done = call("run", "-m", "oracle", "-b", "miniwob", "--only", "task=click-test")
    assert done.code == 2 and said in done.err and len(done.err.splitlines()) == 1
    assert not Path("runs").exists()
