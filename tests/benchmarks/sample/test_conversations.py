"""The conversations that ship with the package, in the JSON of MT-Mind2Web."""

from __future__ import annotations

import json
import lzma
from typing import Any

import pytest

from benchmarks.sample.build import read_conversations
from benchmarks.sample.counts import has_picture
from benchmarks.sample.trajectories import load, load_conversations
from harness.recording import columns
from harness.recording.columns import StepRow
from harness.sample import conversation_files, files, screenshot_files

SPLITS = ("dev", "test")


@pytest.fixture(scope="module")
def released() -> dict[str, list[dict[str, Any]]]:
    """The conversations of each split, as anybody would read them."""
    return {
        split: json.loads(lzma.decompress(path.read_bytes()))
        for split, path in conversation_files().items()
    }


@pytest.fixture(scope="module")
def rows() -> dict[str, list[StepRow]]:
    pictures = screenshot_files()
    return {
        split: read_conversations(path, pictures[split])
        for split, path in conversation_files().items()
    }


def test_conversations_turns_and_actions_have_the_released_keys(
    released: dict[str, list[dict[str, Any]]],
) -> None:
    for conversation in [found for content in released.values() for found in content]:
        assert list(conversation) == ["task_id", "website", "domain", "subdomain", "turns"]
        for turn in conversation["turns"]:
            assert list(turn) == ["annotation_id", "confirmed_task", "action_reprs", "actions"]
            assert len(turn["action_reprs"]) == len(turn["actions"]) > 0
            for action in turn["actions"]:
                assert list(action) == [
                    "action_uid",
                    "raw_html",
                    "cleaned_html",
                    "operation",
                    "pos_candidates",
                    "neg_candidates",
                ]
                assert set(action["operation"]) == {"op", "original_op", "value"}
                assert action["operation"]["op"] in ("CLICK", "TYPE", "SELECT")
                for candidate in action["pos_candidates"]:
                    assert isinstance(json.loads(candidate["attributes"]), dict)


def test_there_are_conversations_of_three_to_five_turns_in_both_splits(
    released: dict[str, list[dict[str, Any]]],
) -> None:
    assert {split: len(content) for split, content in released.items()} == {"dev": 5, "test": 9}
    for content in released.values():
        assert all(3 <= len(found["turns"]) <= 5 for found in content)


def test_they_are_those_of_the_task_files_in_their_order(
    released: dict[str, list[dict[str, Any]]],
) -> None:
    for split, content in released.items():
        written = [found for found in load_conversations() if found.site.split == split]
        assert [found["task_id"] for found in content] == [one.task_id for one in written]
        assert [
            [(turn["annotation_id"], turn["confirmed_task"]) for turn in found["turns"]]
            for found in content
        ] == [[(task.annotation_id, task.goal) for task in one.turns] for one in written]


def test_a_site_is_in_the_split_that_its_tasks_are_in(
    released: dict[str, list[dict[str, Any]]],
) -> None:
    splits = {task.site.website: task.site.split for task in load()}
    for split, content in released.items():
        assert all(splits[found["website"]] == split for found in content)


def test_no_action_is_also_one_of_the_single_tasks(rows: dict[str, list[StepRow]]) -> None:
    single = {row["action_uid"] for path in files().values() for row in columns.read(path)}
    turns = [row["action_uid"] for content in rows.values() for row in content]
    assert single.isdisjoint(turns)
    assert len(turns) == len(set(turns)) == 202


def test_the_last_page_of_a_turn_is_where_the_next_one_goes_on(
    released: dict[str, list[dict[str, Any]]],
) -> None:
    """A session goes on: in the second turn about seats, those of the first are chosen."""
    (tickets,) = (
        found for found in released["test"] if "C6 and C7" in found["turns"][0]["confirmed_task"]
    )
    assert "Seat C6" not in tickets["turns"][0]["actions"][2]["cleaned_html"]
    assert "Seat C7" in tickets["turns"][1]["actions"][0]["cleaned_html"]


def test_the_screenshots_are_rows_of_multimodal_mind2web(rows: dict[str, list[StepRow]]) -> None:
    for split, path in screenshot_files().items():
        joined = columns.read(path)
        assert all(has_picture(row) for row in joined)
        assert joined == rows[split]


def test_all_files_together_stay_small() -> None:
    paths = [*conversation_files().values(), *screenshot_files().values()]
    assert sum(path.stat().st_size for path in paths) <= 6_000_000
