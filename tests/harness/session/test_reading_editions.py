"""Runs whose replies another edition of the reading rules has read: scored, and not gone on with.

The older edition is today's reader; the newer one takes a reply that begins with `UNSURE.` as none
of the choices. Some steps then come out differently, and some dialogues ask something that is not
on record.
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
from harness.protocols import mindact_choice, seeact, seeact_choice
from harness.runs.records import SCHEMA
from parsers import READING, Answer, Status, read_answer
from tests.harness.commands.tool import (
    DEV,
    ONE_TASK,
    TEXT_ONLY,
    Called,
    call,
    calls,
    steps,
)
from tests.numbers import counts

FORMER = READING - 1
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


def of_former_edition(run: str) -> None:
    """Make the manifest one of a run that was read by the former edition."""
    of_edition(run, FORMER)


def of_edition(run: str, edition: int) -> None:
    path = Path(run) / "manifest.json"
    manifest = json.loads(path.read_text())
    assert manifest["reading"] == READING
    path.write_text(json.dumps({**manifest, "reading": edition}))


def run_by(reader: Callable[..., Answer], *line: str, out: str) -> Called:
    with reading(reader):
        called = call(*line, "--out", out)
    assert called.code == 0, called.err
    return called


def test_an_older_run_is_scored_by_today_s_rules_and_says_so() -> None:
    run_by(read_answer, *MODEL, *SOME, *TEXT_ONLY, out="a")
    of_former_edition("a")
    unsure = [c["reply"]["text"].startswith("UNSURE") for c in calls("a") if "2" in c["place"]]
    before = {path.name: path.read_bytes() for path in Path("a").iterdir()}
    with reading(cautious):
        again = call("score", "a")
    count = len(unsure)
    assert 0 < sum(unsure) < count
    *_, changed, edition = again.out.splitlines()
    assert changed == f"{sum(unsure)} of {count} predictions read differently than in the run"
    assert (
        edition == f"read by edition {FORMER} of the reading rules, and here by edition {READING}"
    )
    assert {path.name: path.read_bytes() for path in Path("a").iterdir()} == before


@pytest.mark.parametrize("line", [CHOICE, TOURNAMENT])
def test_scoring_keeps_what_it_would_have_to_ask_and_counts_it(line: tuple[str, ...]) -> None:
    run_by(read_answer, *MODEL, *line, out="a")
    run_by(cautious, *MODEL, *line, out="b")
    of_former_edition("a")
    with reading(cautious):
        shown = call("score", "a").out.splitlines()[-1]
        found = json.loads(call("score", "a", "--json=full").out)
    kept = counts(found)["flags"][f"read_by_{FORMER}"]
    assert f"; {kept} steps for which that asks something that is not on record keep" in shown
    # Nothing but the questions on record went into what was read anew.
    mine, theirs = ({c["id"]: c["conversation"] for c in calls(run)} for run in "ab")
    other = {s["step_id"] for s in steps("b") if any(mine.get(i) != theirs[i] for i in s["calls"])}
    assert 0 < len(other) <= kept < len(steps("a"))


def test_a_dialogue_that_differs_is_an_error_where_the_edition_is_the_same() -> None:
    run_by(read_answer, *MODEL, *CHOICE, "--limit", "1", out="a")
    run = Path("a")
    run.joinpath("steps.jsonl").write_text("")
    run.joinpath("summary.json").unlink()
    lines = run.joinpath("calls.jsonl").read_text().splitlines()
    changed = [json.loads(line) for line in lines]
    for line in changed:
        del line["checksum"]
        line["conversation"] = "0" * 64
    run.joinpath("calls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in changed))
    differs = call(*MODEL, *CHOICE, "--limit", "1", "--out", "a")
    assert differs.code == 2 and "asks something other than what is on record" in differs.err


@pytest.mark.parametrize("edition", [FORMER, READING + 1])
def test_a_run_of_another_edition_is_not_gone_on_with(edition: int) -> None:
    run_by(read_answer, *MODEL, *CHOICE, out="a")
    of_edition("a", edition)
    before = {path.name: path.read_bytes() for path in Path("a").iterdir()}
    refused = call(*MODEL, *CHOICE, "--out", "a")
    assert refused.code == 2
    assert refused.err.splitlines()[-1] == (
        f"vlm-eval: a was read by edition {edition} of the reading rules, and this version of "
        f"vlm-eval has edition {READING}: vlm-eval score a reads its replies anew"
    )
    assert {path.name: path.read_bytes() for path in Path("a").iterdir()} == before


def test_shards_of_different_editions_are_not_merged() -> None:
    for number in "12":
        shard = ("--shard", f"{number}/2", "--out", number)
        assert call("--model", "oracle", *DEV, *shard).code == 0
    of_former_edition("2")
    refused = call("merge", "1", "2", "--out", "all")
    assert (
        refused.code == 2 and f"2 was read by edition {FORMER} of the reading" in refused.complaint
    )


def test_every_command_refuses_a_run_of_another_format_in_one_line() -> None:
    line = ("--model", "oracle", *ONE_TASK, "--out", "a")
    assert call(*line).code == 0
    path = Path("a/manifest.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 2}))
    commands = [
        line,
        ("report", "a"),
        ("compare", "a", "a"),
        ("errors", "a"),
        ("score", "a"),
        ("show", "1", "--run", "a"),
        ("merge", "a", "--out", "b"),
        ("view", "a", "--out", "a.html"),
    ]
    for command in commands:
        refused = call(*command)
        assert refused.code == 2, command
        assert refused.err.splitlines()[-1] == (
            "vlm-eval: a was written by another version of vlm-eval (format 2; this one reads "
            f"format {SCHEMA})"
        )
