"""The page of grounding runs: polygons, cuts in full resolution, whole pictures when served."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from adapters.registry import Entry
from harness.benchmarks import BENCHMARKS, lookup
from harness.runs import open_run
from reports.kinds.grounding import LARGEST, GroundingPage
from reports.view.write import RunsPage
from tests.grounding import SIZES, Screens
from tests.harness.commands.tool import call, isolate
from tests.reports.view.conftest import Watched


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """The oracle and the middle of every picture, on five items with a polygon."""
    root = tmp_path_factory.mktemp("grounding")
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, root)
        patch.setitem(BENCHMARKS._entries, "screens", Entry("", Screens))
        for policy in ("oracle", "centre"):
            done = call("run", "-m", policy, "-b", "screens", "-o", str(root / policy))
            assert done.code == 0, done.err
        yield [root / "oracle", root / "centre"]


@pytest.fixture(scope="module")
def folder(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "view"
    RunsPage(runs, out).write()
    return out


def _details(folder: Path) -> dict[str, list[Any]]:
    """What the page has of each item, by run."""
    lines = (folder / "data" / "steps.js").read_text("ascii").splitlines()
    sheet = json.loads(next(line[9:-2] for line in lines if line.startswith("VLM.load(")))
    found = {}
    for row in sheet["steps"]:
        text = (folder / "data" / f"step-{row[-1]}.js").read_text("ascii")
        added = [line[8:-2] for line in text.splitlines() if line.startswith("VLM.add(")]
        found[row[0]] = [json.loads(f"[{one}]")[2] for one in added]
    return found


def test_targets_are_drawn_as_they_are(folder: Path) -> None:
    details = _details(folder)
    (oracle, centre) = details["map"]
    assert oracle["boxes"] == [
        [
            *("target", [90.0, 100.0, 210.0, 300.0], "target"),
            [[100.0, 100.0], [300.0, 120.0], [280.0, 400.0], [90.0, 380.0]],
        ]
    ]
    assert details["search"][0]["boxes"] == [["target", [1400.0, 330.0, 64.0, 20.0], "target"]]
    assert details["gone"][0]["boxes"] == []
    assert (oracle["page"], oracle["actual"]) == ([600, 1000], True)
    assert centre["point"] == [300.0, 500.0]
    assert centre["lines"][0] == [
        "point",
        [["polygon (100, 100, 300, 120, 280, 400, 90, 380)", ""], ["300.0, 500.0", ""]],
        False,
    ]


def test_the_folder_holds_the_target_and_the_point_in_full_resolution(
    runs: list[Path], folder: Path
) -> None:
    records = {one.unit_id: one for one in open_run(runs[1]).records()}
    # The middle is far from the search field and the menu, and near the edge of the map.
    cuts = {name: len(GroundingPage().part(one, []).cuts or ()) for name, one in records.items()}
    assert [cuts[name] for name in ("map", "search", "menu", "gone")] == [1, 2, 2, 1]
    for name, (_, centre) in _details(folder).items():
        said, size = records[name].prediction, records[name].detail.size
        assert said is not None and (point := said.point) is not None
        assert any(a <= point[0] < c and b <= point[1] < d for _, (a, b, c, d) in centre["sent"])
        for file, (left, top, right, bottom) in centre["sent"]:
            with Image.open(folder / "pictures" / file) as cut:
                assert cut.size == (right - left, bottom - top)
            assert 0 <= left < right <= size[0] and 0 <= top < bottom <= size[1]
            assert max(right - left, bottom - top) <= LARGEST + 1
    # Two pictures small, and a few cuts: no picture whole.
    widths = []
    for path in (folder / "pictures").iterdir():
        with Image.open(path) as picture:
            widths.append(picture.width)
    assert max(widths) <= LARGEST + 1 < SIZES["wide"][0]


def test_without_the_data_marks_stand_on_an_empty_page(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(BENCHMARKS._entries, "screens")
    lookup._opened.cache_clear()
    warned: list[str] = []
    RunsPage(runs, tmp_path / "page", warn=warned.append).write()
    assert len(warned) == 1 and warned[0].startswith("5 items without a picture")
    assert _details(tmp_path / "page")["map"][0]["boxes"]


@pytest.fixture
def open_page(folder: Path, browser: Any) -> Iterator[Any]:
    watched = Watched(browser.new_page(), (folder.as_uri(),))
    watched.tab.goto(f"{folder.as_uri()}/index.html")
    yield watched.tab
    watched.tab.close()
    assert watched.wrong == []


@pytest.mark.browser
def test_the_picture_is_enlarged_to_its_own_resolution(open_page: Any) -> None:
    tab = open_page
    tab.evaluate("location.hash = '#/step/map?run=1'")
    tab.locator(".overlay polygon.line").wait_for()
    assert tab.locator(".overlay circle.line").count() == 1
    assert tab.locator(".key.distractor").count() == 0
    tab.locator("#zoom").click()
    assert tab.locator(".sheet").evaluate("one => one.clientWidth") == SIZES["tall"][0]
    assert tab.locator(".sent").count() >= 1
    part = tab.locator(".sent").first.evaluate("one => one.clientWidth / one.naturalWidth")
    assert part == pytest.approx(1, abs=0.02)
    # Marks keep their size on the screen.
    assert float(tab.locator(".overlay circle.line").get_attribute("r")) == pytest.approx(40 / 3)
