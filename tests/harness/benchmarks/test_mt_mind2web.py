"""MT-Mind2Web's shards as recorded steps with conversations above them. The real data cannot be
had here: all shards are made up in its format."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from harness.benchmarks import Filters, StepDataset, open_steps
from harness.errors import DataError
from harness.runs.steps import turn_of
from tests.harness.benchmarks._conversations import conversations, written
from tests.harness.benchmarks._files import task, write


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def listed() -> list[dict[str, Any]]:
    return conversations(3)[:3]


def opened(path: Path, **options: Any) -> StepDataset:
    return open_steps("mt-mind2web", data=path, **options)


@pytest.mark.parametrize("above", ["", "data"])
def test_steps_are_those_that_were_written_in_order(
    tmp_path: Path, listed: list[dict[str, Any]], above: str
) -> None:
    written(tmp_path / above, listed)
    expected = [
        (one["task_id"], place, turn["annotation_id"], turn["confirmed_task"], index, action)
        for one in listed
        for place, turn in enumerate(one["turns"])
        for index, action in enumerate(turn["actions"])
    ]
    dataset = opened(tmp_path)
    rows = list(dataset.rows())
    assert len(rows) == len(dataset) == len(expected)
    for row, (conversation, place, turn, text, index, action) in zip(rows, expected, strict=True):
        assert (row.parents["conversation"], row.parents["task"]) == (conversation, turn)
        assert turn_of(row) == place
        assert (row.goal, row.position) == (text, index)
        assert row.detail.action_uid == action["action_uid"]
        assert row.detail.html == action["cleaned_html"] and row.split == "test_task"
        assert (row.detail.operation, row.detail.value) == (
            action["operation"]["op"],
            action["operation"]["value"],
        )
        assert [c.id for c in row.detail.positives] == [
            c["backend_node_id"] for c in action["pos_candidates"]
        ]
        assert len(row.detail.history) == index
    for one, entries in ((one, rows) for one in listed):
        for turn in one["turns"]:
            said = [
                row.detail.told for row in entries if row.parents["task"] == turn["annotation_id"]
            ]
            assert said == turn["action_reprs"]


def test_a_step_belongs_to_its_turn_its_conversation_and_the_site_of_that(
    tmp_path: Path, listed: list[dict[str, Any]]
) -> None:
    entry = opened(written(tmp_path, listed)).entries[0]
    assert entry.parents == {
        "task": listed[0]["turns"][0]["annotation_id"],
        "conversation": "test-0",
        "website": listed[0]["website"],
    }
    assert entry.labels["turn"] == "1"
    assert (
        entry.unit_id == f"{entry.parents['task']}_{entry.detail.action_uid}"
    )  # the key of the score file


def test_limits_and_shards_never_split_a_conversation(
    tmp_path: Path, listed: list[dict[str, Any]]
) -> None:
    dataset = opened(written(tmp_path, listed))
    steps = {one["task_id"]: sum(len(turn["actions"]) for turn in one["turns"]) for one in listed}
    first = dataset.select(Filters(limit=1))
    assert len(first) == steps["test-0"]
    shards = [dataset.select(Filters(shard=(n, 2))) for n in (1, 2)]
    whole = [{e.parents["conversation"] for e in shard.entries} for shard in shards]
    assert not whole[0] & whole[1] and whole[0] | whole[1] == steps.keys()
    assert sum(map(len, shards)) == len(dataset)


def test_an_action_without_an_acceptable_element_is_kept(
    tmp_path: Path, listed: list[dict[str, Any]]
) -> None:
    rows = list(opened(written(tmp_path, listed)).rows())
    without = [row for row in rows if not row.detail.positives]
    assert without and all(row.invalid is None for row in rows)


def test_splits_are_told_by_folders_and_train_is_left_out_unless_asked_for(
    tmp_path: Path, listed: list[dict[str, Any]]
) -> None:
    written(tmp_path, listed[:1], "test_subdomain")
    written(tmp_path / "data", listed[1:2], "train")
    dataset = opened(tmp_path)
    assert {entry.split for entry in dataset.entries} == {"test_subdomain"}
    assert "has no file for test_task, test_website" in dataset.notices[0]
    assert "test_subdomain has 3 of 216 turns here: some shards may be missing" in dataset.notices
    train = opened(tmp_path, splits=["train"])
    assert {e.parents["conversation"] for e in train.entries} == {"test-1"}
    with pytest.raises(DataError, match="no split 'test_domain'"):
        opened(tmp_path, splits=["test_domain"])


def test_screenshots_are_joined_by_action_from_any_split_beside_the_shards(
    tmp_path: Path, listed: list[dict[str, Any]]
) -> None:
    uids = [action["action_uid"] for one in listed for t in one["turns"] for action in t["actions"]]
    rows = task("elsewhere", 3)
    for row, uid in zip(rows, (uids[4], uids[0], "unknown"), strict=True):
        row["action_uid"] = uid
    write(tmp_path / "pictures" / "data" / "test_domain-00000-of-00001.parquet", rows)
    write(tmp_path / "ranks.parquet", task("other", 1))  # its name has no split: not read
    dataset = opened(written(tmp_path, listed))
    found = {row.detail.action_uid: row for row in dataset.rows() if row.detail.screenshot}
    assert found.keys() == {uids[4], uids[0]}
    for uid, place in ((uids[4], 0), (uids[0], 1)):
        assert found[uid].detail.screenshot == rows[place]["screenshot"]["bytes"]
        Image.open(io.BytesIO(found[uid].detail.screenshot or b"")).load()
    assert any(
        f"{len(uids) - 2} steps of {len(uids)} have no screenshot" in n for n in dataset.notices
    )
    assert all(row.detail.screenshot is None for row in dataset.unpictured.rows())


ACTIONS = {"annotation_id": "t", "actions": [{"action_uid": "a"}]}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[{"task_id": "c", "turns": [{"annotation_id": "t", "acti', "truncated"),
        ('[{"task_id": "c", "turns": []}]', r"conversation 1 \(c\) has no turns; "),
        ('[{"turns": []}]', "conversation 1 is not a conversation of MT-Mind2Web: .*task_id"),
        ('[{"task_id": "", "turns": [{}]}]', r"conversation 1 is not .*`str` of length >= 1"),
        ('[{"task_id": "c", "turns": {}}]', r"conversation 1 \(c\), 'turns' is not a list"),
        (
            '[{"task_id": "c", "turns": [{"annotation_id": "t"}]}]',
            r"conversation 1 \(c\), turn 1 is not a turn of MT-Mind2Web: .*actions",
        ),
        ('[{"annotation_id": "a", "actions": []}]', "is not a conversation of MT-Mind2Web"),
    ],
)
def test_bad_shards_are_refused_with_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "test_website_0.json"
    path.write_text(text)
    with pytest.raises(DataError, match=complaint) as refused:
        opened(path)
    assert str(path) in str(refused.value) and "\n" not in str(refused.value)


def test_a_bad_action_is_named_by_its_conversation_and_turn(
    tmp_path: Path, listed: list[dict[str, Any]]
) -> None:
    broken = json.loads(json.dumps(listed[:1]))
    broken[0]["turns"][1]["actions"][0]["operation"] = {"op": "JUMP"}
    dataset = opened(written(tmp_path, broken))
    with pytest.raises(DataError, match=r"\(test-0\), turn 2, action 1: .*'JUMP'"):
        list(dataset.rows())


def test_turns_that_ids_do_not_tell_apart_are_refused(
    tmp_path: Path, listed: list[dict[str, Any]]
) -> None:
    """They would be remembered in each other's place."""
    twice = [listed[0], {**listed[1], "task_id": listed[0]["task_id"]}]
    with pytest.raises(DataError, match=r"n 2 \(test-0\), turn 1: not told from conversation 1 "):
        opened(written(tmp_path / "conversation", twice))
    first, second, _ = listed[0]["turns"]
    named = {**second, "annotation_id": first["annotation_id"]}
    with pytest.raises(DataError, match=r"\(test-0\), turn 2: not told from .*, turn 1 by its ids"):
        opened(written(tmp_path / "turn", [{**listed[0], "turns": [first, named]}]))
    copied = opened(written(tmp_path / "copy", [listed[0], listed[0]]))
    assert any("duplicate steps were skipped" in notice for notice in copied.notices)


