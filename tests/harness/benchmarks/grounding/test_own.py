"""Grounding items of one's own, by two files and pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.benchmarks.grounding.own import GroundingItems
from harness.errors import DataError
from parsers.grounding import Target
from tests.harness.benchmarks.grounding._files import png, write, zipped
from tests.harness.commands.tool import call, isolate

SCHEMA = 'name = "tills"\nbox = "xywh-px"\ngroups = ["kind"]\ncluster = "shop"\n'
ITEMS: tuple[dict[str, Any], ...] = (
    {"id": "pay", "box": [10, 10, 20, 20], "labels": {"kind": "button", "shop": "north"}},
    {"id": "map", "polygon": [1, 1, 50, 1, 9, 60], "labels": {"kind": "map", "shop": "north"}},
    {"id": "fax", "absent": True, "labels": {"kind": "button", "shop": "south"}},
)


def folder(place: Path, schema: str = SCHEMA, *items: dict[str, Any]) -> Path:
    lines = [
        {"image": "till.png", "instruction": f"the {one['id']}"} | one for one in items or ITEMS
    ]
    write(place / "grounding.toml", schema)
    write(place / "items.jsonl", "\n".join(map(json.dumps, lines)) + "\n\n")
    write(place / "images" / "till.png", png())
    return place


def test_boxes_polygons_and_absent_targets_are_read(tmp_path: Path) -> None:
    opened = GroundingItems().open(data=folder(tmp_path))
    assert [unit.detail.gold for unit in opened.entries] == [
        Target("box", (10, 10, 30, 30)),
        Target("polygon", (1, 1, 50, 1, 9, 60)),
        Target("absent"),
    ]
    assert [unit.parents["shop"] for unit in opened.entries] == ["north", "north", "south"]
    assert opened.entries[0].labels == {"kind": "button"}
    assert opened.entries[2].detail.asked == "the fax"
    assert opened.pictures(opened.entries[0]) == (png(),)
    declared = opened.declared
    assert declared is not None and declared.clusters == ("shop", "picture")
    assert declared.main.cells == ("kind",) and opened.origin["set"] == "tills"


def test_shares_are_of_the_picture_and_pictures_may_be_zipped(tmp_path: Path) -> None:
    schema = 'name = "x"\nbox = "xyxy-unit"\n'
    place = folder(
        tmp_path,
        schema,
        {"id": "a", "box": [0.1, 0.1, 0.5, 1]},
        {"id": "b", "polygon": [0, 0, 0.5, 0, 0.5, 1]},
    )
    (place / "images" / "till.png").unlink()
    zipped(place / "images.zip", {"images/till.png": png((400, 200))})
    opened = GroundingItems().open(data=tmp_path)
    assert [unit.detail.gold.numbers for unit in opened.entries] == [
        (40, 20, 200, 200),
        (0, 0, 200, 0, 200, 200),
    ]
    assert opened.declared is not None and opened.declared.clusters == ("picture",)


def test_a_zip_file_with_different_pictures_of_one_name_is_refused(tmp_path: Path) -> None:
    place = folder(tmp_path, SCHEMA)
    (place / "images" / "till.png").unlink()
    zipped(place / "images.zip", {"a/till.png": png(), "b/till.png": png()})
    assert len(GroundingItems().open(data=tmp_path).entries) == len(ITEMS)
    zipped(place / "images.zip", {"a/till.png": png(), "b/till.png": png(grey=9)})
    with pytest.raises(DataError, match=r"images.zip has different pictures named till.png"):
        GroundingItems().open(data=tmp_path)
    zipped(place / "images.zip", {"a/till.png": png(grey=9), "till.png": png()})
    opened = GroundingItems().open(data=tmp_path)
    assert opened.pictures(opened.entries[0]) == (png(),)


@pytest.mark.parametrize(
    ("schema", "item", "message"),
    [
        ('name = "x"', {}, "grounding.toml: Object missing required field `box`; box is one of"),
        ('name = "x"\nbox = ', {}, "grounding.toml is not valid TOML: "),
        (SCHEMA, {"labels": {"shop": "n"}}, "items.jsonl, line 1: a has no label 'kind'"),
        (SCHEMA, {"absent": True}, "items.jsonl, line 1: a needs one of box, polygon and absent"),
        (SCHEMA, {"box": None}, "items.jsonl, line 1: a needs one of box, polygon and absent"),
        (SCHEMA, {"box": None, "polygon": [1, 2, 3, 4]}, "line 1: a polygon has three corners"),
        (SCHEMA, {"box": [1, 2, 300, 4]}, "1 item outside the picture by more than 2 px (a: "),
        (SCHEMA, {"image": "other.png"}, "has no picture other.png (looked for in ., images, "),
        (SCHEMA, {"bbox": [1, 2, 3, 4]}, "line 1: Object contains unknown field `bbox`"),
        ('name = "x"\nbox = "xyxy-px"\ngroups = ["A b"]', {}, "'A b' is not a name for a group"),
        (
            'name = "x"\nbox = "xyxy-px"\ngroups = ["status"]',
            {},
            "the group status is named as a column",
        ),
        (SCHEMA, {"image": "a\0.png"}, "'a\\x00.png' is not a picture name within a folder"),
        (SCHEMA, {"box": None, "polygon": [1, 1, 5, 5, 9, 9]}, "1 item without area (a: polygon"),
        (SCHEMA, {"box": None, "polygon": [0.1, 0, 1, 0, 1, 0.5]}, "every box lies within 0 to 1"),
    ],
)
def test_mistakes_are_told_in_one_line(
    tmp_path: Path, schema: str, item: dict[str, Any], message: str
) -> None:
    labels = dict.fromkeys(("kind", "shop", "A b", "status", "hit", "source"), "k")
    folder(tmp_path, schema, {"id": "a", "box": [1, 1, 5, 5], "labels": labels} | item)
    with pytest.raises(DataError) as caught:
        GroundingItems().open(data=tmp_path)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_folder_is_known_by_its_schema_alone_or_among_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder(tmp_path / "own")
    isolate(monkeypatch, tmp_path)
    for place in (tmp_path, tmp_path / "own"):
        checked = call("data", "check", place)
        assert checked.code == 0 and "grounding-items, test: 3 items" in checked.out
        assert "2 shops" in checked.out and "kind: button 2, map 1" in checked.out
    folder(tmp_path / "other")
    assert "several folders (other, own)" in call("data", "check", tmp_path).complaint
    bare = call("run", "-m", "oracle", "-b", "grounding-items")
    assert bare.code == 2 and bare.complaint.endswith("give it with --data")


def test_groups_and_clusters_of_the_schema_reach_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    data = folder(tmp_path / "own")
    line = ("run", "-m", "oracle", "-b", "grounding-items", "--data", data, "-o", "r")
    done = call(*line, "--details")
    assert done.code == 0, done.err
    told = " ".join(done.out.split())
    assert "cells, kind" in told and "with shops as clusters" in told
    assert "Present" in told and "1 of 1 declined" in told
    report = call("report", "r", "--by", "kind")
    assert report.code == 0 and "button" in report.out


def test_the_example_of_the_documentation_is_a_set(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "grounding.md").read_text("utf-8")
    for name in ("grounding.toml", "items.jsonl"):
        write(tmp_path / name, page.split(f' title="{name}"\n')[1].partition("```")[0])
    write(tmp_path / "till.png", png((800, 600)))
    opened = GroundingItems().open(data=tmp_path)
    assert [unit.detail.gold.kind for unit in opened.entries] == ["box", "polygon", "absent"]
    assert opened.declared is not None and opened.declared.clusters == ("shop", "picture")
