"""`vlm-eval score`: a run's own replies by its own or other rules, and predictions by others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import harness
from tests import numbers
from tests.harness.commands.tool import (
    CLICK_A,
    DEV,
    ONE_TASK,
    TEXT_ONLY,
    Called,
    at,
    call,
    last_lines,
    macro,
    replying,
    steps,
    summary,
    table,
)
from tests.servers import WireServer


def run_with(answer: str, *more: str, data: tuple[str, ...] = ONE_TASK) -> Called:
    with WireServer(replying(answer)) as server:
        called = call(*at(server, *data, *TEXT_ONLY, *more, "--out", "a"))
    assert called.code == 0
    return called


def scored(*more: str) -> dict[str, Any]:
    called = call("score", "a", "--json=full", *more)
    assert called.code == 0, called.err
    found: dict[str, Any] = json.loads(called.out)
    return found


def valid(found: dict[str, Any], key: str, mean: str = "macro") -> float:
    return float(numbers.number(found, key, mean))


def test_scoring_a_run_again_gives_its_own_table_and_summary() -> None:
    own = run_with(CLICK_A, data=DEV)
    again = call("score", "a")
    assert (again.code, table(again.out)) == (0, table(own.out))
    assert again.out.splitlines()[-1] == "0 of 74 predictions read differently than in the run"
    assert scored() == {"directory": "a", **summary("a")}


def test_scores_are_worked_out_from_replies_and_not_copied() -> None:
    run_with(CLICK_A)
    path = Path("a/steps.jsonl")
    lines = []
    for line in last_lines("a"):
        line["scores"] |= {"element": 1.0, "success": 1.0}
        line["prediction"]["action"]["element"] = "0"
        lines.append(json.dumps(line))
    path.write_text("\n".join(lines) + "\n")
    again = call("score", "a")
    assert "7 of 7 predictions read differently" in again.out
    assert valid(scored(), "element") == pytest.approx(valid(summary("a"), "element"))


def test_other_rules_change_the_numbers_and_leave_the_run_alone() -> None:
    run_with("ELEMENT: A\nACTION: HOVER\nVALUE: None")
    before = {path.name: path.read_bytes() for path in Path("a").iterdir()}
    strict = scored("--benchmark-option", "mapped_operations=no")
    assert valid(strict, "operation_f1") < valid(summary("a"), "operation_f1")
    assert valid(strict, "element") == valid(summary("a"), "element")
    assert strict["scoring"]["mapped_operations"] is False
    assert {path.name: path.read_bytes() for path in Path("a").iterdir()} == before


def test_an_operation_without_an_element_can_count_as_zero() -> None:
    run_with("ELEMENT: A, B\nACTION: CLICK\nVALUE: None")
    zero = scored("--benchmark-option", "no_element_zeroes_operation=yes")
    assert valid(scored(), "operation_f1") > 0
    assert valid(zero, "operation_f1") == 0
    assert zero["scoring"]["no_element_zeroes_operation"] is True
    config = json.loads(Path("a/manifest.json").read_text())["config"]
    assert config["benchmark_option"]["no_element_zeroes_operation"] is False
    asked = ("--model", "oracle", "--benchmark", "sample", "--limit", "1", "--out")
    call(*asked, "b", "--benchmark-option", "no_element_zeroes_operation=yes")
    config = json.loads(Path("b/manifest.json").read_text())["config"]
    assert config["benchmark_option"]["no_element_zeroes_operation"] is True


@pytest.mark.parametrize(
    ("narrow", "wide"), [("none", "no_element"), ("no_element", "wrong_element")]
)
def test_a_rule_that_another_covers_is_refused(narrow: str, wide: str) -> None:
    rules = [f"--benchmark-option {one}_zeroes_operation" for one in (narrow, wide)]
    words = [word for rule in rules for word in f"{rule}=yes".split()]
    called = call("--model", "oracle", "--benchmark", "sample", *words, "--out", "a")
    assert called.code == 2
    assert f"{rules[0]} has no effect next to {rules[1]}, which covers it" in called.err
    assert not Path("a").exists()


def test_a_rule_of_the_other_owner_is_named_with_its_option() -> None:
    assert call("run", *ONE_TASK, "--model", "oracle", "--out", "a").code == 0
    called = call("score", "a", "--benchmark-option", "acts=first")
    assert called.code == 2
    assert "--benchmark-option acts: give --protocol-option acts" in called.err
    called = call("score", "a", "--protocol-option", "temperament=first")
    assert called.code == 2
    assert "--protocol-option temperament is no rule of scoring" in called.err


def predictions(change: dict[int, dict[str, Any] | None] | None = None) -> list[dict[str, Any]]:
    """The recorded actions of the oracle's run, some changed or left out."""
    lines = []
    for number, step in enumerate(steps("a")):
        gold = step["gold"]
        line = {
            "step": step["step_id"],
            "element": (gold["elements"] or [None])[0],
            "operation": gold["operation"],
            "value": gold["value"],
        }
        changed = (change or {}).get(number, {})
        if changed is not None:
            lines.append(line | changed)
    Path("p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return lines


@pytest.fixture
def oracle() -> None:
    assert call("--model", "oracle", *ONE_TASK, "--out", "a").code == 0


def predicted(*more: str) -> dict[str, Any]:
    called = call("score", "--predictions", "p.jsonl", *ONE_TASK, "--json=full", *more)
    assert called.code == 0, called.err
    found: dict[str, Any] = json.loads(called.out)
    return found


@pytest.mark.usefixtures("oracle")
def test_perfect_predictions_score_a_hundred() -> None:
    predictions()
    assert valid(predicted(), "success") == 1.0
    called = call("score", "--predictions", "p.jsonl", *ONE_TASK)
    assert called.out.splitlines()[-1] == "7 predictions for 7 steps"


@pytest.mark.usefixtures("oracle")
def test_wrong_elements_operations_and_nothing_are_scored_as_such() -> None:
    predictions({0: {"element": "999999"}, 1: {"element": None}, 2: {"operation": "TYPE"}})
    found = predicted()
    assert valid(found, "element", "micro") == pytest.approx(5 / 7)
    assert valid(found, "success", "micro") == pytest.approx(4 / 7)


@pytest.mark.usefixtures("oracle")
def test_points_count_when_they_lie_in_the_box() -> None:
    box = steps("a")[0]["gold"]["boxes"][0]
    x, y, width, height = box
    inside = {"element": None, "point": [x + width / 2, y + height / 2]}
    outside = {"element": None, "point": [x - 50.0, y - 50.0]}
    predictions({0: inside})
    assert valid(predicted(), "element", "micro") == 1.0
    predictions({0: outside})
    assert valid(predicted(), "element", "micro") == pytest.approx(6 / 7)


@pytest.mark.usefixtures("oracle")
def test_missing_predictions_are_left_out_or_failed() -> None:
    predictions({3: None})
    left_out = predicted()
    assert valid(left_out, "success") == 1.0
    assert numbers.counts(left_out)["n_unsettled"] == 1
    assert valid(
        predicted("--benchmark-option", "unattempted=fail"), "success", "micro"
    ) == pytest.approx(6 / 7)
    told = call("score", "--predictions", "p.jsonl", *ONE_TASK).out.splitlines()[-1]
    assert told.startswith("6 predictions for 7 steps; steps without one are left out")


@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize(
    ("change", "right"),
    [
        ({"operation": "clicking on it"}, True),
        ({"operation": "HOVER"}, True),
        ({"operation": "SCROLL DOWN"}, False),
        ({"operation": "TERMINATE"}, False),
        ({"operation": None}, False),
        ({"operation": "CLICK or TYPE"}, False),
    ],
)
def test_operations_of_predictions_are_read_as_in_replies(
    change: dict[str, Any], right: bool
) -> None:
    number = next(n for n, step in enumerate(steps("a")) if step["gold"]["operation"] == "CLICK")
    predictions({number: change})
    assert valid(predicted(), "success", "micro") == pytest.approx(1.0 if right else 6 / 7)


@pytest.mark.usefixtures("oracle")
def test_values_of_predictions_are_read_as_in_replies() -> None:
    number, gold = next(
        (n, step["gold"]) for n, step in enumerate(steps("a")) if step["gold"]["value"]
    )
    for value in (gold["value"], f'"{gold["value"]}"', f"  {gold['value']} "):
        predictions({number: {"value": value}})
        assert valid(predicted(), "success", "micro") == 1.0, value
    empty = {}
    for missing in ("", None, "None", "n/a", "(none)"):
        predictions({number: {"value": missing}})
        empty[missing] = valid(predicted(), "operation_f1", "micro")
    assert len(set(empty.values())) == 1, "a word for no value was scored as a value"
    assert min(empty.values()) < 1


def test_a_model_s_own_predictions_give_the_numbers_of_its_run() -> None:
    run_with(CLICK_A, data=DEV)
    lines = []
    for step in steps("a"):
        if step["prediction"]:
            own = step["prediction"]
            keys = ("element", "operation", "value")
            lines.append({"step": step["step_id"], **{key: own[key] for key in keys}})
    Path("p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    called = call("score", "--predictions", "p.jsonl", *DEV, "--json=full")
    assert "test data" in json.loads(called.out)["note"]
    found = json.loads(called.out)
    for key in ("element", "operation_f1", "success"):
        assert valid(found, key) == pytest.approx(valid(summary("a"), key))
    rows = [step for step in steps("a") if step["invalid"] is None]
    assert valid(found, "success") == pytest.approx(
        macro(rows, lambda step: step["scores"]["success"])
    )


def test_scores_are_json_in_the_form_of_a_run() -> None:
    ran_once = call("-m", "lexical", *ONE_TASK, "--out", "a", "--json", "--progress", "off")
    assert ran_once.code == 0, ran_once.err
    for words in (("a", "--json"), ("--json", "a"), ("--json=scores", "a")):
        again = call("score", *words)
        assert again.code == 0, again.err
        assert again.out == ran_once.out
    changed = json.loads(call("score", "a", "--json", "--invalid", "fail").out)
    found = json.loads(ran_once.out)
    assert list(changed) == list(found)
    assert list(changed["scores"]) == list(found["scores"])


def test_scores_of_predictions_have_the_same_form() -> None:
    line = {"step": "none", "element": None}
    assert call("-m", "oracle", *ONE_TASK, "--out", "a", "--progress", "off").code == 0
    (first, *_) = (record for record in harness.open_run("a").records() if record.scores)
    Path("p.jsonl").write_text(json.dumps({**line, "step": first.unit_id}) + "\n")
    done = call("score", "--predictions", "p.jsonl", *ONE_TASK, "--json")
    assert done.code == 0, done.err
    brief = json.loads(done.out)
    assert list(brief) == [
        *("predictions", "benchmark", "splits", "steps", "statuses", "scores"),
    ]
    assert brief["scores"]["success"].keys() == {"value", "low", "high", "n", "over"}
    full = json.loads(call("score", "--predictions", "p.jsonl", *ONE_TASK, "--json=full").out)
    assert full["predictions"] == "p.jsonl" and "elements_on_no_page" in full
