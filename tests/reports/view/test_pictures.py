"""The pictures of the page: screenshots, what was sent of them, and pages written again."""

from __future__ import annotations

import io
import threading
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import reports.view.serving as serve
from adapters.conversation import Picture
from harness.pictures import PicturePolicy, imaging, plan, read_size
from harness.pictures.recipe import Recipe
from harness.runs import DataGone, RunDirectory, StepUnit
from harness.runs.pictures import made_again, sent_picture
from reports.view.write import RunsPage
from tests.reports.runs import setup, write
from tests.reports.view.conftest import Watched
from tests.reports.view.pages import PAGE, PICTURE, detail, page, records, sheets

TILES = PicturePolicy("tiles", tile_height=800, tile_overlap=0)
WHOLE = PicturePolicy("full", pixels=10_000_000)
SMALL = PicturePolicy("full", pixels=100_000)


@pytest.fixture(autouse=True)
def data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.runs.run.RESOLVER", "tests.reports.view.pages:step_data")


def shown(policy: PicturePolicy) -> tuple[Picture, ...]:
    return plan(policy, read_size(PICTURE))


def run_with(path: Path, policy: PicturePolicy, tasks: int = 1) -> Path:
    return write(path, [replace(one, pictures=shown(policy)) for one in records("+", tasks)])


def screenshots(out: Path) -> set[tuple[Any, ...]]:
    return {tuple(row[11]) for row in sheets(out)[0]["steps"]}


def test_what_was_sent_is_kept_byte_for_byte_beside_the_screenshot(tmp_path: Path) -> None:
    page([run_with(tmp_path / "run", TILES)], tmp_path / "page")
    sent = detail(tmp_path / "page", 0)["sent"]
    assert [part for _, part in sent] == [
        [0, 0, 1280, 800],
        [0, 800, 1280, 1600],
        [0, 1200, 1280, 2000],
    ]
    for (name, _), picture in zip(sent, shown(TILES), strict=True):
        expected, _ = imaging.prepare(PICTURE, Recipe.parse(picture.recipe))
        assert (tmp_path / "page" / "pictures" / name).read_bytes() == expected
    # Three steps share one screenshot, which is written once and downscaled.
    ((name, width, height),) = screenshots(tmp_path / "page")
    assert (width, height) == (800, 1250)
    files = {file.name for file in (tmp_path / "page" / "pictures").iterdir()}
    assert files == {name, *(name for name, _ in sent)}


def test_a_picture_of_the_whole_page_stands_for_the_screenshot(tmp_path: Path) -> None:
    page([run_with(tmp_path / "run", WHOLE)], tmp_path / "page")
    ((name, *size),) = screenshots(tmp_path / "page")
    assert tuple(size) == PAGE
    assert [file.name for file in (tmp_path / "page" / "pictures").iterdir()] == [name]


def test_a_picture_that_is_too_small_to_read_does_not(tmp_path: Path) -> None:
    page([run_with(tmp_path / "run", SMALL)], tmp_path / "page")
    assert {size[1:] for size in screenshots(tmp_path / "page")} == {(800, 1250)}


def test_a_picture_is_made_again_from_its_own_screenshot_only() -> None:
    (picture,) = shown(SMALL)
    with Image.open(io.BytesIO(made_again(picture, PICTURE))) as image:
        assert image.size == (picture.width, picture.height)
    with pytest.raises(DataGone, match="another screenshot"):
        made_again(picture, PICTURE + b"!")
    with pytest.raises(DataGone, match="cannot be made again"):
        made_again(replace(picture, digest=sha256(b"no").hexdigest()), b"no")
    assert sent_picture(replace(picture, recipe="../../etc/passwd")) is None


def test_names_of_files_hold_nothing_of_what_is_on_record() -> None:
    for picture in shown(TILES):
        sent = sent_picture(replace(picture, digest="../" * 9))
        assert sent is not None
        assert set(sent.name) <= set("0123456789abcdef.jpng")


def going_on(path: Path, steps: list[StepUnit], *, complete: bool = False) -> None:
    with RunDirectory.start(path, setup()) as run:
        for one in steps:
            run.append_step(one)
        if complete:
            run.finish({}, complete=True)


def test_a_page_written_again_keeps_the_scripts_of_its_steps(tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "page"
    steps = [replace(one, pictures=shown(TILES)) for one in records("+-~", 3)]
    going_on(run, steps[5:])
    made = RunsPage([run], out, follow=True)
    assert made.write() == "4 steps"
    assert not made.outdated
    before = {row[0]: row[13] for row in sheets(out)[0]["steps"]}
    stamp = sheets(out)[0]["stamp"]
    assert stamp

    going_on(run, steps[:5])
    assert made.outdated
    assert made.write() == "9 steps"
    after = {row[0]: row[13] for row in sheets(out)[0]["steps"]}
    assert {step: after[step] for step in before} == before
    assert sorted(after.values()) == list(range(9))
    assert sheets(out)[0]["stamp"] > stamp
    assert not list(out.rglob("*.new"))

    going_on(run, [], complete=True)
    made.write()
    assert sheets(out)[0]["stamp"] == ""  # The last: nobody has to ask any more.


@pytest.mark.browser
def test_a_served_page_says_that_its_run_has_gone_on(browser: Any, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "page"
    steps = records("+-~", 2)
    going_on(run, steps[:2])
    made = RunsPage([run], out, follow=True)
    made.write()
    with serve.server(made, 0) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        try:
            address = f"http://127.0.0.1:{serving.server_address[1]}/"
            watched = Watched(browser.new_page(), (address,))
            watched.tab.clock.install()
            watched.tab.goto(f"{address}index.html#/steps")
            watched.tab.locator("#grid-space .row").first.wait_for()
            assert watched.tab.locator("#f-count").inner_text() == "2 of 2 steps"
            going_on(run, steps[2:])
            watched.tab.clock.run_for(6000)
            watched.tab.get_by_role("button", name="Show it").click()
            watched.tab.locator("#row-5").wait_for()
            assert watched.tab.locator("#f-count").inner_text() == "6 of 6 steps"
        finally:
            serving.shutdown()
            thread.join()
    assert watched.wrong == []
