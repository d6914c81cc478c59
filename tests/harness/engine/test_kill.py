"""`kill -9` at any instant, again and again: nothing on record is asked again, nothing is lost.

What was asked is counted by the server. The command that is killed is a parameter, so that the same
test serves every program that writes run directories against a chat server.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from harness.runs import CallRecord, open_run
from tests.harness.engine.counting_server import CountingServer, Messages, first_round, key_of
from tests.programs import Program

HERE = Path(__file__).parent
STEPS, CONCURRENCY = 150, 6
SAMPLE_STEPS = 74
"""Valid steps of the sample's dev split."""
PATIENCE_S = 60

Kind = Literal["answered", "between", "writing"]
Command = Callable[[Path, str], list[str]]
"""From the run directory and the server's URL to the program and its arguments."""


def engine_alone(run: Path, url: str) -> list[str]:
    return [str(HERE / "child.py"), str(run), url, str(STEPS), str(CONCURRENCY)]


def command_line(run: Path, url: str) -> list[str]:
    """The real thing: the sample, its pictures (small ones), OpenAI's SDK."""
    options = {
        "--model": "openai:counted",
        "--base-url": url,
        "--benchmark": "sample",
        "--split": "dev",
        "--image-policy": "viewport:viewport_height=200",
        "--concurrency": str(CONCURRENCY),
        "--progress": "off",
        "--out": str(run),
    }
    given = [part for pair in options.items() for part in pair]
    return ["-m", "harness", "run", *given, "--no-cache", "--adapter-option=preflight=no"]


SAMPLES = 3


def voting(run: Path, url: str) -> list[str]:
    """The same with samples that vote, each with its own seed and so its own reply."""
    samples = [
        "--samples",
        str(SAMPLES),
        "--temperature",
        "0.9",
        "--adapter-option",
        "model_seed=5",
    ]
    return [*command_line(run, url), *samples]


def kills(seed: int, rounds: int) -> list[tuple[Kind, int]]:
    """Which kills and after how many events of their kind, in random order: 3 in each round."""
    chance = random.Random(seed)
    plan: list[tuple[Kind, int]] = [("answered", chance.randint(1, 14)) for _ in range(rounds)]
    plan += [("between", chance.randint(1, 6)) for _ in range(rounds)]
    plan += [("writing", chance.randint(1, 10)) for _ in range(rounds)]
    chance.shuffle(plan)
    return plan


def start(command: Sequence[str], before: Sequence[str] = ()) -> Program:
    # Not the checkout: what is installed is what is tested.
    return Program(*before, *command, cwd=HERE.anchor)


class Killer:
    """Starts the program and kills it at the planned moment, as seen by the server."""

    def __init__(self, server: CountingServer, run: Path, command: Command) -> None:
        self.server = server
        self.run = run
        self.command = command
        self.caught: Messages | None = None
        self._left = 0
        self._counting = threading.Lock()

    def kill(self, kind: Kind, number: int) -> None:
        self.server.new_client()
        self.caught, self._left = None, number
        before = [str(HERE / "tear.py"), str(number)] if kind == "writing" else []
        process = start(self.command(self.run, self.server.url), before)

        def answered(count: int) -> None:
            if count == number:
                process.send_signal(signal.SIGKILL)

        def asked(messages: Messages) -> None:
            if first_round(messages) is None:
                return
            with self._counting:  # The server's threads ask at the same time.
                self._left -= 1
                is_last = self._left == 0
            if is_last:
                process.send_signal(signal.SIGKILL)
                self.caught = messages

        if kind == "answered":
            self.server.on_answered = answered
        elif kind == "between":
            self.server.on_asked = asked
        code = process.wait(PATIENCE_S)
        self.server.drain()
        self.server.on_answered = lambda count: None
        self.server.on_asked = lambda messages: None
        assert code == -signal.SIGKILL, "the process had finished before it was killed"
        # The line that is torn may be that of a row which nobody is asked about.
        asked_something = kind == "writing" or bool(self.server.asked_by_client)
        assert asked_something, "the process was killed before it had asked anything"


def synced(run: Path) -> set[str]:
    """The keys of the calls on record."""
    return {record.reply.request_id for record in open_run(run).calls()}


def timeless(record: CallRecord) -> CallRecord:
    return replace(record, reply=replace(record.reply, latency_s=0.0))


def nameless(summary: dict[str, Any] | None) -> dict[str, Any]:
    """A summary without what differs between two directories of one run."""
    assert summary is not None
    return {key: value for key, value in summary.items() if key != "run"}


pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")


@pytest.mark.parametrize(
    ("command", "steps", "rounds"),
    [(engine_alone, STEPS, 3), (command_line, SAMPLE_STEPS, 1)],
)
def test_killed_runs_repeat_nothing_on_record_and_end_like_uninterrupted_ones(
    tmp_path: Path, command: Command, steps: int, rounds: int
) -> None:
    _kill_again_and_again(tmp_path, command, steps, rounds)


def test_killed_runs_of_samples_that_vote_do_the_same(tmp_path: Path) -> None:
    _kill_again_and_again(tmp_path, voting, SAMPLES * SAMPLE_STEPS, rounds=4)


def _kill_again_and_again(tmp_path: Path, command: Command, steps: int, rounds: int) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    plan = kills(seed=20, rounds=rounds)
    # Samples asked together free their slot when they are answered, just before they are synced.
    most = 2 * CONCURRENCY if command is voting else CONCURRENCY
    with CountingServer() as server:
        killer = Killer(server, killed, command)
        on_record: set[str] = set()
        for kind, number in plan:
            killer.kill(kind, number)
            asked_again = set(server.asked_by_client) & on_record
            assert not asked_again, "calls on record were asked again"
            on_record = synced(killed)
            lost = {key for key in server.asked_by_client if key not in on_record}
            assert len(lost) <= most
            if kind == "between":
                assert killer.caught is not None
                assert first_round(killer.caught) in on_record
                assert key_of(killer.caught) not in on_record
            if kind == "writing":
                torn = [p for p in killed.glob("*.jsonl") if not _ends_in_newline(p)]
                assert len(torn) == 1
        server.new_client()
        assert start(command(killed, server.url)).wait(PATIENCE_S) == 0
        assert not set(server.asked_by_client) & on_record
        assert sum(n - 1 for n in server.asked.values()) <= most * len(plan)
        assert len(server.asked) == 2 * steps
        assert start(command(whole, server.url)).wait(PATIENCE_S) == 0

    one, other = open_run(killed), open_run(whole)
    assert one.records() == other.records()
    assert nameless(one.summary) == nameless(other.summary)
    calls, wanted = ([*map(timeless, run.calls())] for run in (one, other))
    assert sorted(calls, key=lambda c: c.id) == sorted(wanted, key=lambda c: c.id)


def _ends_in_newline(path: Path) -> bool:
    data = path.read_bytes()
    return not data or data.endswith(b"\n")
