"""`kill -9` in the middle of a step with many calls, some of them asked side by side."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from harness.runs import CallRecord, StepUnit, open_run
from tests.harness.engine.counting_server import CountingServer
from tests.programs import Program

CONCURRENCY, PATIENCE_S = 6, 60
LEXICAL = ("--ranker", "lexical", "--benchmark-option", "top_k=18")
PROTOCOLS = {
    # Tuples: groups of a tournament, and batches of both rounds side by side.
    "mindact-choice": LEXICAL,
    "seeact-choice": (
        *LEXICAL,
        *("--protocol-option", "batch_size=6", "--protocol-option", "eager=true"),
    ),
}


def start(run: Path, url: str, protocol: str) -> Program:
    line = ["run", "--model", "openai:counted", "--base-url", url, "--benchmark", "sample"]
    line += ["--split", "dev", "--limit", "1", "--protocol", protocol, *PROTOCOLS[protocol]]
    line += ["--concurrency", str(CONCURRENCY), "--progress", "off", "--out", str(run)]
    words = ("-m", "harness", *line, "--no-cache", "--adapter-option=preflight=no")
    return Program(*words, cwd=Path(__file__).anchor)


def killed_after(server: CountingServer, run: Path, protocol: str, calls: int) -> None:
    """Start the run and kill it when so many of its calls have been answered."""
    server.new_client()
    process = start(run, server.url, protocol)

    def answered(number: int) -> None:
        if number == calls:
            process.send_signal(signal.SIGKILL)

    server.on_answered = answered
    code = process.wait(PATIENCE_S)
    server.drain()
    server.on_answered = lambda number: None
    assert code == -signal.SIGKILL, "the process had finished before it was killed"


def outcomes(records: list[StepUnit]) -> list[tuple[str, str, str]]:
    return sorted((r.unit_id, repr(r.prediction), repr(r.scores)) for r in records)


def exchanged(records: list[CallRecord]) -> list[tuple[str, str, str]]:
    return sorted((r.unit_id, r.place, r.reply.text) for r in records)


@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_killed_protocols_repeat_no_call_on_record(tmp_path: Path, protocol: str) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    with CountingServer() as server:
        killed_after(server, killed, protocol, calls=11)
        records = (record for record in open_run(killed).calls() if not record.from_cache)
        on_record = Counter(record.reply.request_id for record in records)
        assert on_record
        assert len(server.asked_by_client) - on_record.total() <= CONCURRENCY
        server.new_client()
        assert start(killed, server.url, protocol).wait(PATIENCE_S) == 0
        # Batches may show the same part of the page, so that their first rounds are one question.
        then = Counter(server.asked_by_client)
        server.new_client()
        assert start(whole, server.url, protocol).wait(PATIENCE_S) == 0
        assert on_record + then == Counter(server.asked_by_client)

    one, other = open_run(killed), open_run(whole)
    assert one.complete
    assert outcomes(list(one.records())) == outcomes(list(other.records()))
    assert exchanged(list(one.calls())) == exchanged(list(other.calls()))
