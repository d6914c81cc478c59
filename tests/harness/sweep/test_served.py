"""Sweeps over models behind servers that the sweep starts, and models asked in batches."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from adapters.served import SHARED
from tests.harness.commands.tool import call, replying
from tests.harness.sweep.test_sweeps import COMMON, states
from tests.servers import WireServer

OWN = f"{shlex.quote(sys.executable)} -m tests.servers.own {{model}} {{port}}"

REACT = replying()


@pytest.fixture(autouse=True)
def programs_find_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(Path(__file__).parents[3])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([root, *sys.path]))
    monkeypatch.delenv(SHARED, raising=False)


def test_runs_of_one_model_share_a_server_and_one_that_does_not_start_is_told_once() -> None:
    text = f"{COMMON}seed = [1, 2]\n"
    for model, command in (("bad-vl", f"{OWN} --broken"), ("fake-vl", OWN)):
        text += f'[[run]]\nmodel = "{model}"\nwith-server = {json.dumps(command)}\n'
    Path("s.toml").write_text(text)
    done = call("run", "--config", "s.toml", "--out", "o")
    assert done.code == 1
    assert states(done.out) == {
        "bad-vl seed=1": "not started",
        "bad-vl seed=2": "not started",
        "fake-vl seed=1": "complete",
        "fake-vl seed=2": "complete",
    }
    for model in ("fake-vl", "bad-vl"):
        assert Path(f"o/server-{model}.log").read_text().count(f"serving {model}") == 1
    assert done.out.count(": the server ended before it was ready (exit status 3); ") == 2
    assert SHARED not in os.environ
    # A run by itself has the same identity: its address is on record nowhere.
    manifests = [json.loads(path.read_text()) for path in Path("o").glob("fake*/manifest.json")]
    assert [one["config"]["base_url"] for one in manifests] == ["serve", "serve"]
    assert manifests[0]["sessions"][0]["settings"]["with_server"] == OWN
    # Nothing is left to ask the one that runs, so it is not started again.
    assert call("run", "--config", "s.toml", "--out", "o").code == 1
    assert Path("o/server-fake-vl.log").read_text().count("serving fake-vl") == 1


def test_runs_that_wait_for_a_provider_are_looked_at_until_they_are_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("harness.batches.passes.FIRST_WAIT_S", 0.01)
    common = COMMON.replace("adapter-option = {preflight = false}\ncache = false\n", "")
    with WireServer(REACT) as server:
        server.batches.switches.polls = 1000
        text = f'{common}seed = [1, 2]\n[[run]]\nmodel = "openai:m"\ntier = "batch"\n'
        text += f'base-url = "{server.base_url("openai")}"\n[[run]]\nmodel = "lexical"\n'
        Path("s.toml").write_text(text)
        line = ("run", "--config", "s.toml", "--out", "o", "--yes")
        first = call(*line)
        assert first.code == 3, first.err
        assert states(first.out) == {
            **dict.fromkeys(("openai:m seed=1", "openai:m seed=2"), "waiting"),
            **dict.fromkeys(("lexical seed=1", "lexical seed=2"), "complete"),
        }
        assert "seed=1: 1 batch with 7 requests at the provider (vlm-eval batches" in first.out
        assert call(*line, "--status").code == 3
        server.batches.switches.polls = 1
        waits = 'tier = "batch"\nadapter-option = {wait = true}\n'
        Path("s.toml").write_text(text.replace('tier = "batch"\n', waits))
        done = call(*line)
    assert done.code == 0, done.err
    assert set(states(done.out).values()) == {"complete"}
    assert "] lexical" not in done.err
