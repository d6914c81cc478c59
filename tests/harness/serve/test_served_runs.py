"""Runs whose model is behind a server of their own (`--with-server`)."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.served import SHARED
from harness.runs import open_run
from tests.harness.commands.tool import ONE_TASK, TEXT_ONLY, call, calls, start, summary
from tests.harness.pictures.test_store import alive

OWN = f"{shlex.quote(sys.executable)} -m tests.servers.own {{model}} {{port}}"
FIXED = (*ONE_TASK, *TEXT_ONLY, "--model", "fake-vl", "--progress", "off")
STEPS, CALLS = 7, 14
GENEROUS_S = 240


@pytest.fixture(autouse=True)
def programs_find_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(Path(__file__).parents[3])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([root, *sys.path]))
    monkeypatch.delenv(SHARED, raising=False)


def line(out: str, *more: str, command: str = OWN) -> tuple[str, ...]:
    return (*FIXED, "--with-server", command, "--out", out, *more)


def manifest(run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(run) / "manifest.json").read_text())
    return found


def starts(run: str) -> int:
    """How often the server of a run was started."""
    return (Path(run) / "server.log").read_text().count("serving fake-vl")


def test_a_server_is_started_for_what_is_left_and_a_run_is_the_same_at_another_port() -> None:
    dies = f"{OWN} --die-after 6"
    begun = call(*line("a", "--no-cache", "--concurrency", "1", command=dies))
    assert begun.code == 1
    assert "the server ended (exit status 7); its log: a/server.log; what was" in begun.err
    before = calls("a")
    assert 0 < len(before) < CALLS

    done = call(*line("a", "--no-cache"))
    assert done.code == 0
    told = [(record["unit_id"], record["place"]) for record in calls("a")]
    assert len(told) == len(set(told)) == CALLS
    assert calls("a")[: len(before)] == before
    assert summary("a")["complete"] is True
    assert starts("a") == 2

    found = manifest("a")
    assert found["model"]["endpoint"] == found["config"]["base_url"] == "serve"
    assert "127.0.0.1" not in json.dumps([found["model"], found["config"]])
    first, last = found["sessions"]
    assert first["settings"]["with_server"] == dies
    assert last["measured"]["model"] == {
        "command": OWN,
        "version": "0.0.7",
        "models": ["fake-vl"],
        "control_tokens_broken_up": "not guarded",
    }

    again = call(*line("a", "--no-cache"))
    assert again.code == 0
    assert starts("a") == 2


def test_a_server_that_ends_at_once_costs_a_line_and_the_last_of_its_own() -> None:
    ended = call(*line("a", command=f"{OWN} --broken"))
    assert ended.code == 2
    lines = ended.err.splitlines()
    assert lines[-1] == (
        "vlm-eval: the server ended before it was ready (exit status 3); its last lines are above, "
        "all of them in a/server.log"
    )
    assert lines[-2].startswith("  line 49 ")
    assert "\x1b" not in ended.err
    assert "line 0" in (Path("a") / "server.log").read_text()
    # The folder can be used, also for another run.
    assert call(*line("a", "--temperature", "0.5")).code == 0


def test_a_dry_run_and_bad_input_start_no_server(place: Path) -> None:
    mark = f'{shlex.quote(sys.executable)} -c \'open("made", "w")\' {{port}}'
    assert call(*line("a", "--dry-run", command=mark)).code == 0
    refusals = [
        (("--base-url", "http://127.0.0.1:1/v1"), "--base-url and --with-server name two servers"),
        (("--model", "lexical"), "--with-server has no effect on the policy 'lexical'"),
        (("--model", "qwen2-vl"), "--with-server has no effect on 'qwen2-vl', which runs on this"),
        (("--model", "claude-sonnet-5-5"), "--with-server is for models behind OpenAI's chat"),
    ]
    for more, complaint in refusals:
        words = line("a", *more, command=mark)
        if "--model" in more:  # In place of the first one: several would be several runs.
            place_of_model = words.index("--model")
            words = (*words[:place_of_model], *words[place_of_model + 2 :])
        refused = call(*words)
        assert refused.code == 2
        assert complaint in refused.complaint
    assert not Path("made").exists()
    assert not Path("a").exists()


def stray_of(folder: Path) -> list[int]:
    file = folder / "pids"
    end = time.monotonic() + GENEROUS_S
    while not (file.exists() and len(file.read_text().split()) == 2):
        assert time.monotonic() < end
        time.sleep(0.02)
    return [int(pid) for pid in file.read_text().split()]


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + GENEROUS_S
    while not condition():
        assert time.monotonic() < end, "nothing of the kind happened"
        time.sleep(0.02)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_nothing_of_a_server_survives_a_kill_of_the_run_and_the_same_line_goes_on(
    place: Path,
) -> None:
    command = f"{OWN} --stray {place / 'pids'} --stubborn --delay 0.3"
    process = start(*line("a", "--no-cache", "--concurrency", "1", command=command))
    ours = stray_of(place)
    wait_for(lambda: Path("a/calls.jsonl").exists() and len(calls("a")) >= 2)
    process.kill()
    process.communicate()
    wait_for(lambda: not any(map(alive, ours)))
    assert call(*line("a", "--no-cache")).code == 0
    assert len(calls("a")) == CALLS
    assert open_run("a").complete


def test_ctrl_c_while_the_server_loads_ends_both(place: Path) -> None:
    process = start(*line("a", command=f"{OWN} --mute --stray {place / 'pids'}"))
    first, stray = stray_of(place)
    os.kill(stray, signal.SIGKILL)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=GENEROUS_S)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "interrupted; what was answered is kept in a" in err
    wait_for(lambda: not alive(first))
