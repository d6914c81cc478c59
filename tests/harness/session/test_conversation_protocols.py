"""Whole runs about conversations: baselines, whom else they ask, kills, what reaches a model."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from harness.benchmarks import StepDataset, open_steps
from harness.records import Row
from harness.runs import Run, open_run
from harness.runs.steps import turn_of
from tests.harness.benchmarks._conversations import SITE, turns_of, written
from tests.harness.commands.tool import benchmark_options, call, calls, summary
from tests.programs import Program
from tests.servers import Answer, Ask, WireServer

PROTOCOLS = ("mt-mindact", "mt-mindact-fixed", "mt-mindact-car", "mt-synapse", "self-map")
MT = ("run", "-b", "mt-mind2web", "--data", "data", "--progress", "off", "--no-cache")
PATIENCE_S = 120
PRICES = """
["openai:main"]
input = 1000
output = 2000
["openai:explains"]
input = 10
output = 20
["openai:vectors"]
input = 1
output = 0
"""


@pytest.fixture(scope="module")
def conversation() -> dict[str, Any]:
    """Four short turns, all of whose steps have an acceptable element."""
    turns = [
        {**turn, "actions": turn["actions"][:4], "action_reprs": turn["action_reprs"][:4]}
        for turn in islice(turns_of(["dev"]), 12)
    ]
    whole = [t for t in turns if all(action["pos_candidates"] for action in t["actions"])][:4]
    bare = [{key: turn[key] for key in turn if key not in SITE} for turn in whole]
    return {"task_id": "conversation", **{key: whole[0][key] for key in SITE}, "turns": bare}


@pytest.fixture(autouse=True)
def data(place: Path, conversation: dict[str, Any]) -> Path:
    """A folder with that conversation."""
    return written(place / "data", [conversation])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_oracle_is_always_right_and_a_run_is_scored_from_its_record(protocol: str) -> None:
    asked = (*MT, "--protocol", protocol)
    assert (
        call(
            *asked, "-m", "oracle", "--benchmark-option", "candidates=snapshot", "-o", "oracle"
        ).code
        == 0
    )
    scores = [record.scores for record in open_run(Path("oracle")).records()]
    assert len(scores) > 8 and all(score and score["success"] == 1.0 for score in scores)
    # The data is not needed any more, nor is anybody asked.
    Path("data").rename("elsewhere")
    assert f"\n0 of {len(scores)} predictions" in call("score", "oracle").out


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(lambda ask: Answer(text=said(ask))) as server:
        yield server


def said(ask: Ask) -> str:
    return "It leads there." if ask.model == "explains" else "Element: <a id=0>\nAction: CLICK"


def line(server: WireServer, *more: str) -> list[str]:
    url = server.base_url("openai")
    return [
        *(
            *MT,
            "-m",
            "openai:main",
            "--base-url",
            url,
            "--protocol",
            "self-map",
            "--adapter-option=preflight=no",
        ),
        *("--ranker", "lexical", *benchmark_options("top_k=5", "missed=ask")),
        *("--role", "rationale=openai:explains", "--role", f"rationale.base_url={url}"),
        *("--role", "embedding=openai:vectors", "--role", f"embedding.base_url={url}"),
        *more,
    ]


def sent_to(server: WireServer, start: int = 0) -> dict[str, Counter[str]]:
    """What was sent to whom: conversations, and every single text that was embedded."""
    sent: dict[str, Counter[str]] = {name: Counter() for name in ("main", "explains", "vectors")}
    for ask in server.asks[start:]:
        sent[ask.model].update(ask.body.get("input") or [repr(ask.body["messages"])])
    return sent


def test_what_a_conversation_needs_once_is_asked_once_and_its_cost_told_apart(
    server: WireServer,
) -> None:
    Path("prices.toml").write_text(PRICES)
    assert call(*line(server, "--prices", "prices.toml", "-o", "run")).code == 0
    sent = sent_to(server)
    steps = summary("run")["rows"]["asked"]
    assert sent["main"].total() == steps
    assert set(sent["explains"].values()) == {1}
    bank = [text for text in sent["vectors"] if "\nActions: [" in text and "; [" not in text]
    assert len(bank) > 10
    told = summary("run")["by_role"]
    assert told["rationale"]["calls"] == sent["explains"].total()
    assert told["rationale"]["cost"] == pytest.approx(sent["explains"].total() * 1200 / 1e6)
    assert told["embedding"]["cost"] > 0 and told[""]["cost"] > told["rationale"]["cost"]
    dry = call(*line(server, "--prices", "prices.toml", "--dry-run", "-o", "other")).out
    assert "rationale (openai:explains): " in dry and "embedding (openai:vectors): " in dry
    shared = [one for one in calls("run") if one.get("asked_by")]
    assert {one["role"] for one in shared} == {"rationale", "embedding"}


@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
def test_a_run_that_is_killed_in_a_conversation_asks_for_nothing_again() -> None:
    process: Program | None = None
    questions = 0

    def react(ask: Ask) -> Answer:
        nonlocal questions
        if ask.model == "main" and process is not None:
            questions += 1
            if questions == 12:
                process.send_signal(signal.SIGKILL)
        return Answer(text=said(ask))

    def start(server: WireServer) -> Program:
        return Program("-m", "harness", *line(server, "--concurrency", "2", "-o", "run"))

    with WireServer(react) as server:
        process = start(server)
        assert process.wait(PATIENCE_S) == -signal.SIGKILL
        process, before = None, server.count
        killed = open_run(Path("run"))
        recorded = Counter(record.role for record in killed.calls())
        assert recorded["rationale"] and recorded["embedding"] and recorded[""]
        known = explained(killed), embedded(killed)
        assert start(server).wait(PATIENCE_S) == 0
        again = sent_to(server, before)
        assert call(*line(server, "-o", "whole")).code == 0

    done, whole = open_run(Path("run")), open_run(Path("whole"))
    assert done.complete
    # Not one rationale or vector that was on record was asked for a second time.
    assert len(explained(done)) == len(known[0]) + again["explains"].total()
    assert len(embedded(done)) == len(known[1]) + again["vectors"].total()
    assert explained(done) == explained(whole) and embedded(done) == embedded(whole)
    outcomes = [
        sorted((r.unit_id, repr(r.prediction), repr(r.scores)) for r in run.records())
        for run in (done, whole)
    ]
    assert outcomes[0] == outcomes[1]


def explained(run: Run) -> list[str]:
    return sorted(record.place for record in run.calls() if record.role == "rationale")


def embedded(run: Run) -> list[str]:
    made = [record.embed for record in run.calls() if record.embed is not None]
    return sorted(text for one in made for text in one.texts or ())


def rows(folder: Path) -> tuple[StepDataset, list[Row]]:
    dataset = open_steps("mt-mind2web", splits=["test_task"], data=folder)
    return dataset, [row for row in dataset.rows() if turn_of(row)][::2]
