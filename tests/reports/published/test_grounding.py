"""Published rows of grounding: tables copied by hand, averages recomputed, landmarks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from parsers import Declaration, Level, Measure
from parsers.grounding import GroundingDetail, Target
from reports.published import beside as module
from reports.published import keys as matching
from reports.published.beside import LANDMARKS, published_beside
from reports.published.source import published_rows
from tests.reports.published.checks import checked_rows
from tests.reports.runs import setup, step, write

V1, V2, PRO, WORLD = "screenspot", "screenspot-v2", "screenspot-pro", "osworld-g"
ROWS = [row for row in published_rows() if row.scope.kind == "grounding"]
FOUND = {(row.scope.benchmark, row.source, row.model, row.split): row for row in ROWS}

# Model by model as the papers print them; c marks a mean over cells.
PRINTED = """
SeeClick             | 53.4 c | 55.1 | 1.1  |
OS-Atlas-7B          | 81.0 c | 84.1 | 18.9 |
UGround initial 7B   | 73.3 c |      | 16.5 |
Aguvis-7B            | 83.0 c |      |      |
UI-TARS-2B           | 82.3   | 84.7 | 27.7 |
UI-TARS-72B          | 88.4   | 90.3 | 38.1 |
UI-TARS-1.5-7B       |        |      | 49.6 |
Qwen2.5-VL-7B        |        | 88.8 | 27.6 | 31.4
Jedi-7B              |        | 91.7 | 39.5 | 54.1
Claude Computer Use  | 83.0   |      | 17.1 |
GTA1-7B              |        | 93.4 | 55.5 | 60.1
MAI-UI-8B            |        | 95.2 | 65.8 | 60.1
"""
OTHERS = {
    "webclick": "UGround-V1-7B 82.37, Qwen2.5-VL-3B 71.15, UI-TARS-2B-SFT 64.23, UGround-V1-2B "
    "71.69, Qwen2.5-VL-7B 74.37, UI-TARS-7B-DPO 80.67, Holo1-3B 81.50, Holo1-7B 84.03, "
    "Holo1.5-7B 90.24, Holo2-8B 89.5",
    "ui-vision": "Claude-3.7-Sonnet 8.27, ShowUI-2B 5.94, OS-Atlas-7B 9.02, UGround-V1-7B 12.9, "
    "UGround-V1-72B 23.2, Aguvis-7B 13.7, UI-TARS-7B 17.6, UI-TARS-72B 25.5, Jedi-7B 25.19, "
    "MAI-UI-8B 40.7",
    "mmbench-gui-l2": "MAI-UI-8B 88.8, UI-Venus-1.5-8B 88.1, GUI-Owl-1.5-8B 82.5, Step-GUI-4B 84.0",
    "showdown-clicks": "ace-medium 77.56, OpenAI CUA 64.27, UI-TARS-72B-SFT 54.4, Claude 3.7 53.68,"
    " Gemini 2.0 Flash 33.39, Qwen2.5-VL-72B 24.78, GPT-4o 5.21",
    WORLD: "Operator 40.6, ScaleCUA 60.6, UI-Venus-1.5-30B 70.6",
}
RERUN = (
    "UI-TARS-1.5-7B 42.06, Qwen3-VL-2B 43.90, Qwen3-VL-4B 59.39, Qwen3-VL-8B 56.42, "
    "UI-Venus-1.5-8B 67.68, MAI-UI-8B 64.07"
)


def _printed() -> list[tuple[str, str, float, str]]:
    """Benchmark, model, per cent and average, from the tables above."""
    found = []
    for line in PRINTED.strip().splitlines():
        model, *figures = (part.strip() for part in line.split("|"))
        for benchmark, figure in zip((V1, V2, PRO, WORLD), figures, strict=False):
            if figure:
                number, _, mark = figure.partition(" ")
                found.append((benchmark, model, float(number), "cells" if mark else ""))
    for benchmark, text in OTHERS.items():
        for pair in text.split(","):
            model, _, number = pair.strip().rpartition(" ")
            found.append((benchmark, model, float(number), ""))
    return found


@pytest.mark.parametrize(("benchmark", "model", "per_cent", "average"), _printed())
def test_figures_are_those_printed(
    benchmark: str, model: str, per_cent: float, average: str
) -> None:
    shares = [
        row.values["hit"]
        for (of, _, name, split), row in FOUND.items()
        if (of, name) == (benchmark, model) and split != "refined"
        if average in ("", row.keys["average"])
    ]
    assert round(per_cent / 100, 6) in shares


def test_independent_reruns_and_what_depends_on_how_models_were_asked() -> None:
    for pair in RERUN.split(","):
        model, _, number = pair.strip().rpartition(" ")
        row = FOUND[PRO, "screenspot-pro-clawgui", model, "en"]
        assert row.values == {"hit": round(float(number) / 100, 6)}
    zoomed = FOUND[PRO, "screenspot-pro-ui-venus", "UI-Venus-1.5-8B, zoom", "en"]
    assert (zoomed.values["hit"], zoomed.keys["zoom"]) == (0.739, "crop")
    assert FOUND[WORLD, "osworld-g-mai-ui", "MAI-UI-8B", "refined"].values["hit"] == 0.686
    jedi = FOUND[WORLD, "osworld-g-jedi", "Jedi-7B", "original"].values
    assert list(jedi.values()) == [0.541, 0.659, 0.555, 0.577, 0.469, 0.074]
    assert FOUND[WORLD, "osworld-g-gemini", "Gemini-2.5-Pro", "original"].values["refusal"] == 0.389
    operators = {row.values["hit"] for row in ROWS if row.model in ("Operator", "OpenAI CUA")}
    assert operators == {0.705, 0.366, 0.406, 0.879, 0.234, 0.6427}


# Six cells of v1, text and icon of mobile, desktop and web, with the two averages worked by hand.
OS_ATLAS = "93.0, 72.9, 91.8, 62.9, 90.9, 74.3"
BOTH = {"cells": "81.0", "micro": "82.5"}


def _file(average: str, printed: str, parts: str = OS_ATLAS) -> str:
    return f"""
