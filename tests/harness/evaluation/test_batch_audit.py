"""`vlm-eval batches RUN --audit N`: steps asked again at once, so that swapped replies show."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.commands.tool import TEXT_ONLY, call, calls, replying, whole_text
from tests.servers import Answer, Ask, Reaction, WireServer

RUN = ("--benchmark", "sample", "--split", "dev", "--limit", "3", *TEXT_ONLY)


def describing() -> Reaction:
    """A server whose reply in round 1 is about the page that it is shown, in many words."""
    second = replying()

    def react(ask: Ask) -> Answer:
        if ask.rounds:
            return second(ask)
        digest = hashlib.sha256(whole_text(ask).encode()).hexdigest()
        return Answer(text=" ".join(digest[n : n + 4] for n in range(0, 64, 4)))

    return react


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(describing()) as server:
        yield server


def in_batches(server: WireServer) -> None:
    url = server.base_url("openai")
    model = ("--model", "openai:m", "--base-url", url, "--workers", "1", "--progress", "off")
    args = (*model, *RUN, "--no-cache", "--yes", "--tier", "batch", "--out", "run")
    for _ in range(4):
        if call(*args).code == 0:
            return
    raise AssertionError("not complete")


def test_replies_that_belong_to_their_steps_are_most_like_those_to_them(
    server: WireServer,
) -> None:
    in_batches(server)
    asked = len(server.asks)
    done = call("batches", "run", "--audit", "5")
    assert done.code == 0, done.err
    assert "same answer: 5 of 5; reply most like that to its own step: 5 of 5" in done.out
    assert len(server.asks) - asked == 10, "two rounds of five steps, at once"
    assert {line["reply"].get("tier", "") for line in calls("run-audit")} == {""}
    # The same steps again cost nothing, and the two runs can be compared like any others.
    again = call("batches", "run", "--audit", "5")
    assert again.out == done.out
    assert len(server.asks) - asked == 10
    assert call("compare", "run", "run-audit").code == 0


def test_swapped_replies_are_seen(server: WireServer) -> None:
    server.batches.switches.swap = True
    in_batches(server)
    total = len({line["unit_id"] for line in calls("run")})
    done = call("batches", "run", "--audit", str(total))
    assert done.code == 1
    assert f"reply most like that to its own step: {total - 2} of {total}" in done.out
    assert done.out.count("like another step's") == 2
    first_rows = done.out.partition("\u2500\n")[2].splitlines()[:4]
    assert sum("like another step's" in row for row in first_rows) == 2, "the strangest come first"


def test_a_run_without_batches_has_nothing_to_audit(server: WireServer, place: Path) -> None:
    url = server.base_url("openai")
    model = ("--model", "openai:m", "--base-url", url, "--workers", "1", "--progress", "off")
    assert call(*model, *RUN, "--no-cache", "--yes", "--out", "run").code == 0
    done = call("batches", "run", "--audit", "5")
    assert done.code == 2
    assert "nothing to audit" in done.complaint
