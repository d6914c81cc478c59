from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.runs import CallRecord, RunDiffers, RunError, Setup, StepUnit, open_run
from harness.runs.shards import merge
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


def test_equal_overlaps_are_kept_once(tmp_path: Path) -> None:
    runs = [write(tmp_path / name, [call("a")], [step("a")]) for name in "12"]
    merge(runs, tmp_path / "all")
    assert len(list(open_run(tmp_path / "all").calls())) == 1


@pytest.mark.parametrize(
    "other", [(call("a"), step("a", letter="B")), (call("a", text="x"), step("a"))]
)
def test_overlaps_that_contradict_each_other_are_refused(
    tmp_path: Path, other: tuple[CallRecord, StepUnit]
) -> None:
    one = write(tmp_path / "1", [call("a")], [step("a")])
    two = write(tmp_path / "2", [other[0]], [other[1]])
    with pytest.raises(RunError, match="step a came out differently"):
        merge([one, two], tmp_path / "all")


@pytest.mark.parametrize("turned", [False, True])
def test_a_settled_step_goes_before_an_unsettled_one_with_its_calls(
    tmp_path: Path, turned: bool
) -> None:
    one = write(tmp_path / "1", [call("a", text="early")], [step("a", settled=False)])
    two = write(tmp_path / "2", [call("a", text="final")], [step("a")])
    merge([two, one] if turned else [one, two], tmp_path / "all")
    merged = open_run(tmp_path / "all")
    assert [record.settled for record in merged.records()] == [True]
    assert [record.reply.text for record in merged.calls()] == ["final"]


def test_nothing_is_merged_into_something(tmp_path: Path) -> None:
    one = write(tmp_path / "1")
    with pytest.raises(RunError, match="exists already"):
        merge([one], one)
    with pytest.raises(RunError, match="nothing to merge"):
        merge([], tmp_path / "all")
