"""Every set on made-up files: targets in pixels, labels, pictures, and pairs of splits."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from harness.benchmarks.dataset import Items
from harness.benchmarks.grounding.screenspot import (
    PLATFORMS,
    PRO,
    SCREENSPOT,
    SHOWDOWN,
    V2,
    WEBCLICK,
)
from harness.benchmarks.grounding.systems import (
    MMBENCH_GUI,
    OSWORLD_G,
    SETTINGS,
    UI_VISION,
    VENUSBENCH_GD,
)
from harness.errors import DataError
from parsers.grounding import Target
from tests.harness.benchmarks.grounding import _files as files
from tests.harness.benchmarks.grounding._files import SIZE, png, small, write


def numbers(opened: Items) -> dict[str, tuple[float, ...]]:
    return {unit.unit_id: unit.detail.gold.numbers for unit in opened.entries}


def labels(opened: Items) -> list[dict[str, str]]:
    return [dict(unit.labels) for unit in opened.entries]


def shown(opened: Items) -> list[bytes]:
    return [data for unit in opened.entries for data in opened.pictures(unit)]


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("above", [False, True])
def test_screenspot_pro_in_two_languages(tmp_path: Path, above: bool) -> None:
    folder = files.screenspot_pro(tmp_path)
    whole = small(PRO)
    opened = whole.open(data=tmp_path if above else folder)
    assert numbers(opened) == dict.fromkeys(("word_macos_0", "word_macos_1"), (10, 20, 30, 40))
    first = opened.entries[0]
    assert first.split == "en" and first.goal == first.detail.asked == "press 0"
    assert first.parents == {"picture": "word_mac/0.png", "application": "word"}
    assert first.labels == {"group": "Office", "ui_type": "text", "platform": "macos"}
    assert first.detail.size == SIZE and shown(opened) == [png(), png()]
    assert first.source == "annotations/word_macos.json, word_macos_0"
    chinese = whole.open(data=folder, splits=["cn"])
    assert [unit.detail.asked for unit in chinese.entries] == ["按 0", "按 1"]
    assert numbers(chinese) == numbers(opened) and whole.declared.shared


def test_the_digest_of_a_set_does_not_depend_on_where_it_lies(tmp_path: Path) -> None:
    whole = small(PRO)
    one, other = (whole.open(data=files.screenspot_pro(tmp_path / name)) for name in "ab")
    assert one.digest == other.digest and one.fingerprint == other.fingerprint


@pytest.mark.parametrize("packed", [True, False])
def test_screenspot_v2_has_widths_and_heights_and_pictures_in_a_zip(
    tmp_path: Path, packed: bool
) -> None:
    opened = small(V2).open(data=files.screenspot_v2(tmp_path, packed=packed))
    assert list(numbers(opened).values()) == [(10, 20, 40, 60)] * 3
    assert list(numbers(opened)) == [
        *("screenspot_mobile_v2_0", "screenspot_desktop_v2_0", "screenspot_web_v2_0")
    ]
    assert [one["platform"] for one in labels(opened)] == ["mobile", "desktop", "web"]
    assert {unit.detail.size for unit in opened.entries} == {SIZE}
    assert shown(opened) == [png()] * 3


def test_the_form_of_pro_is_read_where_others_keep_v2_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "screenspot-v2-converted"
    for platform in PLATFORMS:
        row = files.pro_row(0, id=f"screenspot_{platform}_v2_0", group="Dev", ui_type="icon")
        write(folder / f"screenspot_{platform}_v2_convert.json", [row])
    opened = small(V2).open(data=tmp_path)
    assert list(numbers(opened).values()) == [(10, 20, 30, 40)] * 3
    assert labels(opened)[0] == {"platform": "mobile", "data_type": "icon"}
    with pytest.raises(DataError, match=r"has no picture word_mac/0\.png"):
        shown(opened)


def test_sizes_that_rows_lack_are_those_of_the_pictures(tmp_path: Path) -> None:
    folder = files.screenspot_pro(tmp_path)
    row = files.pro_row(0)
    del row["img_size"]
    write(folder / "annotations" / "word_macos.json", [row])
    write(folder / "images" / row["img_filename"], png((300, 200)))
    (unit,) = small(PRO).open(data=folder).entries
    assert unit.detail.size == (300, 200)
    (folder / "images" / row["img_filename"]).unlink()
    with pytest.raises(DataError, match=r"has no picture word_mac/0.png \(looked for in images\)"):
        small(PRO).open(data=folder)


def test_screenspot_on_the_hub_has_shares_and_pictures_in_its_table(tmp_path: Path) -> None:
    def row(source: str, name: str, grey: int) -> dict[str, object]:
        return {
            "file_name": name,
            "bbox": [0.1, 0.2, 0.5, 1.0],
            "instruction": f"open {source}",
            "data_type": "text",
            "data_source": source,
            "image": png(grey=grey),
        }

    rows = [row("ios", "a.png", 1), row("shop", "b.png", 2), row("macos", "c.png", 3)]
    rows += [row("android", "a.png", 1)]
    files.parquet(tmp_path / "screenspot" / "data" / "test.parquet", rows)
    opened = small(SCREENSPOT).open(data=tmp_path)
    assert all(box == pytest.approx((20, 20, 100, 100)) for box in numbers(opened).values())
    assert [unit.unit_id for unit in opened.entries] == [
        *("screenspot_mobile_0", "screenspot_web_0", "screenspot_desktop_0", "screenspot_mobile_1")
    ]
    assert shown(opened) == [png(grey=grey) for grey in (1, 2, 3, 1)]
    again = small(SCREENSPOT).open(data=tmp_path)
    assert again.digest == opened.digest and shown(again) == shown(opened)


def test_screenspot_as_its_authors_keep_it_has_pixels(tmp_path: Path) -> None:
    folder = files.screenspot_v2(tmp_path, packed=False)
    for platform in PLATFORMS:
        name = f"screenspot_{platform}"
        (folder / f"{name}_v2.json").rename(folder / f"{name}.json")
    (folder / "screenspotv2_image").rename(folder / "screenspot_imgs")
    opened = small(SCREENSPOT).open(data=folder)
    assert list(numbers(opened).items())[2] == ("screenspot_web_0", (10, 20, 40, 60))
    assert shown(opened) == [png()] * 3
    assert SCREENSPOT.declared.main.averages == ("cells", "micro")
    assert V2.declared.main.averages == ("micro", "cells")


def test_equal_pictures_of_webclick_are_one_picture(tmp_path: Path) -> None:
    buckets = (("agentbrowse", 1), ("calendars", 2), ("humanbrowse", 1))
    rows = [
        {"image": png(grey=grey), "instruction": name, "bbox": [0, 0.5, 0.5, 1], "bucket": name}
        for name, grey in buckets
    ]
    files.parquet(tmp_path / "webclick" / "test-00000-of-00001.parquet", rows)
    opened = small(WEBCLICK).open(data=tmp_path)
    assert [one["bucket"] for one in labels(opened)] == [name for name, _ in buckets]
    assert set(numbers(opened).values()) == {(0, 50, 100, 100)}
    pictures = [unit.parents["picture"] for unit in opened.entries]
    assert pictures[0] == pictures[2] != pictures[1]
    assert shown(opened) == [png(grey=grey) for _, grey in buckets]


def test_osworld_g_has_polygons_refusals_classes_and_paired_splits(tmp_path: Path) -> None:
    folder = files.osworld_g(tmp_path)
    whole = small(OSWORLD_G)
    opened, refined = (whole.open(data=folder, splits=[split]) for split in whole.splits)
    assert [unit.detail.gold for unit in opened.entries] == [
        Target("box", (10.5, 20.25, 40.5, 60.25)),
        Target("polygon", (10, 10, 60, 10, 60, 60, 10, 60)),
        Target("absent"),
    ]
    assert [unit.detail.classes for unit in opened.entries] == [
        ("fine_grained", "text_matching"),
        ("fine_grained",),
        ("refusal",),
    ]
    assert numbers(refined) == numbers(opened) and whole.declared.shared
    assert refined.entries[0].detail.asked == "what is bbox, in other words"
    assert whole.open(data=folder).entries == opened.entries
    with pytest.raises(DataError, match="'original' and 'refined': ask about one split at a time"):
        whole.open(data=folder, splits=["original", "refined"])


def test_mmbench_gui_has_shares_with_minus_one_for_nothing(tmp_path: Path) -> None:
    row: dict[str, Any] = {
        "index": 7,
        "image_path": "x.png",
        "platform": "os_mac",
        "instruction": "quit",
        "bbox": [-1, 0.5, 0.25, 1],
        "data_type": "icon",
        "grounding_type": "basic",
        "image_size": list(SIZE),
    }
    folder = tmp_path / "mmbench-gui-l2"
    write(folder / "L2_annotations.json", [row, row | {"grounding_type": "advanced"}])
    files.zipped(
        folder / "MMBench-GUI-OfflineImages.zip",
        {"os_web/x.png": b"", "offline/offline_images/os_mac/x.png": png()},
    )
    opened = small(MMBENCH_GUI).open(data=folder)
    assert set(numbers(opened).values()) == {(0, 50, 50, 100)}
    assert shown(opened) == [png()] * 2
    assert labels(opened)[1] == {
        "grounding_type": "advanced",
        "platform": "mac",
        "data_type": "icon",
    }
    assert any("never pool" in remark for remark in opened.remarks)
    assert MMBENCH_GUI.declared.main.averages == ("cells", "micro")


def test_ui_vision_turns_corners_round_and_knows_boxes_that_leave_the_picture(
    tmp_path: Path,
) -> None:
    for number, setting in enumerate(SETTINGS):
        row = {
            "image_path": "gimp/x.png",
            "image_size": list(SIZE),
            "prompt_to_evaluate": f"find {number}",
            "bbox": [30.5, 40, 10, 20] if setting == "basic" else [10, 20, 230, 40],
            "platform": "gimp",
            "category": "creativity",
        }
        name = f"annotations/element_grounding/element_grounding_{setting}.json"
        write(tmp_path / "ui-vision" / name, [row])
    whole = small(UI_VISION)
    opened = whole.open(data=tmp_path)
    assert numbers(opened)["basic_0"] == (10, 20, 30.5, 40)
    assert opened.entries[2].labels["setting"] == "spatial"
    assert opened.entries[0].parents["application"] == "gimp"
    (notice,) = opened.notices
    assert notice.startswith("2 items outside the picture by more than 2 px (functional_0: box")
    with pytest.raises(DataError, match="are boxes of ui-vision stored in another convention"):
        small(UI_VISION, known={"outside": 1}).open(data=tmp_path)


@pytest.mark.parametrize("recorded", [True, False])
def test_showdown_is_a_table_of_clicks(tmp_path: Path, recorded: bool) -> None:
    out = io.StringIO()
    row = {"id": "u1", "image": "frames/1.webp", "instruction": "close, then quit"}
    row |= dict(zip(("x1", "y1", "x2", "y2"), ["1", "2.5", "30", "40"], strict=True))
    row |= {"width": "200", "height": "100"} | ({"recording_id": "r9"} if recorded else {})
    table = csv.DictWriter(out, row)
    table.writeheader()
    table.writerow(row)
    write(tmp_path / "showdown-clicks" / "showdown-clicks-dev" / "data.csv", out.getvalue())
    write(tmp_path / "showdown-clicks" / "showdown-clicks-dev" / "frames" / "1.webp", png())
    opened = small(SHOWDOWN).open(data=tmp_path)
    (unit,) = opened.entries
    assert unit.detail.gold.numbers == (1, 2.5, 30, 40) and unit.split == "dev"
    assert unit.parents["recording"] == ("r9" if recorded else "frames/1.webp")
    assert shown(opened) == [png()]


def test_venusbench_gd_has_refusals_as_absent_targets_and_tasks_under_one_name(
    tmp_path: Path,
) -> None:
    row = {"img_filename": "web/shop/0.png", "instruction": "pay", "instruction_zh": "付款"}
    tasks = {"element_grounding": [10, 20, 30, 40], "reason_grounding": [1, 2, 3, 4]}
    for task, box in {**tasks, "refusal_spatial": [-1, -1, -1, -1]}.items():
        content = json.dumps([{**row, "bbox": box, "category": task, "label": "x"}])
        write(tmp_path / "venusbench-gd" / "instruction" / f"{task}.json", content)
    write(tmp_path / "venusbench-gd" / "images" / "web" / "shop" / "0.png", png())
    whole = small(VENUSBENCH_GD)
    opened = whole.open(data=tmp_path)
    assert numbers(opened) == {
        "element_grounding_0": (10, 20, 30, 40),
        "reasoning_grounding_0": (1, 2, 3, 4),
        "refusal_grounding_0": (),
    }
    categories = ["element_grounding", "reasoning_grounding", "refusal_grounding"]
    assert [one["category"] for one in labels(opened)] == categories
    assert {unit.parents["application"] for unit in opened.entries} == {"web/shop"}
    assert shown(opened) == [png()] * 3 and opened.entries[2].detail.gold == Target("absent")
    chinese = whole.open(data=tmp_path, splits=["cn"])
    assert [unit.detail.asked for unit in chinese.entries] == ["付款"] * 3
    with pytest.raises(DataError, match=r"3 items where 6,166 are published"):
        VENUSBENCH_GD.open(data=tmp_path)
    write(
        tmp_path / "venusbench-gd" / "instruction" / "x.json",
        json.dumps([{**row, "img_filename": "0.png", "bbox": [1, 2, 3, 4]}]),
    )
    with pytest.raises(DataError, match=r"x.json, row 1: '0.png' is in no folder"):
        whole.open(data=tmp_path)
