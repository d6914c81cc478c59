"""Runs of policies on the shipped sample, from the command line to every report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from reports.published.beside import published_beside
from reports.tables import main_table
from tests.harness.commands.tool import call, isolate

LIMIT = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The oracle and the middle of every picture, the oracle in other words, and on steps."""
    root = tmp_path_factory.mktemp("sample")
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, root)
        for name, *more in (
            ("oracle",),
            ("centre",),
            ("refined", "--split", "test-refined"),
            ("steps", "-b", "sample", "--split", "test", "--limit", "6"),
        ):
            policy = name if name in ("oracle", "centre") else "oracle"
            usual = ["-b", "sample-grounding", "--limit", str(LIMIT)]
            options = [*more, *(usual if name != "steps" else [])]
            done = call("run", "-m", policy, *options, "-o", str(root / name))
            assert done.code == 0, done.err
        yield root


def _report(*arguments: object) -> str:
    done = call("report", *map(str, arguments))
    assert done.code == 0, done.err
    return done.out


def test_the_oracle_is_always_right_and_the_middle_hardly_ever(folder: Path) -> None:
    oracle, centre = (
        main_table(folder / name).query("line == 'valid'").to_dict("records")[0]
        for name in ("oracle", "centre")
    )
    for result in ("hit_micro", "hit_cells", "present_micro", "present_cells"):
        assert oracle[result] == 1.0
        assert centre[result] < 0.1
    lines = (folder / "oracle" / "steps.jsonl").read_text("utf-8").splitlines()
    absent = sum(json.loads(line)["detail"]["gold"]["kind"] == "absent" for line in lines)
    assert (oracle["items"], oracle["present_measured"]) == (LIMIT, LIMIT - absent)
    assert absent == LIMIT // 10


def test_every_group_adds_up_to_all_items(folder: Path) -> None:
    for key in ("role", "size", "target", "target_size", "cell", "size,target"):
        table = main_table(folder / "centre", key)
        assert table[table["headline"]]["items"].sum() == LIMIT
    names = main_table(folder / "centre", "target_size")["target_size"].unique().tolist()
    assert len(names) == 5 and names[-1] == "absent"


def test_a_leaderboard_puts_what_is_declared_by_each_set_side_by_side(folder: Path) -> None:
    text = _report(folder / "oracle", folder / "centre", folder / "steps", "--compact")
    (head,) = [line.split() for line in text.splitlines() if line.startswith("model ")]
    assert head == ["model", "sample-grounding", "sample"]
    (row,) = [line.split() for line in text.splitlines() if line.startswith("oracle ")]
    assert row[1] == "100.0"
    flat = " ".join(text.split())
    assert "sample-grounding: Hit, micro: mean over items" in flat
    assert "sample: Step SR, macro: mean over tasks" in flat


def test_the_two_wordings_are_compared_item_by_item(folder: Path) -> None:
    done = call("compare", str(folder / "oracle"), str(folder / "refined"))
    assert done.code == 0, done.err
    assert f"shared items: {LIMIT} of " in done.out
    assert "test against test-refined" in done.out


def test_classes_and_shares_are_told(folder: Path) -> None:
    done = call("errors", str(folder / "centre"))
    assert done.code == 0 and "pointed at nothing" in done.out and "near miss" in done.out
    facts = " ".join(_report(folder / "centre").split())
    assert "answers: unreadable 0.0 %, cut off 0.0 %, out of range 0.0 %, declined 0.0 %" in facts
    assert "distance to the target: median" in facts


def test_no_published_row_is_about_the_sample(folder: Path) -> None:
    alike, apart = published_beside(folder / "oracle")
    assert alike.empty and apart.empty
