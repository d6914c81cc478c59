"""The result of a run in a few lines."""

from __future__ import annotations

import json
from pathlib import Path

from tests.harness.commands.tool import DEV, ONE_TASK, TEXT_ONLY, at, call, replying, summary
from tests.numbers import row
from tests.servers import WireServer

QUIET = ("--progress", "off", "--no-cache")


def numbers(line: str) -> list[str]:
    return line.replace("[", " ").replace("]", " ").replace(",", " ").replace("*", " ").split()


def test_the_result_is_at_most_ten_lines_and_has_the_numbers_of_the_summary() -> None:
    done = call("-m", "lexical", *DEV, *QUIET, "-o", "a")
    lines = [line for line in done.out.splitlines() if line]
    assert len(lines) <= 10
    found = summary("a")
    assert lines[0] == "lexical on sample (dev): 74 steps of 11 tasks"
    for head, key in (("Ele. Acc", "element"), ("Step SR", "success")):
        line = next(line for line in lines if line.startswith(head))
        rate = row(found, key)
        shown = (rate["number"], rate["low"], rate["high"], rate["chance"])
        assert numbers(line.removeprefix(head))[:4] == [f"{100 * one:.1f}" for one in shown]
    assert "not scored: 3 steps (2 no positive, 1 no screenshot)" in lines
    assert lines[-1] == "more: --details, or vlm-eval report a"


def test_json_is_all_that_standard_output_has() -> None:
    done = call("-m", "lexical", *DEV, "--limit", "1", "--json", "--progress", "plain", "-o", "a")
    assert json.loads(done.out)["directory"] == "a"
    assert "7/7 steps" in done.err


def test_dates_of_data_and_model_stand_in_the_result_with_a_word_on_contamination() -> None:
    Path("p.toml").write_text('["openai:m"]\nreleased = "2025-08"\n')
    with WireServer(replying()) as server:
        asked = at(server, *ONE_TASK, *TEXT_ONLY, "--prices", "p.toml", "--out", "m")
        called = call(*(word for word in asked if word != "--details"))
    assert "model released 2025-08" in called.out and "trained" not in called.out
    manifest = json.loads(Path("m/manifest.json").read_text())
    told = manifest["sessions"][0]["settings"]
    assert (told["data_published"], told["model_released"]) == ("", "2025-08")
    for data, older in (("2024", True), ("2025-07-01", True), ("2025", False), ("2026", False)):
        told["data_published"] = data
        Path("m/manifest.json").write_text(json.dumps(manifest))
        said = " ".join(call("report", "m").out.split())
        assert f"dates: data public since {data}, model released 2025-08" in said
        assert ("may have been trained on them" in said) is older
    Path("p.toml").write_text('["openai:m"]\nreleased = "last summer"\n')
    called = call("-m", "lexical", "-b", "sample", "--prices", "p.toml")
    assert "'openai:m': released must be a date such as 2025-08" in called.complaint
