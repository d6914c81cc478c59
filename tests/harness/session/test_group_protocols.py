"""Protocols that ask in groups, as whole runs on the sample."""

from __future__ import annotations

import hashlib

from adapters.contract import Request
from parsers import letter
from tests.harness.commands.tool import (
    ONE_TASK,
    benchmark_options,
    call,
    calls,
    is_right,
    steps,
)

RANKED = (*ONE_TASK, "--ranker", "lexical", "--no-cache")


def by_chance(request: Request) -> str:
    """Some answer in everybody's form, always the same to the same question; often none."""
    drawn = hashlib.sha256(request.conversation.digest().encode()).digest()
    number = drawn[0] % 4
    if drawn[1] % 3 == 0:
        return "Element: None\nAnswer: A.\nAction: CLICK"
    if request.place.startswith("group"):
        return f"{letter(number + 1)}.\nAnswer: {letter(number + 1)}.\nAction: CLICK"
    return f"ELEMENT: {letter(number)}\nACTION: CLICK\nVALUE: None"


def without_letters(request: Request) -> str:
    """A model that goes on about something else."""
    return "The weather is fine today."


def script(name: str) -> str:
    return f"scripted:{__name__}:{name}"


def test_a_positive_that_is_not_among_the_first_is_zero_without_a_call() -> None:
    asked = ("--protocol", "mindact-choice", *RANKED, *benchmark_options("top_k=2"))
    assert call(*asked, "--model", script("by_chance"), "--out", "r").code == 0
    missed = [
        s for s in steps("r") if s["prediction"] and s["prediction"]["status"] == "not_offered"
    ]
    assert missed
    for step in missed:
        assert not any(is_right(step, choice) for choice in step["choices"])
        assert not step["asked"] and step["scores"]["element"] == 0.0
        assert step["scores"]["operation_f1.mind2web"] == 0.0
    asked_about = {c["unit_id"] for c in calls("r")}
    assert asked_about.isdisjoint(s["step_id"] for s in missed)


def test_classification_needs_no_call_and_shows_no_operation() -> None:
    line = ("--protocol", "classify", *RANKED, "--model", script("by_chance"), "--out", "r")
    told = call(*line, "--details")
    assert told.code == 0
    assert not calls("r")
    first = [s["choices"][0]["id"] for s in steps("r") if s["asked"]]
    assert [s["prediction"]["element"] for s in steps("r") if s["asked"]] == first
    lines = {line.split()[0]: line.split() for line in told.out.splitlines() if line.strip()}
    for name in ("macro,", "chance", "ceiling"):
        assert lines[name][-2:] == ["n/a", "n/a"]


def test_eager_is_an_option_of_protocols_with_batches() -> None:
    batches = ("--protocol", "seeact-choice", *RANKED, "--model", script("by_chance"))
    assert call(*batches, "--out", "a").code == 0
    eager = ("--protocol-option", "eager=true")
    assert call(*batches, *eager, "--out", "b").code == 0
    assert len(calls("b")) > len(calls("a"))
    told = [{s["step_id"]: s["prediction"] for s in steps(run)} for run in ("a", "b")]
    assert told[0] == told[1]
    refused = call(*RANKED, "--model", "oracle", "--protocol", "mindact-choice", *eager)
    assert refused.code == 2
    assert "eager" in refused.complaint


def test_how_elements_were_found_and_groups_passed_over_is_told() -> None:
    asked = ("--model", "oracle", *RANKED, "--protocol", "mindact-generate")
    told = call(*asked, "--details", "--out", "a")
    found = sum("match-number" in s["prediction"]["flags"] for s in steps("a") if s["prediction"])
    assert found > 0
    assert f"written elements matched: {found} by number" in told.out
    model = ("--model", script("without_letters"), *RANKED, "--protocol", "mindact-choice")
    for reader, status in (("strict", "parse_error"), ("reference", "no-letter")):
        told = call(*model, "--protocol-option", f"reader={reader}", "--details", "--out", reader)
        passed = sum(f"group-{status}" in s["prediction"]["flags"] for s in steps(reader))
        assert passed > 0
        assert f"unusable reply about some group: {passed} with {status}" in told.out