def test_turn_ids_of_several_conversations_are_told(
    tmp_path: Path, listed: list[dict[str, Any]]
) -> None:
    same = {"annotation_id": listed[0]["turns"][0]["annotation_id"]}
    other = {**listed[1], "turns": [{**listed[1]["turns"][0], **same}]}
    told = opened(written(tmp_path, [listed[0], other])).notices
    assert any("1 turn id in several conversations" in notice for notice in told)
    alone = opened(written(tmp_path / "alone", listed)).notices
    assert not any("turn id" in notice for notice in alone)


def test_turns_without_actions_are_told(tmp_path: Path, listed: list[dict[str, Any]]) -> None:
    first, second, third = listed[0]["turns"]
    empty = {**second, "actions": [], "action_reprs": []}
    dataset = opened(written(tmp_path, [{**listed[0], "turns": [first, empty, third]}]))
    assert {entry.labels["turn"] for entry in dataset.entries} == {"1", "3"}
    assert any("1 turn without actions left out" in notice for notice in dataset.notices)


def test_turns_of_equal_bytes_are_found_where_they_are(tmp_path: Path) -> None:
    """Positions are found by content, so equal content must not lead astray."""
    turn = {**ACTIONS, "confirmed_task": "x", "turns": [ACTIONS]}
    one = {"note": [turn], "task_id": "c", "turns": [{**turn, "annotation_id": "u"}, turn]}
    path = tmp_path / "test_task_0.json"
    path.write_text(json.dumps([one], indent=1))
    layout = opened(path).layout
    text = path.read_bytes()
    spans = layout.spans[path]  # type: ignore[attr-defined]
    found = [json.loads(text[span.start : span.start + span.length]) for span in spans]
    assert found == one["turns"]
    assert [span.turn for span in spans] == [0, 1]
