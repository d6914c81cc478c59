"""The task files, and the names that rebuilds must repeat."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.sample.serving import SITES
from benchmarks.sample.trajectories import load, load_conversations
from harness.recording.columns import gold

HEAD = 'site = "a"\nwebsite = "a"\ndomain = "b"\nsubdomain = "c"\nsplit = "dev"\n'


def test_every_site_belongs_to_one_split_and_has_its_pages() -> None:
    tasks = load()
    splits = {(task.site.site, task.site.split) for task in tasks}
    assert len(splits) == len({site for site, _ in splits}) >= 6
    for site, _ in splits:
        assert {path.name for path in (SITES / site).iterdir()} >= {"site.js", "style.css"}


def test_ids_are_distinct_and_do_not_depend_on_the_run() -> None:
    conversations = load_conversations()
    tasks = [*load(), *(turn for found in conversations for turn in found.turns)]
    ids = [found.task_id for found in conversations]
    ids += [task.annotation_id for task in tasks]
    ids += [task.action_uid(index) for task in tasks for index in range(len(task.actions))]
    assert len(ids) == len(set(ids))
    (task,) = (task for task in tasks if task.name == "spanish-list")
    assert task.annotation_id == "482e56a1-40d3-5dfb-a986-3a5676b460c1"


def test_hovering_and_pressing_enter_are_scored_as_clicks() -> None:
    assert [gold("CLICK"), gold("HOVER"), gold("ENTER")] == ["CLICK"] * 3
    assert gold("TYPE") == "TYPE"


@pytest.mark.parametrize(
    "step", ['{ op = "CLICK", at = "a", value = "b" }', '{ op = "DRAG", at = "a" }']
)
def test_a_task_file_with_an_impossible_step_is_refused(tmp_path: Path, step: str) -> None:
    text = f'{HEAD}[[task]]\nname = "t"\ngoal = "g"\nsteps = [{step}]\n'
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(ValueError, match=r"a\.toml"):
        load(tmp_path)
