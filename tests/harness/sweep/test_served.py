"""Sweeps over models behind servers that the sweep starts, and models asked in batches."""

from __future__ import annotations

import json
import os
import shlex
import sys
import threading
from pathlib import Path

import pytest

from harness.serve.server import SHARED
from tests.harness.commands.tool import call, replying
from tests.harness.sweep.test_sweeps import COMMON, states
from tests.servers import Ask
from tests.servers.wire import body_of

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


def answer(folder: Path) -> None:
    """Do what `vllm run-batch` would with the requests of the runs in a folder."""
    for requests in folder.glob("*/batches/0*.requests.jsonl"):
        answers = requests.with_name(requests.name.replace(".requests.", ".answers."))
        lines = []
        for line in [] if answers.exists() else requests.read_text().splitlines():
            asked = json.loads(line)
            ask = Ask(1, "openai", asked["url"], {}, asked["body"])
            response = {"status_code": 200, "request_id": "r", "body": body_of(ask, REACT(ask))}
            said = {"id": "r", "custom_id": asked["custom_id"], "response": response}
            lines.append(json.dumps({**said, "error": None}) + "\n")
        if lines:
            answers.write_text("".join(lines))


def test_runs_that_wait_for_a_provider_are_looked_at_until_they_are_complete() -> None:
    common = COMMON.replace("preflight = false\ncache = false\n", "")
    text = f'{common}seed = [1, 2]\n[[run]]\nmodel = "file:m"\ntier = "batch"\n'
    Path("s.toml").write_text(f'{text}[[run]]\nmodel = "lexical"\n')
    line = ("run", "--config", "s.toml", "--out", "o")
    first = call(*line)
    assert first.code == 3, first.err
    assert states(first.out) == {
        **dict.fromkeys(("file:m seed=1", "file:m seed=2"), "waiting"),
        **dict.fromkeys(("lexical seed=1", "lexical seed=2"), "complete"),
    }
    assert "file:m seed=1: 1 batch with 7 requests at the provider (vlm-eval batches" in first.out
    assert call(*line, "--status").code == 3
    stop = threading.Event()

    def provide() -> None:
        while not stop.wait(0.05):
            answer(Path("o"))

    provider = threading.Thread(target=provide)
    provider.start()
    try:
        done = call(*line, "--wait")
    finally:
        stop.set()
        provider.join()
    assert done.code == 0, done.err
    assert set(states(done.out).values()) == {"complete"}
    assert "] lexical" not in done.err and "without --wait, which has no effect there" in done.err
