"""Commands that a command prints can be given as they are printed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.harness.commands.tool import ONE_TASK, TEXT_ONLY, at, call, replying
from tests.servers import WireServer


@pytest.fixture(params=["plain", "with space", "it's; $(x) *"])
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def words(text: str, begin: str) -> list[str]:
    """The words of the last command in a text that begins so."""
    joined = " ".join(text.split())
    return shlex.split(begin + joined.rpartition(begin)[2].partition(". ")[0])


def test_the_report_that_a_run_offers_can_be_given(target: str) -> None:
    with WireServer(replying()) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", target)
        out = call(*(word for word in line if word != "--details")).out
    [offered] = [one for one in out.splitlines() if "vlm-eval report" in one]
    _, *command = shlex.split(offered.partition("or ")[2])
    assert call(*command).code == 0


def test_the_score_of_a_run_read_otherwise_names_it(target: str) -> None:
    with WireServer(replying()) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", target)
        assert call(*line).code == 0
        manifest = Path(target) / "manifest.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"reading": 1}))
        told = call(*line).err
    assert words(told, "vlm-eval score")[2] == target
