"""Episodes on the page: a film strip whose pictures are blobs, and whose texts are hostile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.runs import open_run
from reports.kinds.episode import EpisodePage
from tests.reports.kinds.episode.worlds import EPISODES, WIDE, Played, button, click, forms, point
from tests.reports.view.conftest import Watched
from tests.reports.view.pages import HOSTILE, detail, page

LONG = Played(
    [click(n % 3) if n % 2 else point(n % 3, WIDE) for n in range(12)], "solved", 1.0, WIDE
)


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("films")
    page([forms(root / "forms", (*EPISODES, LONG))], root / "page")
    return root / "page"


def test_a_frame_has_what_was_seen_what_was_done_and_what_came_of_it(films: Path) -> None:
    first, second, end = detail(films, 0)["strip"]
    box = list(button((320, 420), 1)[0])
    assert (first["head"], first["goal"], second["goal"]) == ("1", "Form form-0/0", "")
    assert first["boxes"] == [["chosen", box, "TYPE: Ohio"]]
    assert first["action"] == "[button]  Choice 1 -> TYPE" and "Because" in first["said"]
    assert second["point"] == list(point(2).point or ()) and second["mark"] == "CLICK"
    assert (end["head"], end["after"]) == ("end", "reward 1, ended: solved")
    idle = detail(films, 1)["strip"][1]
    assert (idle["action"], idle["after"], idle["failed"]) == ("", "no action", True)
    assert idle["said"] == HOSTILE[0]
    lost = [one["after"] for one in detail(films, 6)["strip"]]
    assert lost == ["", "the environment failed: timeout: no observation", ""]
    failed = detail(films, 7)["strip"][0]
    assert failed["after"] == f"failed: {HOSTILE[2]}" and failed["failed"]


def test_a_mark_is_short_whatever_was_typed(tmp_path: Path) -> None:
    typed = Played([click(1, "\x00\x1b[31m" + "x" * 99), click(2)], "solved", 1.0)
    run = open_run(forms(tmp_path / "run", [typed]))
    (record,) = run.records()
    first = EpisodePage().part(record, run.calls_of(record.unit_id, 0)).strip[0]
    assert first.boxes[0].text == "TYPE: ��[31mxxxxxxxxxxx…"


def test_what_the_model_was_sent_of_every_turn_is_there(films: Path) -> None:
    rounds = detail(films, 8)["rounds"]
    sent = [
        part[2]
        for one in rounds
        for _, parts in one["messages"]
        for part in parts
        if part[0] == "picture"
    ]
    assert len(set(sent)) == 12
    assert all((films / "pictures" / name).exists() for name in sent)


def test_without_blobs_there_are_actions_and_scores(tmp_path: Path) -> None:
    made = page([forms(tmp_path / "bare", blobs=False)], tmp_path / "page")
    assert made == f"{len(EPISODES)} episodes"
    shown = detail(tmp_path / "page", 0)
    assert [frame["picture"] for frame in shown["strip"]] == [[], [], []]
    assert shown["strip"][0]["boxes"] and shown["strip"][0]["size"] == [320, 420]
    assert shown["scores"][0][:2] == ["Success", 1.0]


@pytest.fixture
def tab(films: Path, browser: Any) -> Iterator[Any]:
    watched = Watched(browser.new_page(), (films.as_uri(),))
    watched.tab.goto(f"{films.as_uri()}/index.html")
    yield watched.tab
    hacked = watched.tab.evaluate("window.HACKED")
    watched.tab.close()
    assert hacked is None
    assert watched.wrong == []


def _go(tab: Any, unit: str) -> None:
    tab.evaluate("route => { location.hash = route }", f"#/step/{unit.replace('/', '%2F')}")
    tab.locator(f".stephead:has-text('{unit}')").wait_for()
    tab.locator(".episode .frame-of").first.wait_for()


@pytest.mark.browser
def test_the_strip_shows_every_turn_with_its_action_on_the_picture(tab: Any) -> None:
    _go(tab, "form-0/0")
    assert tab.locator(".episode h3").all_inner_texts() == ["1", "2", "end"]
    picture = tab.locator(".frame-of .sheet").first.bounding_box()
    mark = tab.locator(".frame-of .box.chosen .line").first.bounding_box()
    x, y, width, _ = button((320, 420), 1)[0]
    scale = picture["width"] / 320
    middle = mark["x"] + mark["width"] / 2 - picture["x"]
    assert middle == pytest.approx((x + width / 2) * scale, abs=2)
    assert mark["y"] - picture["y"] == pytest.approx(y * scale, abs=6)
    assert "TYPE: Ohio" in tab.locator(".frame-of text").first.text_content()
    assert "[button] Choice 1 -> TYPE" in tab.locator(".frame-of").first.inner_text()
    assert "reward 1, ended: solved" in tab.locator(".frame-of").last.inner_text()
    assert tab.locator(".panel.picture").count() == 0


@pytest.mark.browser
def test_a_frame_is_enlarged_by_a_click(tab: Any) -> None:
    _go(tab, "form-4/0")
    assert tab.locator(".episode .frame-of").count() == 13
    across = tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert across, "many steps wrap"
    shown = tab.locator(".frame-of .sheet").first
    small = shown.bounding_box()["width"]
    tab.locator(".enlarge").first.click()
    assert shown.bounding_box()["width"] > 1.5 * small
    assert tab.locator(".enlarge").first.get_attribute("aria-pressed") == "true"


@pytest.mark.browser
def test_texts_of_pages_and_models_stay_texts(tab: Any) -> None:
    _go(tab, "form-0/1")
    assert HOSTILE[0] in tab.locator(".frame-of").nth(1).inner_text().replace("\n", "")
    _go(tab, "form-3/1")
    assert HOSTILE[2].split("{{")[0].strip() in tab.locator(".frame-of .warn").inner_text()
    assert HOSTILE[1] in tab.locator(".duel").inner_text()
    tab.evaluate("location.hash = '#/steps'")
    tab.locator(".row").first.wait_for()
    answers = tab.locator(".row .c-answer").all_inner_texts()
    assert answers[:3] == ["2 steps: solved", "3 steps: wrong button", "4 steps: step limit"]
    chips = tab.locator(".row .l0 .chip-text").all_inner_texts()
    assert chips[6] == "environment failed"
