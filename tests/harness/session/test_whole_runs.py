"""Runs from the command line to their numbers, which are worked out again here by arithmetic."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.pictures import PictureStore
from harness.runs import open_run
from tests.harness.commands.tool import (
    CLICK_A,
    DEV,
    ONE_TASK,
    TEXT_ONLY,
    at,
    call,
    calls,
    is_right,
    macro,
    replying,
    steps,
    summary,
)
from tests.numbers import counts, number, row
from tests.servers import Ask, WireServer

Line = dict[str, Any]


def success(line: Line) -> float:
    return float(line["scores"]["success"])


def element(line: Line) -> float:
    return float(line["scores"]["element"])


def operation_f1(line: Line) -> float:
    return float(line["scores"]["operation_f1.mind2web"])


def test_the_whole_result_is_one_json_object_when_wanted() -> None:
    called = call("--model", "lexical", *ONE_TASK, "--out", "a", "--json=full")
    assert called.code == 0, called.err
    assert json.loads(called.out) == {"directory": "a", **summary("a")}
    assert "complete: a" in called.err


@pytest.mark.parametrize("data", [ONE_TASK, ("-b", "sample-questions", "--limit", "3")], ids=str)
def test_the_scores_are_a_short_json_object(data: tuple[str, ...]) -> None:
    called = call("--model", "random", *data, "--out", "a", "--json")
    assert called.code == 0, called.err
    found, run = json.loads(called.out), open_run("a")
    assert len(called.out.splitlines()) <= 20
    assert (found["directory"], found["complete"], found["model"]) == ("a", True, "random")
    assert {name: one["value"] for name, one in found["scores"].items()} == {
        name: score.value for name, score in run.scores.items()
    }


@pytest.mark.parametrize("option", ["--json", "--json=full"])
def test_a_dry_run_prints_its_estimate_as_json(option: str) -> None:
    called = call("--model", "gpt-5.4", *ONE_TASK, option, "--dry-run")
    assert called.code == 0, called.err
    found = json.loads(called.out)
    assert (found["steps"], found["calls"]) == (7, [14, 14])
    assert 0 < found["low"]["cost"] < found["expected"]["cost"] < found["high"]["cost"]
    assert ("text_tokens" in found) is (option == "--json=full")


def test_the_oracle_gets_everything_that_can_be_got() -> None:
    called = call("--model", "oracle", *DEV, "--details", "--out", "a")
    assert called.code == 0
    found = summary("a")
    for rate in ("element", "operation_f1", "success"):
        assert number(found, rate) == number(found, rate, "micro") == 1.0
    total = counts(found)
    assert (total["n_rows"], total["n_valid"], total["n_unsettled"]) == (77, 74, 0)
    assert total["statuses"] == {"answered": 74}
    assert "without an answer" not in called.out
    assert "rows: 74 valid, 3 invalid (2 no_positive, 1 no_screenshot; not asked)" in called.out
    assert summary("a")["complete"] is True


def test_numbers_of_a_model_follow_from_its_lines() -> None:
    with WireServer(replying()) as server:
        called = call(*at(server, *DEV, *TEXT_ONLY, "--out", "a"))
    assert called.code == 0
    lines = steps("a")
    valid = [line for line in lines if line["invalid"] is None]
    assert server.count == 2 * len(valid) == len(calls("a"))
    for line in valid:  # the reply was A and CLICK throughout
        first = line["choices"][0]
        assert line["prediction"]["element"] == first["id"]
        assert line["scores"]["element"] == is_right(line, first)
        right = is_right(line, first) and line["gold"]["operation"] == "CLICK"
        assert line["scores"]["success"] == right
        assert line["usage"]["input"] == 200
    found = summary("a")
    assert number(found, "element") == pytest.approx(macro(valid, element))
    assert number(found, "success") == pytest.approx(macro(valid, success))
    assert number(found, "operation_f1") == pytest.approx(macro(valid, operation_f1))
    micro = sum(map(element, valid)) / len(valid)
    assert number(found, "element", "micro") == pytest.approx(micro)
    assert f"{100 * macro(valid, element):.1f}" in called.out
    groups = {(one["group"], one["value"]) for one in found["counts"]}
    operations = {value for group, value in groups if group == "operation"}
    assert operations == {"CLICK", "TYPE", "SELECT"}
    assert number(found, "success", "micro", group="operation", value="TYPE") == 0.0
    assert summary("a")["usage"]["input"] == 100 * server.count


def test_floor_and_ceiling_are_those_of_chance_and_oracle() -> None:
    assert call("--model", "always-click", *DEV, "--out", "a").code == 0
    lines = [line for line in steps("a") if line["invalid"] is None]

    def chance(line: Line) -> float:
        return sum(is_right(line, c) for c in line["choices"]) / len(line["choices"])

    found = summary("a")
    assert row(found, "element")["chance"] == pytest.approx(macro(lines, chance))
    assert row(found, "success")["ceiling"] == 1.0


def test_a_second_run_in_another_folder_asks_nothing_and_decodes_no_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stores: list[PictureStore] = []

    def kept(**more: Any) -> PictureStore:
        stores.append(PictureStore(**more))
        return stores[-1]

    monkeypatch.setattr("harness.session.run.PictureStore", kept)
    with WireServer(replying()) as server:
        first = call(*at(server, *ONE_TASK, "--out", "a"))
        assert server.count == 14
        assert all(ask.pictures == 1 for ask in server.asks)
        second = call(*at(server, *ONE_TASK, "--cache", "--out", "b", preflight=True))
        assert server.count == 15
    assert [store.stats.prepared for store in stores] == [7, 0]
    assert all(record["from_cache"] for record in calls("b"))
    line = "14 of 14 replies reused from a"
    reported = [call("score", run).out for run in ("a", "b")]
    assert second.code == 0
    assert [line in out for out in (first.out, second.out, *reported)] == [False, True, False, True]
    assert "replies: 14 of 14 reused from a" in call("report", "b").out.replace("\n    ", " ")


def test_repeats_are_pooled_with_the_task_as_cluster() -> None:
    def sometimes(ask: Ask) -> str:
        return CLICK_A if ask.number % 3 else CLICK_A.replace("A\n", "B\n")

    with WireServer(replying(sometimes)) as server:
        called = call(*at(server, *DEV, *TEXT_ONLY, "--limit", "2", "--repeats", "3", "--out", "a"))
        lines = [line for line in steps("a") if line["invalid"] is None]
        assert server.count == 2 * len(lines)
    assert called.code == 0
    assert {line["repeat"] for line in lines} == {0, 1, 2}
    assert len(lines) == 36
    found = summary("a")
    assert number(found, "element") == pytest.approx(macro(lines, element))
    assert number(found, "element", "micro") == pytest.approx(sum(map(element, lines)) / 36)
    assert row(found, "element")["n"] == 2
    assert "12 steps x 3" in called.out
    assert "SD over 3 repeats" in called.out
