"""Units of other kinds than recorded steps: in terms of their benchmark, and never as HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.view.detail import LONGEST, as_json
from reports.view.write import call, note
from tests.reports.view.conftest import Watched
from tests.reports.view.pages import HOSTILE, page, sheets, two_runs
from tests.reports.view.signs import IOU, signs

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text() | st.sampled_from(HOSTILE),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text() | st.sampled_from((*HOSTILE, "__proto__")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON)
def test_a_detail_on_record_becomes_a_script_without_a_sign_of_html(value: Any) -> None:
    text = call("VLM.add", 0, 0, ["\ud800", as_json(value)]) + note("--> <!-- \u2028")
    assert text.isascii()
    assert not set("<>&\r") & set(text) and text.count("\n") == 1
    assert json.loads(json.loads(f"[{text[8 : text.rindex(');')]}]")[2][1]) == value


def test_what_is_very_long_is_cut_and_says_so() -> None:
    assert as_json(["x" * LONGEST]).endswith("\n… 8 more characters")


def test_every_benchmark_is_told_in_its_own_terms(tmp_path: Path) -> None:
    steps, _ = two_runs(tmp_path / "steps")
    one, other = signs(tmp_path / "one"), signs(tmp_path / "other", head="Overlap")
    made = page([one, steps, other], tmp_path / "page")
    assert made == "22 signs and steps"
    first, second, third = sheets(tmp_path / "page")
    assert [sheet["terms"]["units"] for sheet in (first, second, third)] == [
        "signs",
        "steps",
        "signs",
    ]
    assert first["terms"]["main"] == ["iou", "IoU", False]
    assert third["terms"]["main"][1] == "Overlap"
    heads = [fact[1] for fact in first["terms"]["facts"]]
    assert heads == ["Town", "Street", "Shape"]
    assert [len(sheet["lanes"]) for sheet in (first, second, third)] == [1, 1, 1]
    # The same ids stand for other units on other sheets.
    scripts = [row[-1] for sheet in (first, third) for row in sheet["steps"]]
    assert len(set(scripts)) == 10
    by_id = {row[0]: row[-2][0] for row in first["steps"]}
    words = first["words"]
    assert [by_id[f"sign-{n}"][4:] for n in range(4)] == [
        [iou, None if n == 0 else float(bool(iou))] for n, iou in enumerate(IOU[:4])
    ]
    assert [words[by_id[f"sign-{n}"][0]] for n in (0, 4)] == ["scored", "open"]


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with recorded steps, and with two runs of signs."""
    root = tmp_path_factory.mktemp("kinds")
    steps, _ = two_runs(root / "steps")
    runs = [steps, signs(root / "one"), signs(root / "other", 4)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.runs.run.RESOLVER", "tests.reports.view.pages:step_data")
        page(runs, root / "page")
    return root / "page"


@pytest.fixture
def open_page(kinds: Path, browser: Any) -> Iterator[Any]:
    watched = Watched(browser.new_page(), (kinds.as_uri(),))
    watched.tab.goto(f"{kinds.as_uri()}/index.html")
    yield watched.tab
    hacked = watched.tab.evaluate("window.HACKED")
    watched.tab.close()
    assert hacked is None
    assert watched.wrong == []


def _go(tab: Any, route: str, shown: str) -> None:
    tab.evaluate("route => { location.hash = route }", route)
    tab.locator(shown).first.wait_for()


@pytest.mark.browser
def test_the_list_has_the_columns_and_filters_that_are_declared(open_page: Any) -> None:
    tab = open_page
    _go(tab, "#/steps?sheet=1", "#sheets [aria-current]:has-text('road-signs')")
    heads = tab.get_by_role("columnheader").all_inner_texts()
    assert heads == ["Split", "Town", "Street", "Goal", "Sign", "Shape", "one", "other"]
    tab.locator("[id='f-m.iou']").select_option(value="ge0.5")
    assert tab.locator("#f-count").inner_text() == "2 of 5 signs"
    assert "m.iou=ge0.5" in tab.evaluate("location.hash")
    assert tab.locator(".row .l0").all_inner_texts() == ["✓\n1.00", "◐\n0.60"]
    tab.locator("#f-clear").click()
    assert tab.locator("#f-count").inner_text() == "5 of 5 signs"
    tab.get_by_role("columnheader", name="one").get_by_role("button").click()
    chips = tab.locator(".row .l0 .chip-text").all_inner_texts()
    assert chips == ["0.00", "0.25", "0.60", "1.00", "not answered"]
    tab.locator("#sheets a").first.click()
    tab.locator("#f-op").wait_for()
    assert tab.locator("#f-count").inner_text() == "12 of 12 steps"
    assert tab.locator("#f-shape").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("number", range(4))
def test_a_unit_of_any_kind_is_shown_as_texts(open_page: Any, number: int) -> None:
    tab, text = open_page, HOSTILE[number].split("\u2028")[0]
    _go(tab, f"#/step/sign-{number}?sheet=1", ".verdict")
    for part in ("#h-step", ".duel", ".round pre"):
        assert text in tab.locator(part).first.inner_text()
    assert tab.locator("main script, main iframe, main object, #view-step b b").count() == 0
    assert "Town: <b>Ulm</b>" in tab.locator(".stephead").inner_text()
    # Nothing empty: where there is no picture there is no panel for one.
    assert tab.locator(".panel.picture").count() == number % 2
    assert tab.locator(".choices").count() == 0
    scores = tab.locator(".scores").inner_text()
    assert f"IoU\n{IOU[number]:.2f}" in scores
    assert ("Name" in scores) == (number != 0)
    roles = tab.locator(".roles tbody tr").all_inner_texts()
    assert roles[0].split("\t") == ["planner", "1", "7", "3", "$0.25000"]
    assert roles[2].split("\t") == ["the model under test", "1", "10", "2", "$0.50000"]
    assert tab.locator(".round").count() == 4
    assert tab.locator(".round .seen").count() == 1
    assert "[log, not shown]" in tab.locator(".round").nth(2).inner_text()


@pytest.mark.browser
def test_what_did_not_settle_says_why_and_its_street_is_shown(open_page: Any) -> None:
    tab = open_page
    _go(tab, "#/step/sign-4?sheet=1", ".verdict .warn")
    assert HOSTILE[0] in tab.locator(".verdict .warn").inner_text()
    assert tab.locator(".scores, .duel").count() == 0
    _go(tab, "#/task/Street%200?sheet=1", "#view-task .strip a")
    assert "one: IoU 0.80 over 2 signs" in tab.locator("#view-task").inner_text()
    _go(tab, "#/compare", "#view-compare .pairs")
    for head in ("equal", "more in the first", "more in the second"):
        assert head in tab.locator(".pairs thead").inner_text()
