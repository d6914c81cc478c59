"""The page in headless Chromium: lists, steps, tasks, keys, labels, hostile texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from harness.runs import open_run
from harness.tables import TEST_DATA_NOTE
from reports.errors.labels import import_labels, read_labels
from reports.view import POLICY
from tests.reports.view.conftest import Watched
from tests.reports.view.pages import BOX, HOSTILE, PAGE, SITES, raw

pytestmark = pytest.mark.browser


def _go(tab: Any, route: str) -> None:
    tab.evaluate("route => { location.hash = route }", route)
    _until(tab, "route => location.hash === route", route)
    tab.wait_for_timeout(30)


def _until(tab: Any, condition: str, value: Any = None) -> None:
    """Wait for a condition. Asked from here: the page's policy forbids it to poll by itself."""
    for _ in range(100):
        if tab.evaluate(condition, value):
            return
        tab.wait_for_timeout(30)
    raise AssertionError(f"never true: {condition}")


def _count(tab: Any) -> int:
    return int(tab.locator("#f-count").inner_text().split()[0].replace(",", ""))


def _ids(tab: Any) -> list[str]:
    links = tab.locator("#grid-space a.row").evaluate_all("rows => rows.map(r => r.hash)")
    return [link.split("/")[2].split("?")[0] for link in links]


def _step(tab: Any, step_id: str, run: int = 0) -> None:
    _go(tab, f"#/step/{step_id}" + (f"?run={run}" if run else ""))
    tab.locator(".verdict").wait_for()


def test_every_view_shows_something_and_the_note(watched: Watched) -> None:
    tab = watched.tab
    for route, view, text in (
        ("#/", "summary", "By split"),
        ("#/compare", "compare", "Agreement"),
        ("#/steps", "steps", "12 of 12 steps"),
        ("#/step/T0_1", "step", "Conversation"),
        ("#/task/T1", "task", "2. TYPE"),
        ("#/step/nothing", "step", "No such step"),
        ("#/task/nothing", "task", "No such task"),
    ):
        _go(tab, route)
        shown = tab.locator(f"#view-{view}")
        shown.get_by_text(text).first.wait_for()
        assert tab.locator(".view:visible").count() == 1
        assert tab.locator("footer").inner_text() == TEST_DATA_NOTE
    assert any("/pictures/" in url for url in watched.requests)


@pytest.mark.parametrize(
    ("field", "value", "fits"),
    [
        ("split", "test_task", lambda a, b: a["split"] == "test_task"),
        ("site", SITES[2], lambda a, b: a["website"] == SITES[2]),
        (
            "status",
            "none",
            lambda a, b: _said(a, "status") == "none" or _said(b, "status") == "none",
        ),
        ("result", "right", lambda a, b: _right(a) or _right(b)),
        ("agree", "differ", lambda a, b: _both(a, b) and _right(a) != _right(b)),
        ("agree", "0.1.10", lambda a, b: _both(a, b) and _right(a) and not _right(b)),
    ],
)
def test_filters_agree_with_the_lines(
    tab: Any, runs: list[Path], field: str, value: str, fits: Any
) -> None:
    both = [{row["step_id"]: row for row in raw(run)} for run in runs]
    want = {i for i in both[0] if fits(both[0][i], both[1][i])}
    assert 0 < len(want) < 12
    _go(tab, "#/steps")
    tab.locator(f"#f-{field}").select_option(value=value)
    assert _count(tab) == len(want)
    assert set(_ids(tab)) == want
    assert quote(value.split()[0], safe="")[:6] in tab.evaluate("location.hash")
    tab.locator("#f-clear").click()
    assert _count(tab) == 12


def _said(row: dict[str, Any], name: str) -> Any:
    return row["prediction"] and row["prediction"][name]


def _right(row: dict[str, Any]) -> bool:
    return bool(row["scores"] and row["scores"]["success"])


def _both(*rows: dict[str, Any]) -> bool:
    return all(row["scores"] for row in rows)


def test_classes_are_filtered_by_run_and_linked_from_the_summary(tab: Any) -> None:
    link = tab.locator(".classes tr", has_text="not answered").locator("a")
    want = int(link.inner_text())
    link.click()
    tab.wait_for_function("document.querySelector('#f-class')?.value === 'unanswered'")
    assert tab.locator("#f-lane").input_value() == "1"
    assert _count(tab) == want == 2


