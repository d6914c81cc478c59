"""What reports tell of grounding runs: classes, distances, sizes, clusters, pairs, keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.registry import Entry
from harness.benchmarks import BENCHMARKS, SplitSize
from harness.runs import open_run
from parsers.grounding import Target
from reports.comparison.compare import compare_runs
from reports.errors import classify_run
from reports.formats import render
from reports.frames.rows import run_rows
from reports.frames.units import steps_frame
from reports.kinds.grounding import grounding_facts
from reports.published.beside import published_beside
from reports.tables import main_table
from tests.grounding import TARGETS, Screens
from tests.harness.commands.tool import call
from tests.reports.kinds.grounding.conftest import Made

# The search field is (1400, 330, 1464, 350), the menu (0, 0, 48, 48).
MIXED = {
    "search": "1430, 340",
    "menu": "60, 57",
    "edge": "900, 500",
    "map": "200, 250",
    "gone": "5, 5",
}
NONE = "ELEMENT: none"


def _classes(run: Path) -> dict[str, str]:
    return {error.unit_id: str(error.error_class) for error in classify_run(open_run(run))}


def test_misses_are_told_apart_by_where_the_point_lies(made: Made) -> None:
    assert _classes(made("mixed", MIXED)) == {
        "search": "success",
        "menu": "near",
        "edge": "far",
        "map": "success",
        "gone": "pointed_at_absent",
    }
    other = {
        # The middle of the target is at 746 and 315 thousandths of the picture.
        "search": "746, 315",
        "menu": NONE,
        "edge": "5000, 10",
        "map": "there is a map",
        "gone": NONE,
    }
    assert _classes(made("other", other)) == {
        "search": "other_convention",
        "menu": "declined_present",
        "edge": "out_of_range",
        "map": "no_answer",
        "gone": "success",
    }
    # 1432 of 1920 across and 340 of 1080 down, with the shares exchanged.
    swapped = made("swapped", {**MIXED, "search": "604, 806"})
    (error,) = [one for one in classify_run(open_run(swapped)) if one.unit_id == "search"]
    assert (error.error_class, error.detail) == ("swapped", "as shares of the picture")


def test_frames_have_the_target_and_the_way_to_it(made: Made) -> None:
    frame = steps_frame(made("mixed", MIXED)).set_index("item_id")
    menu = frame.loc["menu"]
    # The corner of the menu is (48, 48): 12 to the right and 9 down make 15 pixels.
    assert menu["distance"] == pytest.approx(15.0)
    assert menu["distance_diagonals"] == pytest.approx(15 / (48 * 2**0.5))
    assert (menu["point_x"], menu["point_y"]) == (60.0, 57.0)
    assert menu["target_area"] == 48 * 48
    gone = frame.loc["gone"]
    assert gone["target_kind"] == "absent" and gone[["target_area", "distance"]].isna().all()
    assert frame.loc["map", "place"] == str(TARGETS["map"][2])


def test_shares_and_distances_stand_beside_the_result(made: Made) -> None:
    replies = {**MIXED, "search": NONE, "edge": "5000, 10", "map": "no idea"}
    run = made("run", replies)
    facts = grounding_facts(run_rows(run)[0])
    assert (
        facts["answers"] == "unreadable 20.0 %, cut off 0.0 %, out of range 20.0 %, declined 20.0 %"
    )
    # Of the points, only that near the menu has a target.
    assert facts["distance to the target"] == (
        "median 15 px, of misses 15 px, 0.2 diagonals of the target"
    )
    text = " ".join(render(main_table(run)).split())
    assert "answers: unreadable 20.0 %" in text and "distance to the target: median 15 px" in text
    nobody = made("nobody", dict.fromkeys(MIXED, NONE))
    assert "distance to the target" not in grounding_facts(run_rows(nobody)[0])


def test_absent_targets_are_in_one_measure_and_left_out_of_the_other(made: Made) -> None:
    table = main_table(made("run", {**MIXED, "gone": NONE}))
    (row,) = table[table["line"] == "valid"].to_dict("records")
    # Three of five with the absent one declined, two of four without it.
    assert (row["hit_micro"], row["present_micro"], row["present_measured"]) == (0.6, 0.5, 4)
    # Of the roles, control has one of three, place both: 2/3.
    assert row["hit_cells"] == pytest.approx((1 / 3 + 1) / 2)
    assert "(4 of 5)" in render(table)


def test_quartiles_are_of_the_sizes_of_all_targets_of_the_run(made: Made) -> None:
    # Areas of 1,280, 1,600 and 2,304 pixels, and a polygon of 54,900.
    assert Target("polygon", TARGETS["map"][2].numbers).area == 54_900
    table = main_table(made("mixed", MIXED), "target_size")
    rows = table[table["headline"]].set_index("target_size")["items"].to_dict()
    assert rows == {
        "up to 1,520 px²": 1,
        "up to 1,952 px²": 1,
        "up to 15,453 px²": 1,
        "above 15,453 px²": 1,
        "absent": 1,
    }


def test_few_clusters_are_marked_and_rows_are_a_second_line(made: Made) -> None:
    run = made("run", MIXED, benchmark="screens-of-applications")
    table = main_table(run)
    assert table.attrs["cluster"] == "application"
    assert table["hit_micro_few"].tolist()[0]
    text = render(table)
    assert "fewer than 30 applications" in text
    assert "with pictures as clusters: Hit micro 40.0 " in " ".join(text.split())
    assert "with pictures" not in render(main_table(run, cluster="picture")).split("Per cent")[0]
    (line,) = [one for one in call("score", str(run)).out.splitlines() if "as clusters " in one]
    assert line.split()[:5] == ["micro,", "pictures", "as", "clusters", "40.0"]


def test_the_same_targets_asked_about_in_other_words_are_paired_by_id(made: Made) -> None:
    shared = {"benchmark": "screens-of-applications"}
    first = made("first", MIXED, split=["original"], **shared)
    # One more right, none less.
    second = made("second", {**MIXED, "gone": NONE}, split=["refined"], **shared)
    (found,) = compare_runs([first, second], cluster="picture").others
    assert found.subject == "split (original against refined)"
    assert (found.units, found.left.only_first, found.left.only_second) == (5, 0, 0)
    (hit,) = [one for one in found.contrasts if (one.metric, one.average) == ("hit", "micro")]
    assert (hit.difference.first, hit.difference.second) == pytest.approx((0.4, 0.6))
    same = made("same", MIXED, split=["original"], **shared)
    (again,) = compare_runs([first, same], cluster="picture").others
    assert "refined" not in again.subject


def test_a_run_like_a_published_one_stands_beside_it(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = replace(Screens(), name="webclick", sizes=(SplitSize("test", 2, 5),))
    monkeypatch.setitem(BENCHMARKS._entries, "webclick", Entry("", whole))
    replies = {name: f"({numbers})" for name, numbers in MIXED.items()}
    options = {"pack": "uground", "form": "auto"}

    def beside(name: str, **more: Any) -> list[str]:
        asked = {**options, **more.pop("options", {})}
        run = made(name, replies, benchmark="webclick", options=asked, **more)
        alike, apart = published_beside(run)
        assert set(apart["source"]) | set(alike["source"]) == {"webclick-card", "webclick-holo"}
        return [str(model) for model in alike["model"]]

    assert "Holo1.5-7B" in beside("own")
    assert beside("zoomed", options={"zoom": "crop"}) == []
    assert beside("ours", options={"pack": "grounding", "form": "plain"}) == []
    assert beside("thinking", thought="hm") == []
    assert beside("part", limit=3) == []
