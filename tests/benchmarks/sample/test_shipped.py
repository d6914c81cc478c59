"""The files that ship with the package."""

from __future__ import annotations

import json
import subprocess
import sys
from io import BytesIO

import pyarrow.parquet as pq
import pytest
from lxml import etree
from PIL import Image

from benchmarks.sample.build import parts
from benchmarks.sample.counts import Counts, count, has_picture
from benchmarks.sample.trajectories import load
from harness.recording.columns import StepRow, gold, read, schema
from harness.sample import files

SPLITS = ("dev", "test")
COLUMNS = (
    "action_uid raw_html cleaned_html operation pos_candidates neg_candidates website domain "
    "subdomain annotation_id confirmed_task screenshot action_reprs target_action_index "
    "target_action_reprs"
)


@pytest.fixture(scope="module")
def rows() -> dict[str, list[StepRow]]:
    return {split: read(path) for split, path in files().items()}


@pytest.fixture(scope="module")
def counts(rows: dict[str, list[StepRow]]) -> dict[str, Counts]:
    return {split: count(content) for split, content in rows.items()}


@pytest.fixture(scope="module")
def steps() -> list[StepRow]:
    """The steps of single tasks and those of conversations."""
    return [row for part in parts() for paths in part.files.values() for row in part.read(*paths)]


def test_looking_up_the_files_imports_nothing_heavy() -> None:
    code = "import sys, harness.sample as s; s.files(); print('pyarrow' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


@pytest.mark.parametrize("split", SPLITS)
def test_the_columns_are_those_of_multimodal_mind2web(split: str) -> None:
    found = pq.read_schema(files()[split])
    assert found.equals(schema(), check_metadata=False)
    assert found.names == COLUMNS.split()
    features = json.loads(found.metadata[b"huggingface"])["info"]["features"]
    assert features["screenshot"] == {"_type": "Image"}
    assert list(features) == found.names


def test_both_files_together_stay_small_and_come_in_small_groups() -> None:
    assert sum(path.stat().st_size for path in files().values()) <= 10_000_000
    for path in files().values():
        metadata = pq.read_metadata(path)
        assert all(metadata.row_group(at).num_rows <= 8 for at in range(metadata.num_row_groups))


def test_there_are_enough_sites_tasks_and_steps(counts: dict[str, Counts]) -> None:
    assert sum(found.tasks for found in counts.values()) >= 15
    assert sum(found.steps for found in counts.values()) >= 70
    for found in counts.values():
        assert set(found.operations) == {"CLICK", "TYPE", "SELECT"}
    assert counts["test"].steps > counts["dev"].steps


def test_pages_have_between_100_and_600_elements(counts: dict[str, Counts]) -> None:
    for found in counts.values():
        assert 100 <= found.elements[0] <= found.elements[1] <= 600


@pytest.mark.parametrize("split", SPLITS)
def test_a_third_of_the_steps_have_a_decoy(counts: dict[str, Counts], split: str) -> None:
    assert counts[split].with_decoy * 3 >= counts[split].steps


@pytest.mark.parametrize("split", SPLITS)
def test_some_steps_have_no_positive_and_some_several(
    counts: dict[str, Counts], split: str
) -> None:
    found = counts[split].positives
    assert found[0] >= 1
    assert sum(number for positives, number in found.items() if positives > 1) >= 5


def test_one_screenshot_is_a_null_struct_and_one_a_struct_of_nulls(
    rows: dict[str, list[StepRow]],
) -> None:
    missing = {
        split: [row["screenshot"] for row in content if not has_picture(row)]
        for split, content in rows.items()
    }
    assert missing == {"dev": [None], "test": [{"bytes": None, "path": None}]}


def test_no_site_is_in_both_splits(rows: dict[str, list[StepRow]]) -> None:
    dev, test = ({row["website"] for row in rows[split]} for split in SPLITS)
    assert dev.isdisjoint(test)


