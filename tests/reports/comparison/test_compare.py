"""Comparisons of small runs, with numbers recomputed from their lines."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from harness.runs import RunError, StepUnit
from parsers import ELEMENT_ONLY, MIND2WEB, Prediction, Status
from reports.comparison.compare import compare_runs
from reports.comparison.results import Comparison, Comparisons, Contrast
from reports.comparison.table import columns, comparison_table, render
from reports.frames.rows import run_rows
from reports.statistics.significance import holm
from tests.numbers import estimate
from tests.reports.runs import schema, setup, step, worked, write
from tests.units import flat


def _run(folder: Path, name: str, steps: list[StepUnit], **more: Any) -> Path:
    complete = more.pop("complete", True)
    return write(folder / name, steps, setup(model={"name": name}, **more), complete=complete)


def _random(folder: Path, name: str, rate: float, tasks: int = 12, **more: Any) -> Path:
    chance = random.Random(name)
    sizes = random.Random(0)
    steps = [
        step(f"t{task}", index, chance.random() < rate)
        for task in range(tasks)
        for index in range(sizes.randint(2, 6))
    ]
    return _run(folder, name, steps, **more)


def _of(found: Comparison, metric: str, average: str) -> Contrast:
    return next(c for c in found.contrasts if (c.metric, c.average) == (metric, average))


def _lines(path: Path) -> dict[str, list[tuple[bool, bool]]]:
    """Element and step success of valid rows by task, from the raw lines."""
    found: dict[str, list[tuple[bool, bool]]] = {}
    for line in (path / "steps.jsonl").read_text("utf-8").splitlines():
        row = flat(json.loads(line))
        if row["invalid"] is None:
            scores = row["scores"]["element"], row["scores"]["success"]
            found.setdefault(row["task_id"], []).append(scores)
    return found


def test_numbers_equal_those_from_the_raw_lines(tmp_path: Path) -> None:
    a, b = _random(tmp_path, "a", 0.3), _random(tmp_path, "b", 0.6)
    (found,) = compare_runs([a, b]).others
    ours, theirs = _lines(a), _lines(b)
    gains = {
        task: [after[1] - before[1] for before, after in zip(ours[task], theirs[task], strict=True)]
        for task in ours
    }
    means = [sum(own) / len(own) for own in gains.values()]
    macro, micro = _of(found, "step_success", "macro"), _of(found, "step_success", "micro")
    wanted = stats.ttest_1samp(means, 0).confidence_interval(0.95)
    assert macro.difference.low is not None and macro.difference.high is not None
    assert math.isclose(macro.difference.difference, sum(means) / 12)
    assert math.isclose(macro.difference.low, wanted.low)
    assert math.isclose(macro.difference.high, wanted.high)
    steps = [gain for own in gains.values() for gain in own]
    assert math.isclose(micro.difference.difference, sum(steps) / len(steps))
    assert (micro.effect.better, micro.effect.worse) == (steps.count(1), steps.count(-1))
    assert macro.effect.better == sum(mean > 1e-9 for mean in means)
    assert (found.units, found.parents) == (len(steps), 12)
    tasks = _of(found, "task_success", "tasks")
    assert tasks.difference.first == sum(all(x[1] for x in own) for own in ours.values()) / 12
    assert tasks.difference.second == sum(all(x[1] for x in own) for own in theirs.values()) / 12


@pytest.mark.parametrize("invalid", ["exclude", "fail"])
def test_rates_are_those_of_the_report(tmp_path: Path, invalid: Any) -> None:
    a = _run(tmp_path, "a", worked())
    b = _run(
        tmp_path,
        "b",
        [step(r.parents["task"], r.position, None if r.invalid else False) for r in worked()],
    )
    (found,) = compare_runs([a, b], invalid=invalid).others
    rows = run_rows(a, invalid=invalid)[0].total
    for metric, measure in (
        ("element", "element"),
        ("operation_f1", "operation_f1"),
        ("step_success", "success"),
    ):
        for average in ("macro", "micro"):
            first = _of(found, metric, average).difference.first
            assert first == pytest.approx(estimate(rows, measure, average).number)
    success = _of(found, "task_success", "tasks").difference
    assert success.first == pytest.approx(estimate(rows, "task_success").number)
    assert found.left.invalid == (1 if invalid == "exclude" else 0)


def test_unsettled_steps_are_left_out_and_their_tasks_are_incomplete(tmp_path: Path) -> None:
    rows = worked()
    open_row = step("C", 1, False, settled=False)
    a = _run(tmp_path, "a", rows)
    b = _run(tmp_path, "b", [*rows[:-1], open_row], complete=False)
    found = compare_runs([a, b])
    (pair,) = found.others
    assert (pair.left.unsettled, pair.units, pair.incomplete["task_success"]) == (1, 5, 1)
    assert [(p.run, p.complete, p.settled, p.valid) for p in found.progress] == [
        ("a", True, 6, 6),
        ("b", False, 5, 6),
    ]
    assert _of(pair, "task_success", "tasks").difference.tasks == 2


def test_an_invalid_row_of_one_run_is_left_out_of_both(tmp_path: Path) -> None:
    a = _run(tmp_path, "a", [step("A", 0, True), step("A", 1, True)])
    b = _run(tmp_path, "b", [step("A", 0, True), step("A", 1, None)])
    (found,) = compare_runs([a, b]).others
    assert (found.left.invalid, found.units, found.incomplete["task_success"]) == (1, 1, 1)


def test_repeats_are_compared_by_pass_at_and_pass_all(tmp_path: Path) -> None:
    """Task A succeeds in three of four repeats against one of two; k is the smaller number, 2."""

    def repeated(name: str, outcomes: dict[str, str]) -> Path:
        steps = [
            step(task, 0, sign == "+", repeat=repeat)
            for task, signs in outcomes.items()
            for repeat, sign in enumerate(signs)
        ]
        return _run(tmp_path, name, steps, repeats=len(outcomes["A"]))

    a = repeated("a", {"A": "+++-", "B": "----"})
    b = repeated("b", {"A": "+-", "B": "++"})
    (found,) = compare_runs([a, b], vary=["repeats"]).others
    for metric, average in (("step_success", "macro"), ("task_success", "tasks")):
        any_, all_ = (_of(found, f"{metric} pass{sign}2", average) for sign in "@^")
        assert (any_.difference.first, any_.difference.second) == (0.5, 1.0)
        assert (all_.difference.first, all_.difference.second) == (0.25, 0.5)
    lines = render(compare_runs([a, b], vary=["repeats"])).splitlines()
    assert any("Step SR macro pass@2 50.0 100.0" in " ".join(line.split()) for line in lines)


def test_repeats_are_averaged(tmp_path: Path) -> None:
    twice = [step("A", 0, right, repeat=repeat) for repeat, right in enumerate((True, False))] + [
        step("B", 0, True, repeat=repeat) for repeat in (0, 1)
    ]
    a = _run(tmp_path, "a", twice, repeats=2)
    b = _run(tmp_path, "b", [step("A", 0, True), step("B", 0, True)])
    (found,) = compare_runs([a, b]).others
    micro, tasks = _of(found, "step_success", "micro"), _of(found, "task_success", "tasks")
    assert micro.difference.first == 0.75
    assert (micro.mcnemar, tasks.mcnemar) == (None, None)
    assert tasks.difference.first == 0.75


def test_runs_that_share_no_step_are_refused(tmp_path: Path) -> None:
    a = _run(tmp_path, "a", [step("A", 0, True)])
    b = _run(tmp_path, "b", [step("B", 0, True)])
    with pytest.raises(RunError, match="a and b share no step"):
        compare_runs([a, b])


def test_another_page_under_the_same_step_is_refused(tmp_path: Path) -> None:
    a = _run(tmp_path, "a", [step("A", 0, True), step("A", 1, True)])
    b = _run(tmp_path, "b", [step("A", 0, True), step("A", 1, True, html_digest="other")])
    with pytest.raises(RunError, match=r"1 of 2 steps have another page, A_1"):
        compare_runs([a, b])


def _p(found: Comparisons) -> list[float]:
    return [_of(one, "step_success", "macro").p_permutation for one in found.others]


def test_several_runs_are_corrected_for(tmp_path: Path) -> None:
    paths = [_random(tmp_path, f"r{n}", 0.3 + n / 8) for n in range(4)]
    raw = [p for other in paths[1:] for p in _p(compare_runs([paths[0], other]))]
    found = compare_runs(paths)
    assert _p(found) != raw and _p(found) == holm(raw)
    contrasts = [_of(one, "step_success", "macro") for one in found.others]
    assert [one.permutation.p for one in contrasts] == raw


def test_splits_can_be_chosen(tmp_path: Path) -> None:
    steps = [step("A", 0, True, split="one"), step("B", 0, True, split="two")]
    a, b = _run(tmp_path, "a", steps), _run(tmp_path, "b", steps)
    (found,) = compare_runs([a, b], splits=["two"]).others
    assert found.splits == {"two": 1}
    with pytest.raises(RunError, match="share no step"):
        compare_runs([a, b], splits=["three"])


def test_splits_that_ask_about_the_same_units_are_compared_unit_by_unit(tmp_path: Path) -> None:
    runs = {
        (split, shared): write(
            tmp_path / f"{split}-{shared}",
            [step("A", 0, right, split=split), step("B", 0, True, split=split)],
            replace(
                setup(model={"name": "m"}, split=[split]),
                declaration=replace(MIND2WEB, shared=shared),
            ),
        )
        for split, right in (("short", False), ("long", True))
        for shared in (True, False)
    }
    found = compare_runs([runs["short", True], runs["long", True]])
    (pair,) = found.others
    assert pair.splits == {"short against long": 2} and pair.units == 2
    assert pair.subject == "split (short against long)"
    compared = next(one for one in pair.contrasts if one.average == "micro").difference
    assert (compared.first, compared.second) == (0.5, 1.0)
    with pytest.raises(RunError, match="share no step"):
        compare_runs([runs["short", False], runs["long", False]])


def test_the_verdict_claims_a_clear_difference(tmp_path: Path) -> None:
    a, b = _random(tmp_path, "a", 0.1, 40), _random(tmp_path, "b", 0.8, 40)
    (found,) = compare_runs([a, b]).others
    assert found.verdict.startswith("b is better than a: ")
    assert "permutation p < 0.001" in found.verdict
    assert "Fewer" not in found.verdict and "fewer than 30" not in found.verdict
    (back,) = compare_runs([b, a]).others
    assert back.verdict.startswith("a is worse than b: ")


def test_the_verdict_says_what_would_be_needed(tmp_path: Path) -> None:
    runs = [_random(tmp_path, "a", 0.5), _random(tmp_path, "d", 0.52)]
    (found,) = compare_runs(runs).others
    assert found.verdict.startswith("No difference found between d and a")
    assert "With 12 tasks, a true difference below" in found.verdict
    assert "would be needed" not in found.verdict
    assert all(contrast.needed is None for contrast in found.contrasts)
    assert "does not show that they are equal" in found.verdict
    assert "They differ on fewer than 30 tasks, so coverage can be below 95 %." in found.verdict
    (planned,) = compare_runs(runs, planned=0.1).others
    assert "for one of 10 points" in planned.verdict and "tasks would be needed" in planned.verdict
    assert "the number of tasks is rough" in planned.verdict


def test_the_verdict_knows_equal_runs(tmp_path: Path) -> None:
    a, b = _run(tmp_path, "a", worked()), _run(tmp_path, "b", worked())
    (found,) = compare_runs([a, b]).others
    assert "exactly the same steps" in found.verdict


def test_the_table_is_typed(tmp_path: Path) -> None:
    found = compare_runs([_random(tmp_path, name, 0.5, 4) for name in "abc"])
    table = comparison_table(found)
    assert {name: str(kind) for name, kind in table.dtypes.items()} == schema(columns(MIND2WEB))
    assert len(table) == 2 * 7
    assert table.attrs["correction"] == "holm"


def test_statuses_that_the_rules_leave_out_do_not_count(tmp_path: Path) -> None:
    rules = {"exclude_status": ["refusal"]}
    first = [step("A", 0, True), step("A", 1, False, status=Status.REFUSAL), step("B", 0, False)]
    a = _run(tmp_path, "a", first, **rules)
    b = _run(tmp_path, "b", [step("A", 0, True), step("A", 1, True), step("B", 0, True)], **rules)
    (found,) = compare_runs([a, b]).others
    assert (found.units, found.left.invalid) == (2, 1)
    assert _of(found, "step_success", "micro").difference.difference == 0.5


def test_steps_not_attempted_fail_where_the_rules_say_so(tmp_path: Path) -> None:
    first = [step("A", 0, True), step("A", 1, True, settled=False), step("B", 0, False)]
    a = _run(tmp_path, "a", first, complete=False, unattempted="fail")
    second = [step("A", 0, True), step("A", 1, True), step("B", 0, True)]
    b = _run(tmp_path, "b", second, unattempted="fail")
    (found,) = compare_runs([a, b]).others
    assert (found.units, found.left.unsettled) == (3, 0)
    assert _of(found, "step_success", "micro").difference.first == pytest.approx(1 / 3)


def test_a_run_that_was_asked_for_no_operation_has_no_success_to_compare(tmp_path: Path) -> None:
    only = Prediction.of(Status.ANSWERED, element="7", flags=(ELEMENT_ONLY,))
    steps = [step("a", index, False, prediction=only) for index in range(3)]
    ranker = _run(tmp_path, "ranker", steps)
    with pytest.raises(
        RunError, match="ranker has no step success to compare: only elements were asked for"
    ):
        compare_runs([_random(tmp_path, "other", 0.5), ranker])
