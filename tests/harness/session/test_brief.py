"""The result of a run in a few lines."""

from __future__ import annotations

import json

from tests.harness.commands.tool import DEV, call, summary

QUIET = ("--progress", "off", "--no-cache")


def numbers(line: str) -> list[str]:
    return line.replace("[", " ").replace("]", " ").replace(",", " ").replace("*", " ").split()


def test_the_result_is_at_most_ten_lines_and_has_the_numbers_of_the_summary() -> None:
    done = call("-m", "lexical", *DEV, *QUIET, "-o", "a")
    lines = [line for line in done.out.splitlines() if line]
    assert len(lines) <= 10
    total = summary("a")["total"]
    assert lines[0] == "lexical on sample (dev): 74 steps of 11 tasks"
    for head, key in (("Ele. Acc", "element"), ("Step SR", "success")):
        found = next(line for line in lines if line.startswith(head))
        rate = total["metrics"]["valid"][key]["macro"]
        interval = rate["interval"]
        shown = (rate["value"], interval["low"], interval["high"], total["floor"][key])
        assert numbers(found.removeprefix(head))[:4] == [f"{100 * one:.1f}" for one in shown]
    assert "not scored: 3 steps (2 no positive, 1 no screenshot)" in lines
    assert lines[-1] == "more: --details, or vlm-eval report a"


def test_details_are_printed_of_a_complete_run_without_asking_again() -> None:
    line = ("-m", "lexical", *DEV, "--limit", "1", *QUIET, "-o", "a")
    short = call(*line).out
    whole = call(*line, "--details").out
    assert "ceiling" in whole and "rows: " in whole and "ceiling" not in short


def test_details_next_to_json_are_refused() -> None:
    refused = call("-m", "lexical", *DEV, "--json", "--details")
    assert refused.code == 2 and "leave out" in refused.complaint


def test_json_is_all_that_standard_output_has() -> None:
    done = call("-m", "lexical", *DEV, "--limit", "1", "--json", "--progress", "plain", "-o", "a")
    assert json.loads(done.out)["directory"] == "a"
    assert "7/7 steps" in done.err


def test_places_on_pictures_are_told_in_the_same_form() -> None:
    done = call("-m", "random", "-b", "sample-grounding", "--split", "dev", *QUIET, "-o", "a")
    lines = done.out.splitlines()
    assert lines[0] == "random on sample-grounding (dev): 117 items of 65 pictures"
    assert next(line for line in lines if line.startswith("Hit")).endswith(
        "the point lies in the target"
    )
