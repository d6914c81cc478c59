"""Whatever prints an incomplete run says so in its heading."""

from __future__ import annotations

import pytest

from tests.harness.commands.tool import ONE_TASK, TEXT_ONLY, at, call, replying
from tests.servers import WireServer, error

KINDS = [("score", "a"), ("report", "a"), ("report", "a", "--compact"), ("errors", "a")]
KINDS += [("report", "a", "--table", "status"), ("report", "a", "--table", "cost")]


def incomplete() -> tuple[str, str]:
    """Make a run of seven steps whose last four have no reply; return its table in both forms."""
    good = replying()
    with WireServer(
        lambda ask: good(ask) if server.count <= 6 else error(500, "out of order")
    ) as server:
        line = at(
            server,
            *ONE_TASK,
            *TEXT_ONLY,
            "--no-cache",
            "--out",
            "a",
            "--adapter-option",
            "attempts=1",
        )
        line = (*line, "--concurrency", "1")
        details = call(*line).out
        brief = call(*(word for word in line if word != "--details")).out
    return details, brief


def test_an_incomplete_run_is_headed_so_wherever_it_is_printed() -> None:
    for text in incomplete():
        assert text.lstrip().startswith("INCOMPLETE: 3 of 7 steps")
    for command in KINDS:
        shown = call(*command)
        assert shown.code == 0, shown.err
        assert "INCOMPLETE: 3 of 7 steps" in shown.out, command


@pytest.mark.parametrize("command", KINDS)
def test_a_complete_run_is_not(command: tuple[str, ...]) -> None:
    with WireServer(replying()) as server:
        assert call(*at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a")).code == 0
    assert "INCOMPLETE" not in call(*command).out


def test_an_incomplete_shard_does_not_count_the_others() -> None:
    with WireServer(error(500, "out of order")) as server:
        line = at(server, "-b", "sample", *TEXT_ONLY, "--shard", "1/2", "--out", "a")
        text = call(*line, "--adapter-option", "attempts=1", "--concurrency", "1").out
    assert text.lstrip().startswith("INCOMPLETE: ")
    assert " of " not in text.splitlines()[0]
