"""What the difference between a model's own tool and a prompt is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.benchmarks import benchmark_of
from harness.benchmarks.scoring import scored, scorer_of
from harness.runs import Run, open_run
from harness.settings import Settings
from parsers.records import Gold, Operation, Prediction, Status
from reports.comparison.arms import AT_ONCE, Facts, lines
from reports.comparison.compare import compare_runs
from reports.comparison.results import Comparison
from reports.comparison.settings import check_comparable
from reports.comparison.table import render
from reports.tables import main_table
from tests.harness.native.cases import comparisons
from tests.reports.runs import setup, step, worked, write

PRIMARY = ("step_success", "macro")

TOOL = {"tool": "computer", "turns": 3, "zoom": "on", "order": "text-first"}
NATIVE: dict[str, Any] = {"protocol": "native", "protocol_option": TOOL, "effort": "medium"}
FUNCTIONS = {**NATIVE, "protocol_option": {**TOOL, "tool": "functions", "coordinates": "absolute"}}
FORM = {"form": "computer-use", "zoom": "none", "order": "text-first", "pack": "grounding"}
PROMPTED = {"protocol": "grounding", "protocol_option": FORM, "effort": "medium"}


def run(folder: Path, name: str, config: dict[str, Any]) -> tuple[str, Run]:
    return name, open_run(write(folder / name, worked(), setup(**config)))


def option(config: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**config, "protocol_option": {**config["protocol_option"], **more}}


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        (PROMPTED, NATIVE, "native − prompted"),
        (PROMPTED, FUNCTIONS, "functions − prompted"),
        (FUNCTIONS, NATIVE, "native − functions"),
        (NATIVE, PROMPTED, "prompted − native"),
        # Only one of them has the setting: it belongs to the arm.
        (PROMPTED, option(NATIVE, tool_choice="auto"), "native − prompted"),
        (
            option(PROMPTED, refusals="offered"),
            option(NATIVE, refusals="unoffered"),
            "native − prompted, with refusals (offered against unoffered)",
        ),
        (
            {**PROMPTED, "effort": "none"},
            NATIVE,
            "other settings differ: effort (none against medium)",
        ),
        (
            option(PROMPTED, order="picture-first"),
            NATIVE,
            "other settings differ: order (picture-first against text-first)",
        ),
        (
            {**PROMPTED, "image_policy": "viewport"},
            {**NATIVE, "image_policy": "full"},
            "other settings differ: image_policy (viewport against full)",
        ),
        (
            option(PROMPTED, past="actions"),
            NATIVE,
            "other settings differ: past (actions against neutral)",
        ),
        (option(PROMPTED, past="neutral"), NATIVE, "native − prompted"),
        (
            option(PROMPTED, level="low"),
            option(NATIVE, level="high"),
            "other settings differ: level (low against high)",
        ),
    ],
)
def test_a_difference_has_its_name_where_nothing_else_differs(
    first: dict[str, Any], second: dict[str, Any], name: str, tmp_path: Path
) -> None:
    assert check_comparable(run(tmp_path, "a", first), run(tmp_path, "b", second)) == name


def test_two_models_are_no_arms_of_one(tmp_path: Path) -> None:
    first = {**PROMPTED, "model": {"name": "m-1"}}
    found = check_comparable(
        run(tmp_path, "a", first),
        run(tmp_path, "b", {**NATIVE, "model": {"name": "m-2"}}),
        vary=("protocol", "protocol_option.zoom"),
    )
    assert found.startswith("model")


def test_the_arm_without_a_tool_is_the_baseline_in_either_order(tmp_path: Path) -> None:
    native, prompted = (run(tmp_path, *one) for one in (("n", NATIVE), ("p", PROMPTED)))
    for listed in ((native[1], prompted[1]), (prompted[1], native[1])):
        [one] = compare_runs(listed).others
        assert (one.baseline, one.subject) == ("p", "native − prompted")


Rules = Mapping[str, Sequence[int]]
"""Whether each unit is right, by the rule that reads the replies."""
RULES = ("first", "turn", "next")


def recorded(
    folder: Path,
    right: Rules,
    config: dict[str, Any],
    *,
    times: int = 1,
    operations: Sequence[Operation] = (),
    **more: Any,
) -> Path:
    """A run whose units have been scored from what each rule reads, each in a task of its own.

    The first of the rules is the run's own.
    """
    own, *others = right
    made = setup(**config)
    made = replace(made, declaration=made.declaration.read_by(others))
    source = benchmark_of(Settings(benchmark="sample"))
    score = scorer_of(source, made.declaration)

    def said(rule: str, number: int) -> Prediction:
        operation: Operation = operations[number] if operations else "CLICK"
        if right[rule][number]:
            return Prediction.of(Status.ANSWERED, None, "7", None, operation, "")
        return Prediction.of(Status.ANSWERED, None, "8", None, "CLICK", "")

    units = []
    for number in range(len(right[own])):
        operation: Operation = operations[number] if operations else "CLICK"
        gold = Gold(operation, "", ("7",), (None,), "7")
        by_rule = {rule: said(rule, number) for rule in others}
        prediction = replace(said(own, number), by_rule=by_rule)
        for repeat in range(times):
            unit = step(f"t{number}", 0, True, gold=gold, repeat=repeat, total_steps=1, **more)
            units.append(scored(replace(unit, prediction=prediction), score))
    return write(folder, units, made)


def compared(first: Path, second: Path) -> tuple[Comparison, Facts]:
    [one] = compare_runs([first, second]).others
    assert one.arms is not None
    return one, one.arms


def points(one: Comparison, metric: str) -> float:
    """The difference of a row, in points."""
    [found] = [row for row in one.contrasts if (row.metric, row.average) == (metric, "macro")]
    return 100 * found.difference.difference


WEB = option(NATIVE, acts="next", pairs="next")


@pytest.mark.parametrize("case", comparisons())
def test_the_worked_cases(case: dict[str, Any], tmp_path: Path) -> None:
    expected = case["expect"]
    if "comparable" in expected:
        sides = []
        for name in ("native", "prompted"):
            given = dict(case[name])
            effort, detail = given.pop("effort"), given.pop("picture")
            config = {"protocol": name, "effort": effort, "protocol_option": given}
            sides.append(run(tmp_path, name, {**config, "model": {"settings": {"detail": detail}}}))
        name = check_comparable(sides[1], sides[0])
        told = ", ".join(f"{one} (none against medium)" for one in expected["differs"])
        wanted = "native − prompted" if expected["comparable"] else f"other settings differ: {told}"
        assert name == wanted
        return
    if "units" in case:
        sides_right = list(zip(*case["units"], strict=True))
        native = recorded(tmp_path / "n", {"next": sides_right[0]}, NATIVE)
        prompted = recorded(tmp_path / "p", {"next": sides_right[1]}, PROMPTED)
        one, found = compared(native, prompted)
        [row] = [row for row in one.contrasts if (row.metric, row.average) == PRIMARY]
        assert 100 * row.difference.second == expected["native"]
        assert 100 * row.difference.first == expected["prompted"]
        assert 100 * row.difference.difference == pytest.approx(expected["difference"])
        _, only_prompted, only_native, _ = found.right
        assert (one.units, only_native, only_prompted) == (
            expected["n"],
            expected["only_native"],
            expected["only_prompted"],
        )
        return
    rules = {rule: case["native"]["by_rule"][rule] for rule in ("next", "first", "turn")}
    native = recorded(tmp_path / "n", rules, WEB)
    if "headline" in expected:
        headline = main_table(native).iloc[0]
        assert 100 * headline["step_success_macro"] == expected["headline"] == expected["next"]
        assert 100 * headline["step_success.first_macro"] == expected["first"]
        assert 100 * headline["step_success.turn_macro"] == expected["turn"]
        return
    prompted = recorded(tmp_path / "p", {"first": case["prompted"]["right"]}, PROMPTED)
    one, found = compared(native, prompted)
    assert found.bracket is not None
    ends = [100 * end.difference for end in (found.bracket.turn, found.bracket.next)]
    assert (ends, found.bracket.called) == (expected["bracket"], expected["called"])
    assert [points(one, "step_success.turn"), points(one, "step_success")] == ends


@pytest.mark.parametrize(
    ("turn", "following", "prompted", "called"),
    [
        # Both ends agree, and their intervals are on one side.
        ([1] * 9 + [0], [0] + [1] * 9, [0] * 10, "gain"),
        ([0] * 9 + [1], [1] + [0] * 9, [1] * 10, "loss"),
        # One end crosses zero.
        ([1, 0] * 5, [1] * 9 + [0], [0, 1] * 5, None),
        # The ends disagree.
        ([0] * 9 + [1], [1] * 9 + [0], [1, 0] * 5, None),
        # A tie in every unit has no interval.
        ([1, 0] * 5, [1, 0] * 5, [1, 0] * 5, None),
    ],
)
def test_a_bracket_is_called_what_both_ends_show(
    turn: list[int], following: list[int], prompted: list[int], called: str | None, tmp_path: Path
) -> None:
    native = recorded(tmp_path / "n", {"next": following, "first": turn, "turn": turn}, WEB)
    words = recorded(tmp_path / "p", {"first": prompted}, PROMPTED)
    for listed in ((native, words), (words, native)):
        one, found = compared(*listed)
        assert found.bracket is not None and found.bracket.called == called
        assert one.verdict.startswith("Undecided") == (called is None)
    told = "\n".join(lines(found, one.declared))
    wanted = called or "neither a gain nor a loss"
    assert f"native − prompted lies between {found.bracket}: {wanted}" in told


def test_a_bracket_is_of_comparable_arms_with_both_rules_alone(tmp_path: Path) -> None:
    every = {rule: [1, 0, 1, 0] for rule in ("next", "first", "turn")}
    prompted = recorded(tmp_path / "p", {"first": [1, 0, 0, 0]}, PROMPTED)
    batches = {rule: every[rule] for rule in ("turn", "first")}
    for name, rules, config in (
        ("batches", batches, option(NATIVE, acts="turn", pairs="turn")),
        ("effort", every, {**WEB, "effort": "none"}),
    ):
        _, found = compared(recorded(tmp_path / name, rules, config), prompted)
        assert found.bracket is None
    functions = recorded(tmp_path / "f", every, option(FUNCTIONS, acts="next", pairs="next"))
    one, found = compared(functions, recorded(tmp_path / "n", every, WEB))
    assert (one.subject, found.bracket) == ("native − functions", None)
    told = "\n".join(lines(found, one.declared))
    assert "split the difference fairly only with turns=0 and pairs=turn" in told


def test_three_arms_have_the_prompt_as_their_baseline(tmp_path: Path) -> None:
    every = {rule: [1, 0, 1, 0] for rule in ("next", "first", "turn")}
    made = [
        recorded(tmp_path / "n", every, WEB),
        recorded(tmp_path / "f", every, option(FUNCTIONS, acts="next", pairs="next")),
        recorded(tmp_path / "p", {"first": [1, 0, 0, 0]}, PROMPTED),
    ]
    found = compare_runs(made)
    assert found.baseline == "p"
    assert [one.subject for one in found.others] == ["functions − prompted", "native − prompted"]
    assert found.correction == "holm"


def test_rows_are_paired_by_action_and_over_units_settled_at_once(tmp_path: Path) -> None:
    operations: Sequence[Operation] = ("CLICK", "CLICK", "SELECT", "SELECT")
    native = {"next": [1, 0, 1, 1], "first": [1, 0, 0, 0], "turn": [1, 0, 0, 1]}
    made = recorded(tmp_path / "n", native, WEB, operations=operations)
    looked = [
        replace(unit, calls=(*unit.calls, f"{unit.unit_id}/0/look-1"))
        if unit.unit_id in ("t1_0", "t2_0")
        else unit
        for unit in open_run(made).records()
    ]
    again = open_run(made).manifest
    config = setup(**WEB)
    made = write(tmp_path / "m", looked, replace(config, declaration=again.declaration))
    prompted = recorded(tmp_path / "p", {"first": [0, 0, 0, 1]}, PROMPTED, operations=operations)
    one, found = compared(prompted, made)
    rows = {row.metric: 100 * row.difference.difference for row in one.contrasts}
    assert rows["step_success CLICK"] == rows["step_success SELECT"] == 50.0
    assert rows[f"step_success {AT_ONCE}"] == 50.0
    assert rows["step_success.first"] == 0.0 and rows["step_success.turn"] == 25.0
    of_native = found.arms[1]
    assert [(of.looks, of.units, of.right) for of in of_native.looks] == [(0, 2, 1.0), (1, 2, 0.5)]
    assert found.arms[0].looks == ()
    text = str(render(compare_runs([prompted, made])))
    assert "native by looks: 0 looks: 2 steps, 100.0 % right, 105 tokens each" in text


def test_units_that_one_run_lacks_and_repeats_are_counted_once(tmp_path: Path) -> None:
    native = recorded(tmp_path / "n", {"next": [1, 1, 0, 1], "turn": [1, 0, 0, 1]}, WEB, times=3)
    prompted = recorded(tmp_path / "p", {"first": [0, 1, 1]}, PROMPTED)
    one, found = compared(native, prompted)
    assert one.units == 3 and one.left.only_second == 1
    assert found.right == (1, 1, 1, 0)
    assert points(one, "step_success") == 0.0
    assert points(one, "step_success.turn") == pytest.approx(-100 / 3)


def test_another_variant_of_a_measure_leaves_the_other_rules_open(tmp_path: Path) -> None:
    native = recorded(tmp_path / "n", {"next": [1, 0, 1], "turn": [1, 0, 0]}, WEB)
    prompted = recorded(tmp_path / "p", {"first": [0, 1, 1]}, PROMPTED)
    [one] = compare_runs([native, prompted], f1="cl100k-lc").others
    assert "step_success.turn" not in {row.metric for row in one.contrasts}
    assert one.arms is not None and one.arms.bracket is None


def test_runs_of_one_arm_have_no_such_facts(tmp_path: Path) -> None:
    every = {rule: [1, 0, 1, 0] for rule in ("next", "first", "turn")}
    made = [recorded(tmp_path / name, every, WEB) for name in ("a", "b")]
    [one] = compare_runs(made).others
    assert one.arms is None
