"""What a start leaves behind that comes to nothing, and what a second session shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.commands.tool import ONE_TASK, TEXT_ONLY, at, call, replying
from tests.servers import WireServer, error

REFUSED = error(401, "Incorrect API key provided")


@pytest.mark.parametrize("preflight", [True, False])
def test_a_start_that_fails_leaves_no_directory(place: Path, preflight: bool) -> None:
    with WireServer(REFUSED) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, preflight=preflight)
        for out in ((), ("--out", "deep/er/a")):
            failed = call(*line, *out)
            assert failed.code == 2 and "Incorrect API key" in failed.err
            assert not (place / "runs").exists() and not (place / "deep").exists()
        (place / "kept").mkdir()
        assert call(*line, "--out", "kept/a").code == 2
        assert list((place / "kept").iterdir()) == []
        server.react = replying()
        assert call(*line, "--out", "kept/a").code == 0


def test_a_failure_after_the_first_reply_keeps_the_directory() -> None:
    answers = replying()
    with WireServer(lambda ask: answers(ask) if ask.number < 4 else REFUSED) as server:
        failed = call(*at(server, *ONE_TASK, *TEXT_ONLY, "--concurrency", "1", "--out", "a"))
        assert failed.code == 2
    assert Path("a/calls.jsonl").read_text().count("\n") == 3