def test_search_takes_all_words_and_keeps_them_in_the_address(tab: Any) -> None:
    _go(tab, "#/steps")
    tab.keyboard.press("/")
    tab.keyboard.type("t1_ onerror type")
    assert _ids(tab) == ["T1_1"]
    assert "q=t1_" in tab.evaluate("location.hash")
    tab.reload()
    assert _count(tab) == 1
    tab.locator("#f-q").fill("nothing like it")
    assert "No step fits" in tab.locator("#grid-space").inner_text()


def test_columns_sort_up_down_and_back(tab: Any) -> None:
    _go(tab, "#/steps")
    before = _ids(tab)
    head = tab.get_by_role("columnheader", name="Action")
    head.get_by_role("button").click()
    actions = tab.locator("#grid-space .c-op").all_inner_texts()
    assert actions == sorted(actions, key=lambda text: text.split(":")[0])
    assert head.get_attribute("aria-sort") == "ascending"
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert tab.locator("#grid-space .c-op").first.inner_text().startswith("TYPE")
    head.get_by_role("button").click()
    assert _ids(tab) == before
    tab.get_by_role("columnheader", name="first").get_by_role("button").click()
    assert tab.locator("#grid-space .row").first.locator(".chip").first.inner_text() == "✓\nright"


def test_the_keyboard_goes_everywhere(tab: Any) -> None:
    press = tab.keyboard.press
    press("l")
    tab.locator("#view-steps").wait_for()
    ids = _ids(tab)
    press("j")
    press("ArrowDown")
    press("k")
    assert tab.locator(".row.active").get_attribute("id") == "row-1"
    assert tab.locator("#grid-body").get_attribute("aria-activedescendant") == "row-1"
    press("Enter")
    tab.locator(".verdict").wait_for()
    assert tab.evaluate("location.hash") == f"#/step/{ids[1]}"
    press("j")
    _until(tab, "id => location.hash === '#/step/' + id", ids[2])
    press("]")
    press("[")
    press("r")
    _until(tab, "location.hash.endsWith('?run=1')")
    press("t")
    tab.locator("#view-task .strip img, #view-task .still").first.wait_for()
    press("Escape")
    tab.locator("#view-steps").wait_for()
    press("?")
    assert tab.locator("#help").is_visible()
    press("Escape")
    assert not tab.locator("#help").is_visible()
    press("c")
    tab.locator("#view-compare").wait_for()
    press("s")
    tab.locator("#view-summary").wait_for()


def test_boxes_lie_where_the_page_has_them(tab: Any) -> None:
    _step(tab, "T0_2")
    shot = tab.locator(".shot")
    shot.scroll_into_view_if_needed()
    _until(tab, "document.querySelector('.shot').naturalWidth > 0")
    outer = shot.bounding_box()
    scale = outer["width"] / PAGE[0]
    assert outer["height"] == pytest.approx(PAGE[1] * scale, abs=1.5)
    box = tab.locator(".box.target .line").bounding_box()
    assert box["x"] - outer["x"] == pytest.approx(BOX[0] * scale, abs=3)
    assert box["y"] - outer["y"] == pytest.approx(BOX[1] * scale, abs=3)
    assert box["width"] == pytest.approx(BOX[2] * scale, abs=6)
    assert tab.locator(".box.chosen text").text_content() == "chosen A"
    tab.locator("#show-target").uncheck()
    assert not tab.locator(".box.target .line").is_visible()
    tab.keyboard.press("b")
    assert tab.locator(".box.target .line").is_visible()


def test_a_step_shows_choices_rounds_scores_and_settings(tab: Any, runs: list[Path]) -> None:
    row = next(r for r in raw(runs[0]) if r["step_id"] == "T0_1")
    _step(tab, "T0_1")
    target = tab.locator(".choices li.right")
    assert "◎ target" in target.inner_text()
    assert "➤ chosen" in target.inner_text()
    assert tab.locator(".choices .letter").all_inner_texts() == ["A", "B", "C"]
    assert tab.locator(".round").count() == 2
    assert "Which one?" in tab.locator(".round").nth(1).inner_text()
    thought = tab.locator(".round details")
    assert thought.count() == 1, "the first round has no reasoning on record"
    assert not thought.locator("pre").is_visible()
    tab.get_by_text("reasoning", exact=True).click()
    assert thought.locator("pre").inner_text().startswith("Hm. ")
    scores = tab.locator(".scores").inner_text()
    assert f"Op. F1\n{row['scores']['operation_f1']:.2f}" in scores
    tab.get_by_text("Settings of the run").click()
    assert tab.locator("details.panel tr", has_text="distractors").inner_text().endswith("20")


