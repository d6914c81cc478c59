from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.commands.merge import merge_shards as merge
from harness.errors import RunDiffers
from harness.runs import RunError, Setup, open_run
from tests.harness.runs.examples import SETUP, call, step, write


def sharded(shard: str) -> Setup:
    return replace(SETUP, config={**SETUP.config, "shard": shard})


def test_shards_add_up_to_the_run(tmp_path: Path) -> None:
    one = write(tmp_path / "1", [call("a")], [step("a")], sharded("1/2"))
    two = write(tmp_path / "2", [call("b")], [step("b")], sharded("2/2"))
    merge([one, two], tmp_path / "all")
    whole = write(tmp_path / "whole", [call("a"), call("b")], [step("a"), step("b")])
    merged = open_run(tmp_path / "all")
    assert merged.records() == open_run(whole).records()
    assert list(merged.calls()) == list(open_run(whole).calls())
    write(tmp_path / "all", [call("c")])


def test_other_settings_are_refused(tmp_path: Path) -> None:
    one = write(tmp_path / "1")
    two = write(tmp_path / "2", setup=replace(SETUP, seed=2))
    with pytest.raises(RunDiffers, match="seed: 1 on record, 2 now"):
        merge([one, two], tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_runs_that_have_the_same_step_are_refused(tmp_path: Path) -> None:
    runs = [write(tmp_path / name, [call("a")], [step("a")]) for name in "12"]
    with pytest.raises(RunError, match=r"step a is in .*1 and .*2: shards share none"):
        merge(runs, tmp_path / "all")


def test_nothing_is_merged_into_something(tmp_path: Path) -> None:
    one = write(tmp_path / "1")
    with pytest.raises(RunError, match="exists already"):
        merge([one], one)
    with pytest.raises(RunError, match="nothing to merge"):
        merge([], tmp_path / "all")
