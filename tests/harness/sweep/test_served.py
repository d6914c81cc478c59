"""Sweeps over models behind servers that the sweep starts, and models asked in batches."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from harness.serving import SHARED
from tests.harness.commands.tool import call
from tests.harness.sweep.test_sweeps import COMMON, plan, states

OWN = f"{shlex.quote(sys.executable)} -m tests.servers.own {{model}} {{port}}"


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