def test_a_missing_picture_is_said_and_the_rest_is_there(tab: Any) -> None:
    _step(tab, "T3_0")
    assert "No picture: the <shards> were deleted" in tab.locator(".gone").inner_text()
    assert tab.locator(".box.target").count() == 1
    assert tab.locator(".round").count() == 2
    _go(tab, "#/task/T3")
    tab.locator(".still", has_text="no picture").first.wait_for()


def test_labels_are_set_kept_filtered_and_taken_by_the_command(
    tab: Any, runs: list[Path], tmp_path: Path
) -> None:
    _step(tab, "T0_1")
    tab.keyboard.press("1")
    tab.keyboard.press("2")
    pressed = tab.locator(".toggle[aria-pressed=true]")
    pressed.wait_for()
    assert "poor graphical recognition" in pressed.inner_text()
    tab.locator("#label-note").fill("</script> seen twice")
    tab.locator("#label-note").blur()
    assert tab.locator("#label-count").inner_text() == "1"
    tab.reload()
    assert tab.locator("#label-count").inner_text() == "1"
    _go(tab, "#/steps")
    tab.locator("#f-label").select_option(label="with a label")
    assert _ids(tab) == ["T0_1"]
    tab.locator("#export").click()
    with tab.expect_download() as waiting:
        tab.get_by_role("link", name="Save 1 of first").click()
    file = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(file)
    assert file.name == "labels-first.json"
    run = open_run(runs[0])
    try:
        taken = import_labels(run, file.read_bytes())
        assert (taken.imported, taken.problems) == (1, ())
        label = read_labels(run).labels[0]
        assert (label.step_id, label.label) == ("T0_1", "poor graphical recognition")
        assert label.note == "</script> seen twice"
    finally:
        (runs[0] / "labels.jsonl").unlink(missing_ok=True)


@pytest.mark.parametrize("place", range(4))
def test_hostile_texts_are_shown_as_texts(tab: Any, place: int) -> None:
    task, index = divmod(place, 3)
    _step(tab, f"T{task}_{index}")
    visible = HOSTILE[place].split("\u2028")[0]
    for part in (".choices li.right", ".duel", ".round pre"):
        assert visible in tab.locator(part).first.inner_text()
    assert HOSTILE[task].split("\u2028")[0] in tab.locator("#h-step").inner_text()
    assert tab.locator("main script, main iframe, main object").count() == 0
    assert tab.locator("img:not(.shot, .film img, figure img)").count() == 0
    assert "49" not in tab.locator("#h-step").inner_text()
    for route in (f"#/task/T{task}", "#/steps", "#/", "#/compare"):
        _go(tab, route)
    assert tab.locator("#view-compare i, #view-summary i").count() == 0


def test_marks_that_turn_the_text_around_are_spelled_out(tab: Any) -> None:
    _step(tab, "T1_0")
    text = tab.locator(".choices li.right code").inner_text()
    assert "\u202e" not in text
    assert "\\u202edlrow" in text
    assert "\\u001b[31m" in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_on_a_phone(browser: Any, folder: Path, scheme: str) -> None:
    size = {"width": 390, "height": 844}
    context = browser.new_context(viewport=size, color_scheme=scheme)
    watched = Watched(context.new_page(), (folder.as_uri(),))
    for route in ("#/", "#/compare", "#/steps", "#/step/T0_1", "#/task/T0"):
        watched.tab.goto(f"{folder.as_uri()}/index.html{route}")
        watched.tab.wait_for_timeout(80)
        assert watched.tab.evaluate("document.documentElement.scrollWidth") <= 390, route
    context.close()
    assert watched.wrong == []


def test_the_policy_of_the_page_stops_inline_scripts(watched: Watched) -> None:
    watched.tab.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'HACKED = 1';"
        " document.head.append(s); document.body.style.color = ''; }"
    )
    assert watched.tab.evaluate("window.HACKED") is None
    assert len(watched.wrong) == 1
    assert POLICY.split("; ")[1] in watched.wrong.pop()
