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
from tests.harness.sweep.test_sweeps import COMMON, plan, states
from tests.servers import Ask
from tests.servers.wire import body_of

OWN = f"{shlex.quote(sys.executable)} -m tests.servers.own {{model}} {{port}}"

REACT = replying()


@pytest.fixture(autouse=True)
def programs_find_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(Path(__file__).parents[3])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([root, *sys.path]))
    monkeypatch.delenv(SHARED, raising=False)


def served(*runs: tuple[str, str, str]) -> str:
    text = COMMON
    for model, command, more in runs:
        text += f"[[run]]\nmodel = {json.dumps(model)}\nserve = {json.dumps(command)}\n{more}\n"
    Path("s.toml").write_text(text)
    return "s.toml"


def test_runs_of_one_model_share_a_server_and_one_that_does_not_start_is_told_once() -> None:
    broken = f"{OWN} --broken"
    file = served(("fake-vl", OWN, "seed = [1, 2]"), ("bad-vl", broken, "seed = [1, 2]"))
    done = call("sweep", file, "--out", "o", "--jobs", "4")
    assert done.code == 1
    assert states(done.out) == {
        "fake-vl seed=1": "complete",
        "fake-vl seed=2": "complete",
        "bad-vl seed=1": "not started",
        "bad-vl seed=2": "not started",
    }
    assert Path("o/server-fake-vl.log").read_text().count("serving fake-vl") == 1
    assert Path("o/server-bad-vl.log").read_text().count("serving bad-vl") == 1
    reason = "the server ended before it was ready (exit status 3); "
    assert done.out.count(f": {reason}") == 2
    # A run by itself has the same identity: its address is on record nowhere.
    first = plan()[0]
    manifest = json.loads((Path("o") / first["directory"] / "manifest.json").read_text())
    assert manifest["config"]["base_url"] == "serve"
    assert manifest["sessions"][0]["settings"]["with_server"] == OWN
    assert call("sweep", file, "--out", "o", "--only", "fake*").code == 0
    assert Path("o/server-fake-vl.log").read_text().count("serving fake-vl") == 1


def test_serve_and_with_server_are_one_option() -> None:
    text = f"[[run]]\nmodel = 'a'\nserve = {json.dumps(OWN)}\nwith-server = {json.dumps(OWN)}\n"
    Path("s.toml").write_text(text)
    done = call("sweep", "s.toml")
    assert done.complaint == (
        "vlm-eval: s.toml: [[run]] 1: serve and with-server are the same; leave one out"
    )


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
    batch = '[[run]]\nmodel = "file:m"\ntier = "batch"\n'
    Path("s.toml").write_text(f'{common}[[run]]\nmodel = "lexical"\n{batch}')
    first = call("sweep", "s.toml", "--out", "o", "--jobs", "1")
    assert first.code == 3, first.err
    assert states(first.out) == {"lexical": "complete", "file:m": "waiting"}
    assert "file:m: 1 batch with 7 requests at the provider (vlm-eval batches o/f" in first.out
    assert call("sweep", "s.toml", "--out", "o", "--status").code == 3
    stop = threading.Event()

    def provide() -> None:
        while not stop.wait(0.05):
            answer(Path("o"))

    provider = threading.Thread(target=provide)
    provider.start()
    try:
        done = call("sweep", "s.toml", "--out", "o", "--wait")
    finally:
        stop.set()
        provider.join()
    assert done.code == 0, done.err
    assert set(states(done.out).values()) == {"complete"}
    # The one that waits comes first, and the one that is complete is not started at all.
    assert "lexical: started" not in done.err and "file:m: started" in done.err