kind = "grounding"
benchmark = "screenspot"
needed = ["population", "average", "refusals"]
decisive = ["average", "refusals"]
splits = ["test"]
keys = {{ population = "screenspot", refusals = "any" }}
[measures]
hit = ["Hit", "hit"]
[[source]]
id = "paper"
paper = "Paper"
table = "Table 1"
measures = ["hit"]
splits = ["test"]
scale = 100
keys.average = "{average}"
parts = ["a", "b", "c", "d", "e", "f"]
sizes = [273, 229, 194, 140, 230, 206]
rows = [{{ model = "m", cells = [[{printed}]], parts = [{parts}] }}]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rows.toml"


@pytest.mark.parametrize("average", BOTH)
def test_parts_have_to_give_the_average_that_is_stated(file: Path, average: str) -> None:
    file.write_text(_file(average, BOTH[average]), "utf-8")
    (row,) = checked_rows(file)
    assert (row.flag, row.landmark) == ("", "")
    other = next(name for name in BOTH if name != average)
    file.write_text(_file(average, BOTH[other]), "utf-8")
    with pytest.raises(ValueError, match=f"paper / m states {average}, .* by {other}"):
        checked_rows(file)
    file.write_text(_file(average, "81.8"), "utf-8")
    (row,) = checked_rows(file)
    assert row.flag == "its parts give 81.0 by cells and 82.5 by micro, not 81.8"
    assert row.landmark == row.flag
    file.write_text(_file(average, BOTH[average], "93.0, 72.9"), "utf-8")
    with pytest.raises(ValueError, match="2 parts of 6"):
        checked_rows(file)


def test_the_flagged_rows_are_those_whose_sources_contradict_themselves() -> None:
    flagged = {(row.scope.benchmark, row.model): row.flag for row in ROWS if row.flag}
    assert flagged == {
        (V2, "SeeClick"): "its parts give 52.7 by cells and 55.5 by micro, not 55.1",
        (PRO, "UGround-V1-7B"): "its parts give 31.8 by cells and 31.5 by micro, not 31.1",
    }


def test_a_row_is_a_landmark_where_its_average_or_its_rule_for_refusals_is_unstated(
    file: Path,
) -> None:
    for row in ROWS:
        open_ = "unstated" in (row.keys["average"], row.keys["refusals"])
        assert bool(row.landmark) == (open_ or bool(row.flag))
    landmarks = {row.source for row in ROWS if row.landmark}
    assert {"screenspot-v2-gta1", "osworld-g-gta1", "mmbench-gui-l2-clawgui"} <= landmarks
    text = _file("cells", "81.0").replace('decisive = ["average"', 'decisive = ["luck"')
    file.write_text(text, "utf-8")
    with pytest.raises(ValueError, match="unknown value in decisive: 'luck'"):
        checked_rows(file)


def test_a_landmark_is_shown_but_stands_beside_no_run(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = Declaration(
        (Measure("hit", "Hit", main=True, averages=("cells", "micro"), cells=("split",)),),
        (Level("picture"),),
        kind="grounding",
        unit="item",
    )
    made = replace(
        setup(benchmark="screenspot", refusals="any", split=["test"]), declaration=declared
    )
    one: Any = replace(
        step("A", 0, True, split="test"),
        kind="grounding",
        parents={"picture": "a"},
        labels={},
        scores={"hit": 1.0},
    )
    target = Target("box", (1.0, 2.0, 3.0, 4.0))
    one = replace(one, detail=GroundingDetail(asked="Point.", gold=target, size=(9, 9)))
    run = write(tmp_path / "run", [one], made)
    file.write_text(_file("cells", "81.0"), "utf-8")
    (alike,) = checked_rows(file)
    others = (
        replace(alike, model="flagged", flag="its parts do not fit"),
        replace(alike, model="open", keys={**alike.keys, "average": "unstated"}),
        replace(alike, model="micro", keys={**alike.keys, "average": "micro"}),
    )
    elsewhere = replace(alike, scope=structs.replace(alike.scope, benchmark="webclick"))
    monkeypatch.setattr(module, "published_rows", lambda: (alike, *others, elsewhere))
    monkeypatch.setattr(
        matching, "keys_of", lambda *args, **more: {**alike.keys, "average": args[1]}
    )
    first, table = published_beside(run)
    # Rows on another benchmark are left out; the run's own headline is the mean over cells.
    assert (first["model"].tolist(), first["alike"].tolist()) == (["m"], ["run"])
    assert table["model"].tolist() == ["flagged", "open", "micro"]
    assert table["differs"].tolist() == [
        "a landmark: its parts do not fit",
        "a landmark: average unstated",
        "average",
    ]
    assert LANDMARKS in table.attrs["notes"]
