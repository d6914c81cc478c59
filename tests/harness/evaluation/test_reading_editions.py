"""Runs whose replies an older edition of the reading rules has read: scored, and gone on with.

The older edition is today's reader; the newer one takes a reply that begins with `UNSURE.` as none
of the choices, or the other way round. So some steps come out differently, and some dialogues ask
something that is not on record.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.contract import Request
from harness.evaluation import evaluate
from harness.protocols import mindact_choice, seeact, seeact_choice
from harness.runs import revision
from parsers import Answer, Status, read_answer
from tests.harness.commands.tool import (
    DEV,
    ONE_TASK,
    TEXT_ONLY,
    Called,
    at,
    call,
    calls,
    replying,
    steps,
    summary,
)
from tests.servers import Ask, WireServer

UNSURE = "UNSURE.\nELEMENT: A\nACTION: CLICK\nVALUE: None"
SURE = "ELEMENT: B\nACTION: CLICK\nVALUE: None"
PRICES = '["openai:m"]\ninput = 1000.0\noutput = 2000.0\n'
SOME = (*DEV, "--limit", "3")
CHOICE = (*SOME, "--protocol", "seeact-choice", "--ranker", "lexical", "--no-cache")
TOURNAMENT = (*SOME, "--protocol", "mindact-choice", "--ranker", "lexical", "--no-cache")


def sometimes_unsure(request: Request) -> str:
    """Always the same answer to the same question, unsure in a third of them."""
    drawn = hashlib.sha256(request.conversation.digest().encode()).digest()
    letter = "ABCDE"[drawn[0] % 5]
    unsure = "UNSURE.\n" if drawn[1] % 3 == 0 else ""
    if request.place.startswith("group"):
        return f"{unsure}Answer: {letter}.\nAction: CLICK\nValue: None"
    return f"{unsure}ELEMENT: {letter}\nACTION: CLICK\nVALUE: None"


MODEL = ("--model", f"scripted:{__name__}:sometimes_unsure", "--progress", "off")


def cautious(text: str, *more: Any, **options: Any) -> Answer:
    """The other reader."""
    answer = read_answer(text, *more, **options)
    if text.startswith("UNSURE.") and answer.option is not None:
        return replace(answer, status=Status.NONE, option=None)
    return answer


@contextmanager
def reading(reader: Callable[..., Answer]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (seeact, seeact_choice, mindact_choice):
            patch.setattr(module, "read_answer", reader)
        yield


def of_first_edition(run: str) -> None:
    """Make the manifest one of a version that knew no editions."""
    path = Path(run) / "manifest.json"
    manifest = json.loads(path.read_text())
    assert manifest.pop("reading") == 2
    path.write_text(json.dumps(manifest))


def manifest(run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(run) / "manifest.json").read_text())
    return found


def run_by(reader: Callable[..., Answer], *line: str, out: str) -> Called:
    with reading(reader):
        called = call(*line, "--out", out)
    assert called.code == 0, called.err
    return called


def outcomes(run: str) -> list[tuple[object, ...]]:
    keys = ("prediction", "scores", "settled", "calls", "usage", "cost")
    return sorted((s["step_id"], *(str(s[key]) for key in keys)) for s in steps(run))


def test_a_run_says_by_which_edition_it_was_read() -> None:
    assert call("--model", "oracle", *ONE_TASK, "--out", "a").code == 0
    assert manifest("a")["reading"] == 2
    assert "reread" not in manifest("a")


def test_an_older_run_is_scored_by_today_s_rules_and_says_so() -> None:
    run_by(read_answer, *MODEL, *SOME, *TEXT_ONLY, out="a")
    of_first_edition("a")
    unsure = [c["reply"]["text"].startswith("UNSURE") for c in calls("a") if "2" in c["place"]]
    before = {path.name: path.read_bytes() for path in Path("a").iterdir()}
    with reading(cautious):
        again = call("score", "a")
    count = len(unsure)
    assert 0 < sum(unsure) < count
    *_, changed, edition = again.out.splitlines()
    assert changed == f"{sum(unsure)} of {count} predictions read differently than in the run"
    assert edition == "read by edition 1 of the reading rules, and here by edition 2"
    assert {path.name: path.read_bytes() for path in Path("a").iterdir()} == before


def test_going_on_with_an_older_run_reads_it_anew_without_a_call() -> None:
    run_by(read_answer, *MODEL, *SOME, *TEXT_ONLY, out="a")
    run_by(cautious, *MODEL, *SOME, *TEXT_ONLY, out="b")
    of_first_edition("a")
    asked, read = len(calls("a")), sum(s["prediction"] is not None for s in steps("a"))
    again = run_by(cautious, *MODEL, *SOME, *TEXT_ONLY, out="a")
    assert f"{read} settled steps read anew, before by edition 1" in again.err
    assert "0 to be asked what is not on record" in again.err
    assert (manifest("a")["reading"], manifest("a")["reread"]) == (2, read)
    assert len(calls("a")) == asked
    assert outcomes("a") == outcomes("b")
    assert {**summary("a"), "run": "b"} == summary("b")
    assert not (Path("a") / "set_aside.jsonl").exists()
    assert "read anew" not in run_by(cautious, *MODEL, *SOME, *TEXT_ONLY, out="a").err


@pytest.mark.parametrize("line", [CHOICE, TOURNAMENT])
@pytest.mark.parametrize("turned", [False, True])
def test_what_is_asked_anew_ends_as_if_it_had_been_asked_so_at_first(
    line: tuple[str, ...], turned: bool
) -> None:
    older, newer = (cautious, read_answer) if turned else (read_answer, cautious)
    run_by(older, *MODEL, *line, out="a")
    run_by(newer, *MODEL, *line, out="b")
    assert outcomes("a") != outcomes("b")
    of_first_edition("a")
    run_by(newer, *MODEL, *line, out="a")
    assert outcomes("a") == outcomes("b")
    known = {(c["id"], c["conversation"]) for c in calls("b")}
    assert {(c["id"], c["conversation"]) for c in calls("a")} == known
    assert len(calls("a")) == len(known)
    measured = manifest("a")["sessions"][-1]["measured"]["reread"]
    assert measured["steps"] == manifest("a")["reread"] > 0
    assert measured["changed"] + measured["asked"] > 0
    with reading(newer):
        assert call("score", "a").out.splitlines()[-1].startswith("0 of ")


@pytest.mark.parametrize("line", [CHOICE, TOURNAMENT])
def test_scoring_keeps_what_it_would_have_to_ask_and_counts_it(line: tuple[str, ...]) -> None:
    run_by(read_answer, *MODEL, *line, out="a")
    run_by(cautious, *MODEL, *line, out="b")
    of_first_edition("a")
    with reading(cautious):
        shown = call("score", "a").out.splitlines()[-1]
        found = json.loads(call("score", "a", "--json").out)
    kept = found["total"]["metrics"]["counts"]["flags"]["read_by_1"]
    assert f"; {kept} steps for which that asks something that is not on record keep" in shown
    # Nothing but the questions on record went into what was read anew.
    mine, theirs = ({c["id"]: c["conversation"] for c in calls(run)} for run in "ab")
    other = {s["step_id"] for s in steps("b") if any(mine.get(i) != theirs[i] for i in s["calls"])}
    assert 0 < len(other) <= kept < len(steps("a"))


def test_new_calls_are_counted_and_priced_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("prices.toml").write_text(PRICES)

    def answer(ask: Ask) -> str:
        return UNSURE if "rolling pins" in json.dumps(ask.messages) else SURE

    with WireServer(replying(answer)) as server:
        line = at(server, *CHOICE, *TEXT_ONLY, "--prices", "prices.toml")
        run_by(read_answer, *line, "--yes", out="a")
        of_first_edition("a")
        paid = sum(c["cost"] for c in calls("a"))
        before, asked = Path("a/calls.jsonl").read_bytes(), server.count
        monkeypatch.setattr(evaluate, "CONFIRM_FROM", 0)
        with reading(cautious):
            refused = call(*line, "--out", "a")
        assert refused.code == 2
        assert "without a terminal to ask on, say --yes or --max-cost" in refused.err
        told = [one for one in refused.err.splitlines() if one.startswith("new calls: ")]
        assert len(told) == 1 and "$" in told[0]
        assert server.count == asked
        assert Path("a/calls.jsonl").read_bytes() == before
        assert "reading" not in manifest("a")
        with reading(cautious):
            stopped = call(*line, "--out", "a", "--max-cost", f"{paid + 0.001}")
        assert stopped.code == 1 and "cost limit reached" in stopped.err
        assert server.count == asked
        run_by(cautious, *line, "--yes", out="a")
        least, most = map(int, told[0].split()[2:5:2][:1] + told[0].replace(",", "").split()[4:5])
        assert least <= server.count - asked <= most


def test_calls_that_nobody_asks_for_any_more_are_set_aside_and_stay_paid() -> None:
    Path("prices.toml").write_text(PRICES)
    with WireServer(replying(UNSURE)) as server:
        line = at(server, *CHOICE, *TEXT_ONLY, "--prices", "prices.toml", "--yes")
        run_by(cautious, *line, out="a")
        of_first_edition("a")
        paid, asked = sum(c["cost"] for c in calls("a")), server.count
        run_by(read_answer, *line, out="a")
        assert server.count == asked
    left = calls("a")
    aside = [json.loads(x) for x in Path("a/set_aside.jsonl").read_text().splitlines()]
    assert len(left) + len(aside) == asked and aside
    unrecorded = manifest("a")["unrecorded"]
    assert unrecorded == pytest.approx(sum(c["cost"] for c in aside))
    assert unrecorded + sum(c["cost"] for c in left) == pytest.approx(paid)
    assert sum(s["cost"] or 0 for s in steps("a")) == pytest.approx(sum(c["cost"] for c in left))


@pytest.mark.parametrize("file", ["steps", "calls", "manifest"])
def test_a_rereading_that_was_cut_short_is_done_again(
    monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    run_by(read_answer, *MODEL, *CHOICE, out="a")
    run_by(cautious, *MODEL, *CHOICE, out="b")
    of_first_edition("a")

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    at_which = {"steps": "set_calls_aside", "calls": "move_lines", "manifest": "write_manifest"}
    with monkeypatch.context() as patch, pytest.raises(Killed), reading(cautious):
        patch.setattr(revision, at_which[file], killed)
        call(*MODEL, *CHOICE, "--out", "a")
    run_by(cautious, *MODEL, *CHOICE, out="a")
    assert outcomes("a") == outcomes("b")
    assert manifest("a")["reading"] == 2


def test_a_dialogue_that_differs_is_an_error_where_the_edition_is_the_same() -> None:
    run_by(read_answer, *MODEL, *CHOICE, "--limit", "1", out="a")
    run = Path("a")
    run.joinpath("steps.jsonl").write_text("")
    for name in ("summary.json", "steps.parquet"):
        run.joinpath(name).unlink()
    lines = run.joinpath("calls.jsonl").read_text().splitlines()
    changed = [json.loads(line) for line in lines]
    for line in changed:
        del line["checksum"]
        line["conversation"] = "0" * 64
    run.joinpath("calls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in changed))
    differs = call(*MODEL, *CHOICE, "--limit", "1", "--out", "a")
    assert differs.code == 2 and "asks something other than what is on record" in differs.err
    # The same, in a run of an older edition: what is on record is set aside, and asked again.
    of_first_edition("a")
    run_by(read_answer, *MODEL, *CHOICE, "--limit", "1", out="a")
    assert all(c["conversation"] != "0" * 64 for c in calls("a"))


def test_a_run_of_a_newer_edition_is_not_gone_on_with() -> None:
    assert call("--model", "oracle", *ONE_TASK, "--out", "a").code == 0
    newer = {**manifest("a"), "reading": 3}
    Path("a/manifest.json").write_text(json.dumps(newer))
    refused = call("--model", "oracle", *ONE_TASK, "--out", "a")
    assert refused.code == 2 and "read by edition 3 of the reading rules" in refused.complaint


def test_shards_of_different_editions_are_not_merged() -> None:
    for number in "12":
        shard = ("--shard", f"{number}/2", "--out", number)
        assert call("--model", "oracle", *DEV, *shard).code == 0
    of_first_edition("2")
    refused = call("merge", "1", "2", "--out", "all")
    assert refused.code == 2 and "2 was read by edition 1 of the reading rules" in refused.complaint
    of_first_edition("1")
    assert call("merge", "1", "2", "--out", "all").code == 0
    assert "reading" not in manifest("all")


def test_runs_of_different_editions_are_not_ranked() -> None:
    for out in "ab":
        assert call("--model", "lexical", *ONE_TASK, "--out", out).code == 0
    of_first_edition("a")
    shown = " ".join(call("report", "a", "b").out.split())
    assert "not ranked: the runs were not measured alike, but differ in reading" in shown
    refused = call("compare", "a", "b")
    assert refused.code == 2 and "scored by different rules (reading (1 and 2))" in refused.err
