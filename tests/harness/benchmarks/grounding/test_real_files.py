"""The real annotations: counts as published, and every known exception by its name."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from harness.benchmarks import open_benchmark
from harness.errors import DataError
from tests.harness.benchmarks._files import shared_data
from tests.harness.commands.tool import call, isolate


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = shared_data("grounding")
    isolate(monkeypatch, tmp_path)
    return folder


def test_screenspot_pro_has_its_published_counts(data: Path) -> None:
    for split in ("en", "cn"):
        opened = open_benchmark("screenspot-pro", data=data, splits=[split])
        units = opened.entries
        assert len(units) == len({unit.parents["picture"] for unit in units}) == 1581
        assert len({unit.parents["application"] for unit in units}) == 26
        assert Counter(unit.labels["group"] for unit in units) == {
            "Creative": 341,
            "Dev": 299,
            "CAD": 261,
            "Scientific": 254,
            "Office": 230,
            "OS": 196,
        }
        assert Counter(unit.labels["ui_type"] for unit in units) == {"text": 977, "icon": 604}
        assert not opened.notices


def test_targets_and_sizes_are_those_that_the_files_hold(data: Path) -> None:
    stored = {
        row["id"]: row
        for path in (data / "screenspot-pro" / "annotations").glob("*.json")
        for row in json.loads(path.read_text("utf-8"))
    }
    for unit in open_benchmark("screenspot-pro", data=data).entries:
        row = stored.pop(unit.unit_id)
        assert unit.detail.gold.numbers == tuple(row["bbox"])
        assert unit.detail.size == tuple(row["img_size"])
        assert unit.detail.asked == row["instruction"]
    assert not stored


def test_screenspot_v2_has_its_published_cells_and_pictures(data: Path) -> None:
    units = open_benchmark("screenspot-v2", data=data).entries
    assert len({unit.parents["picture"] for unit in units}) == 730
    cells = Counter((unit.labels["platform"], unit.labels["data_type"]) for unit in units)
    assert cells == {
        ("mobile", "text"): 290,
        ("mobile", "icon"): 211,
        ("desktop", "text"): 194,
        ("desktop", "icon"): 140,
        ("web", "text"): 234,
        ("web", "icon"): 203,
    }


@pytest.mark.parametrize("split", ["original", "refined"])
def test_osworld_g_without_polygons_and_refusals_is_never_scored(data: Path, split: str) -> None:
    with pytest.raises(DataError, match="its 40 polygons and 54 refusals are lost"):
        open_benchmark("osworld-g", data=data / "osworld-g-converted", splits=[split])


def test_data_check_names_counts_exceptions_and_digests(data: Path) -> None:
    checked = call("data", "check", data)
    assert checked.code == 2 and not checked.err
    assert "screenspot-pro, en: 1,581 items" in checked.out
    assert "screenspot-pro, cn: 1,581 items" in checked.out
    assert "(inventor_windows_60: box (135, -1, 151, 19) on 3840x1080)" in checked.out
    assert "screenspot_mobile_v2_449: box (645, 625, 2361, 1590) on 2360x1640" in checked.out
    assert "3 items around the point (0, 0)" in checked.out
    assert "1 item asking what another one asks (screenspot_web_v2_186: 'open the menu'" in (
        checked.out
    )
    assert "mobile text 290" in checked.out and "26 applications" in checked.out
    assert "osworld-g: error: " in checked.out and "are lost: clone https://" in checked.out
    sums = (data / "SHA256SUMS").read_text("utf-8").split()
    stored = {name: digest for digest, name in zip(sums[::2], sums[1::2], strict=True)}
    for name, digest in stored.items():
        if "screenspot-pro/" in name or "screenspot-v2" in name:
            assert digest in checked.out, name
    alone = call("data", "check", data / "screenspot-v2-converted")
    assert alone.code == 0 and "screenspot-v2, test: 1,272 items" in alone.out
    lost = call("data", "check", data / "osworld-g-converted")
    assert lost.code == 2 and lost.complaint.endswith("--data")


def test_a_run_that_lacks_the_pictures_leaves_nothing_behind(data: Path) -> None:
    some = ("--benchmark", "screenspot-pro", "--data", data, "--limit", "3", "-o", "r")
    asked = call("run", "-m", "oracle", *some)
    assert asked.code == 2 and "has no picture android_studio_mac/" in asked.err.splitlines()[-1]
    assert not Path("r").exists()
    assert call("data", "list", *some[:4], "--only", "application=word", "--limit", "3").code == 0
