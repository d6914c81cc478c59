"""Runs over the Responses wire: the record, going on from it, and what is refused beforehand."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

import pytest

from tests.harness.commands.tool import ONE_TASK, TEXT_ONLY, at, call, calls, replying, start
from tests.servers import Answer, Ask, WireServer, error

WIRE = ("--adapter-option", "wire=responses")
EFFORT = ("--adapter-option", "effort=low")
PATIENCE_S = 60.0


def thinking(ask: Ask) -> Answer:
    """Good replies with hidden reasoning that depends on what was asked."""
    text = replying()(ask).text
    return Answer(text, thinking=f"thought of {len(json.dumps(ask.messages))}")


def rounds(server: WireServer, number: int) -> list[str]:
    """The bodies of the first, or the second, rounds, sorted."""
    asked = [ask for ask in server.asks if ask.messages and ask.rounds == number]
    return sorted(json.dumps(ask.body) for ask in asked)


def test_a_run_goes_on_from_its_record_with_the_very_same_items() -> None:
    """The second rounds fail at first; they are then asked from replies on record."""
    line = (*ONE_TASK, *TEXT_ONLY, *WIRE, *EFFORT, "--no-cache", "--concurrency", "1")
    broken = threading.Event()
    broken.set()

    def react(ask: Ask) -> Answer:
        return error(401, "no") if broken.is_set() and ask.rounds else thinking(ask)

    with WireServer(react) as server:
        assert call(*at(server, *line, "--out", "a")).code == 2
        [failed] = rounds(server, 1)
        broken.clear()
        assert call(*at(server, *line, "--out", "a")).code == 0
        again = rounds(server, 1)
        assert len(rounds(server, 0)) == 7, "no first round is asked twice"
    assert failed in again
    items = json.loads(failed)["input"]
    assert [item.get("type") for item in items] == [None, "reasoning", "message", None]
    assert items[1]["encrypted_content"].startswith("gAAAA")
    assert {call_["reply"]["sent"]["include"][0] for call_ in calls("a")} == {
        "reasoning.encrypted_content"
    }


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs signals")
def test_a_killed_run_asks_the_rest_as_it_would_have() -> None:
    line = (*ONE_TASK, *TEXT_ONLY, *WIRE, *EFFORT, "--no-cache", "--concurrency", "2")
    reached, held = threading.Event(), threading.Event()

    def react(ask: Ask) -> Answer:
        if ask.number > 5 and not held.is_set():
            reached.set()
            held.wait(PATIENCE_S)
        return thinking(ask)

    with WireServer(react) as server:
        process = start(*at(server, *line, "--out", "a"))
        assert reached.wait(PATIENCE_S)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)
        held.set()
        before = server.count
        kept = len(calls("a"))
        assert call(*at(server, *line, "--out", "a")).code == 0
        assert server.count - before == 14 - kept, "what is on record is not asked again"
        asked = {*rounds(server, 0), *rounds(server, 1)}
    with WireServer(thinking) as straight:
        assert call(*at(straight, *line, "--out", "b")).code == 0
    assert asked == {*rounds(straight, 0), *rounds(straight, 1)}
    assert kept and len(calls("a")) == len(calls("b")) == 14


def test_the_wires_are_different_runs() -> None:
    with WireServer(replying()) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--out", "a")
        assert call(*line).code == 0
        asked = server.count
        refused = call(*line, *WIRE)
        assert (refused.code, server.count) == (2, asked)
        assert "wire" in refused.err
        # Replies of the other wire are not taken from the cache.
        assert call(*at(server, *ONE_TASK, *TEXT_ONLY, *WIRE, "--cache", "--out", "b")).code == 0
        assert server.count == 2 * asked
    paths = [ask.path for ask in server.asks]
    assert paths == ["/v1/chat/completions"] * asked + ["/v1/responses"] * asked
