"""Reports on runs of a benchmark whose package is not there: the manifest says what is measured.

Six items on two screens. Distances are 1, 1, 1/2 and 0, 0 for the first run and 1/2 less, if there
is room, for the second; `inside` is 1 where the distance is 1. One item is unmeasured.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from adapters.conversation import Usage
from harness.runs import RunDirectory, RunError, Unit
from parsers import Declaration, Group, Level, Measure, Prediction, Status
from parsers.actions import Action
from reports.command import report
from reports.comparison.command import compare
from reports.comparison.compare import compare_runs
from reports.frames.runs import runs_frame
from reports.frames.units import KindColumns, steps_frame, unit_column
from reports.keys import Key, banded
from reports.kind import REPORTS, KindReports
from reports.tables import leaderboard, main_table
from tests.reports.runs import setup, worked, write

DECLARED = Declaration(
    measures=(
        Measure("inside", "Inside", "answers inside the target"),
        Measure(
            "nearness",
            "Near",
            "nearness",
            main=True,
            averages=("cells", "micro"),
            cells=("platform",),
            unmeasured="no-point",
        ),
        Measure("all_inside", "All in", "screens all inside", all_of="inside", over="screen"),
    ),
    levels=(Level("screen"), Level("application", shared=True)),
    groups=(
        Group("split", "the split", whole="screen"),
        Group("platform", "the platform", whole="screen"),
        Group("size", "how large the target is"),
    ),
    clusters=("application", "screen"),
    kind="made-up-target",
    unit="target",
)
NEARNESS = (1.0, 1.0, 0.5, 0.0, 0.0, None)


def _unit(number: int, nearness: float | None, **more: Any) -> Unit[Any]:
    screen = number // 3
    values: dict[str, Any] = {
        "kind": DECLARED.kind,
        "unit_id": f"t{number}",
        "benchmark": "targets",
        "split": "all",
        "parents": {"screen": f"s{screen}", "application": f"app{screen}"},
        "labels": {
            "platform": ("web", "phone")[number > 3],
            "size": ("small", "large")[number % 2],
        },
        "position": number % 3,
        "total": 3,
        "goal": "Point at it.",
        "asked": True,
        "settled": True,
        "calls": (f"t{number}/0/only",),
        "prediction": Prediction(Status.ANSWERED, Action("point", point=(1.0, 2.0))),
        "scores": {"inside": float(nearness == 1), "nearness": nearness},
        "usage": Usage(50, output=2),
        "cost": 0.5,
        "detail": {"w": [number]},
    }
    return Unit(**(values | more))


def _run(
    path: Path,
    less: float = 0.0,
    declared: Declaration = DECLARED,
    *,
    complete: bool = True,
    benchmark: str = "targets",
    **facts: Any,
) -> Path:
    made = replace(
        setup(
            benchmark=benchmark,
            model={"name": path.name},
            dataset={"benchmark": benchmark, "rows": 6},
        ),
        declaration=declared,
    )
    with RunDirectory.start(path, made) as run:
        for number, nearness in enumerate(NEARNESS):
            near = None if nearness is None else max(0.0, nearness - less)
            run.append_step(_unit(number, near, **facts))
        if complete:
            run.finish({}, complete=True)
    return path


def _call(command: Any, *arguments: str | Path) -> Result:
    done = CliRunner().invoke(command, [str(argument) for argument in arguments])
    assert done.exception is None or isinstance(done.exception, (RunError, SystemExit)), done
    return done


def test_frames_have_what_is_declared(tmp_path: Path) -> None:
    run = _run(tmp_path / "a")
    frame = steps_frame(run)
    assert list(frame)[:12] == [
        *("run", "repeat", "target_id", "screen", "index", "total_targets", "benchmark", "split"),
        *("platform", "size", "application", "invalid"),
    ]
    assert list(frame)[-9:] == [
        *("status", "action", "arguments", "point_x", "point_y", "flags", "agreement"),
        *("inside", "nearness"),
    ]
    assert frame["application"].tolist() == ["app0"] * 3 + ["app1"] * 3
    assert frame["inside"].tolist() == [True, True, False, False, False, False]
    assert frame["nearness"].dropna().tolist() == [1.0, 1.0, 0.5, 0.0, 0.0]
    (row,) = runs_frame(run).to_dict("records")
    assert (row["screens"], row["targets"], row["nearness"]) == (2, 6, pytest.approx(0.3125))
    assert row["all_inside"] == 0.0


def test_frames_of_several_benchmarks_have_the_columns_of_all(tmp_path: Path) -> None:
    targets, steps = _run(tmp_path / "a"), write(tmp_path / "b", worked())
    frame = steps_frame([steps, targets])
    assert list(frame)[: len(list(steps_frame(steps)))] == list(steps_frame(steps))
    assert {"target_id", "screen", "nearness"} <= set(frame)
    of_steps, of_targets = frame[frame["run"] == "b"], frame[frame["run"] == "a"]
    assert (len(of_steps), len(of_targets)) == (7, 6)
    assert of_steps["nearness"].isna().all() and of_targets["element_correct"].isna().all()
    assert of_targets["step_id"].isna().all() and of_targets["choices"].isna().all()


def test_what_is_yes_or_no_in_one_run_can_be_a_share_in_another(tmp_path: Path) -> None:
    one = _run(tmp_path / "a")
    part: dict[str, Any] = {"scores": {"inside": 0.5, "nearness": 0.5}}
    other = _run(tmp_path / "b", benchmark="others", **part)
    frame = steps_frame([one, other])
    assert frame["inside"].dtype == "float64"
    assert frame["inside"].tolist() == [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, *[0.5] * 6]


def test_results_are_averaged_as_declared(tmp_path: Path) -> None:
    run = _run(tmp_path / "a")
    line = main_table(run).iloc[0]
    # Web: 1, 1, 1/2, 0; phone: 0.
    assert line["nearness_cells"] == pytest.approx(0.3125)
    assert line["nearness_micro"] == pytest.approx(0.5)
    assert "nearness_macro" not in main_table(run)
    assert line["all_inside"] == 0.0 and line["all_inside_total"] == 2
    text = _call(report, run).output
    assert "screens  targets" in text and "Inside" in text and "All in" in text
    assert "cells: mean over platform of each cell's mean" in " ".join(text.split())
    sizes = main_table(run, "size").set_index("size")
    assert set(sizes.index) == {"small", "large"} and sizes["all_inside"].isna().all()
    assert main_table(run, "target_index")["target_index"].tolist() == list("001122")


def test_a_rate_that_is_not_over_all_units_says_so_everywhere(tmp_path: Path) -> None:
    run, worse = _run(tmp_path / "a"), _run(tmp_path / "b", 0.5)
    main = main_table(run)
    assert main["nearness_measured"].tolist() == [5, 5] and "inside_measured" not in main
    assert runs_frame(run)["nearness_measured"].tolist() == [5]
    for form in ("text", "markdown", "html", "latex"):
        text = _call(report, run, "--format", form).output
        assert "31.2 (5 of 6)" in text and "(n of N): over n of the N targets" in text
    assert "33.3 (" not in _call(report, run).output
    assert "31.2 (5 of 6)" in _call(report, run, "--compact").output
    assert re.search(r"50\.0 +5$", _call(report, run, "--table", "status").output, re.M)
    assert "Near micro (5 of 6)" in _call(compare, run, worse).output
    assert "a on targets (5 of 6)" in _call(report, run, write(tmp_path / "c", worked())).output
    assert (
        json.loads(_call(report, run, "--format", "json").output)["rows"][0]["nearness_measured"]
        == 5
    )


def test_a_key_and_a_cluster_that_are_not_declared_are_one_line(tmp_path: Path) -> None:
    run = _run(tmp_path / "a")
    with pytest.raises(RunError, match=r"only by split, platform, size, target_index$"):
        main_table(run, "website")
    with pytest.raises(RunError, match=r"take 'website' as clusters, only application, screen$"):
        main_table(run, cluster="website")
    with pytest.raises(RunError, match="no measure with variants"):
        main_table(run, f1="mind2web")


def test_runs_that_are_measured_differently_have_tables_of_their_own(tmp_path: Path) -> None:
    targets, steps = _run(tmp_path / "a"), write(tmp_path / "b", worked())
    text = _call(report, steps, targets).output
    heads = [line.split()[:3] for line in text.splitlines() if line.startswith("split ")]
    assert heads == [["split", "tasks", "steps"], ["split", "screens", "targets"]]
    assert text.count("differs: benchmark") == 1
    content = json.loads(_call(report, steps, targets, "--format", "json").output)
    assert {row["run"] for row in content["rows"]} == {"a", "b"}
    assert {"step_success_macro", "nearness_cells"} <= set(content["rows"][0])
    other = _run(tmp_path / "c", declared=replace(DECLARED, units="marks"))
    with pytest.raises(RunError, match="no leaderboard"):
        leaderboard(main_table([targets, other]))
    assert len(leaderboard(main_table(targets))) == 1


@pytest.mark.parametrize("table", ["status", "cost"])
@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_other_tables_are_in_the_words_of_the_benchmark(
    tmp_path: Path, table: str, form: str
) -> None:
    run = _run(tmp_path / "a")
    done = _call(report, run, "--table", table, "--format", form)
    assert done.exit_code == 0 and "target" in done.output
    mixed = _call(report, run, write(tmp_path / "b", worked()), "--table", table, "--format", form)
    assert mixed.exit_code == 0


def test_comparison_is_of_what_is_declared(tmp_path: Path) -> None:
    runs = [_run(tmp_path / "a"), _run(tmp_path / "b", less=0.5)]
    (found,) = compare_runs(runs, cluster="screen").others
    assert (found.units, found.parents, found.incomplete) == (6, 2, {"all_inside": 0})
    by_name = {(c.metric, c.average): c for c in found.contrasts}
    assert set(by_name) == {
        *(("inside", "macro"), ("inside", "micro")),
        *(("nearness", "cells"), ("nearness", "micro"), ("all_inside", "screens")),
    }
    near = by_name["nearness", "cells"]
    # Web: 1, 1, 1/2, 0 against 1/2, 1/2, 0, 0, a mean of 5/8 against 1/4; phone: 0 in both.
    assert near.difference.first == pytest.approx(0.3125)
    assert near.difference.second == pytest.approx(0.125)
    assert near.mcnemar is None and by_name["inside", "micro"].mcnemar is not None
    assert (near.effect.better, near.effect.worse, near.effect.same) == (0, 3, 2)
    assert "% nearness, mean over platform" in found.verdict
    assert "the permutation test of Near cells" in " ".join(_call(compare, *runs).output.split())


def test_comparison_narrows_to_what_both_measure(tmp_path: Path) -> None:
    fewer = replace(DECLARED, measures=(DECLARED["nearness"],))
    runs = [_run(tmp_path / "a"), _run(tmp_path / "b", declared=fewer)]
    (found,) = compare_runs(runs).others
    assert {c.metric for c in found.contrasts} == {"nearness"}
    assert found.single == ("Inside", "All in")
    assert (
        "left out, as only one of the runs has it: Inside, All in" in _call(compare, *runs).output
    )
    renamed = replace(DECLARED, measures=(replace(DECLARED["inside"], main=True), Measure("other")))
    with pytest.raises(RunError, match="c and a are measured differently: targets by answers"):
        compare_runs([_run(tmp_path / "c", declared=renamed), runs[0]])


def test_a_kind_can_bring_columns_and_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    column = unit_column("width", "Int64", "of the picture", lambda record: record.detail["w"][0])
    brought = KindReports(
        columns=KindColumns(detail=(column,)),
        groups={"width": Key("width of the picture", banded("width", (2, 4)))},
    )
    monkeypatch.setitem(REPORTS, DECLARED.kind, brought)
    run = _run(tmp_path / "a")
    assert steps_frame(run)["width"].tolist() == [0, 1, 2, 3, 4, 5]
    table = main_table(run, "width").drop_duplicates("width").set_index("width")
    assert table["targets"].to_dict() == {"0-1": 2, "2-3": 2, "4+": 2}