def test_the_shipped_tasks_are_those_of_the_task_files(rows: dict[str, list[StepRow]]) -> None:
    expected = [
        (task.annotation_id, task.action_uid(index), task.goal, gold(action.op), action.value)
        for split in SPLITS
        for task in load()
        if task.site.split == split
        for index, action in enumerate(task.actions)
    ]
    found = []
    for row in [row for content in rows.values() for row in content]:
        operation = json.loads(row["operation"])
        ids = row["annotation_id"], row["action_uid"]
        found.append((*ids, row["confirmed_task"], operation["op"], operation["value"]))
    assert found == expected


def test_every_row_shows_the_whole_history_and_points_at_its_own_action(
    steps: list[StepRow],
) -> None:
    by_task: dict[str, list[StepRow]] = {}
    for row in steps:
        by_task.setdefault(row["annotation_id"], []).append(row)
        assert row["target_action_reprs"] == row["action_reprs"][int(row["target_action_index"])]
    for task in by_task.values():
        assert [row["target_action_index"] for row in task] == [str(i) for i in range(len(task))]
        assert all(row["action_reprs"] == task[0]["action_reprs"] for row in task)
        assert len(task[0]["action_reprs"]) == len(task)


def test_every_candidate_is_on_the_cleaned_page_once_and_in_the_raw_one(
    steps: list[StepRow],
) -> None:
    for row in steps:
        page = etree.fromstring(row["cleaned_html"])
        tags = {node.get("backend_node_id"): node.tag for node in page.iter()}
        entries = [json.loads(text) for text in row["pos_candidates"] + row["neg_candidates"]]
        ids = [entry["backend_node_id"] for entry in entries]
        assert len(ids) == len(set(ids))
        for entry in entries:
            assert tags[entry["backend_node_id"]] == entry["tag"]
            assert f'backend_node_id="{entry["backend_node_id"]}"' in row["raw_html"]


def test_ids_count_the_nodes_of_a_page_in_document_order(steps: list[StepRow]) -> None:
    for row in steps:
        page = etree.fromstring(row["cleaned_html"])
        ids = [int(node.get("backend_node_id") or 0) for node in page.iter()]
        assert ids == sorted(ids)
        assert ids[0] == 1


def test_positives_are_one_clickable_element_and_what_lies_in_it(
    steps: list[StepRow],
) -> None:
    for row in steps:
        entries = [json.loads(text) for text in row["pos_candidates"]]
        if not entries:
            continue
        (top,) = (entry for entry in entries if entry["is_top_level_target"])
        assert json.loads(top["attributes"])["is_clickable"] == "true"
        assert sum(entry["is_original_target"] for entry in entries) == 1
        page = etree.fromstring(row["cleaned_html"])
        (node,) = page.xpath("//*[@backend_node_id=$id]", id=top["backend_node_id"])
        below = {inner.get("backend_node_id") for inner in node.iter()}
        assert {entry["backend_node_id"] for entry in entries} <= below


def test_screenshots_show_the_whole_page_at_its_own_scale(steps: list[StepRow]) -> None:
    heights = []
    for row in steps:
        picture = row["screenshot"]
        if picture is None or picture["bytes"] is None:
            continue
        with Image.open(BytesIO(picture["bytes"])) as image:
            assert (image.format, image.width) == ("JPEG", 1280)
            heights.append(image.height)
            root = json.loads(json.loads(row["neg_candidates"][0])["attributes"])
            page = float(root["bounding_box_rect"].split(",")[3])
            assert abs(page - image.height) <= 1
    assert max(heights) > 2500


def test_datasets_decodes_the_picture(rows: dict[str, list[StepRow]]) -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features.from_arrow_schema(pq.read_schema(files()["dev"]))
    picture = features["screenshot"].decode_example(rows["dev"][0]["screenshot"])
    assert picture.size[0] == 1280
