"""Runs as processes: Ctrl-C, two at a time, a full disk, and where keys must not go."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.harness.commands.tool import (
    ONE_TASK,
    TEXT_ONLY,
    at,
    call,
    calls,
    replying,
    start,
    steps,
    summary,
    whole_text,
)
from tests.programs import Program
from tests.servers import Answer, Ask, WireServer, error

KEY = "sk-proj-Recognisable0123456789abcdefghijklmnop"
PATIENCE_S = 300


class Held:
    """A server that answers some requests and holds the others back until `go` is set.

    Those that come after that have to wait, in case a signal takes its time.
    """

    def __init__(self, answered: int) -> None:
        self.go = threading.Event()
        self.held = threading.Semaphore(0)
        self._answered = answered

    def __call__(self, ask: Ask) -> Answer:
        late = self.go.is_set()
        if ask.number > self._answered:
            self.held.release()
            assert self.go.wait(PATIENCE_S)
        return replace(replying()(ask), delay_s=1.0 if late else 0.0)


def send(process: Program, sent: signal.Signals) -> None:
    """Ctrl-C goes to the process alone; what ends a job sends SIGTERM to its children, too."""
    children: list[str] = []
    if sent is signal.SIGTERM:
        tasks = Path(f"/proc/{process.pid}/task")
        children = [pid for task in tasks.iterdir() for pid in _words(task / "children")]
        assert children
    for pid in (*map(int, children), process.pid):
        os.kill(pid, sent)


def _words(file: Path) -> list[str]:
    return file.read_text().split()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs signals and /proc")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_finishes_cleanly_and_the_same_line_goes_on(sent: signal.Signals) -> None:
    held = Held(answered=3)
    with WireServer(held) as server:
        line = at(server, *ONE_TASK, "--no-cache", "--concurrency", "2", "--out", "a")
        process = start(*line)
        for _ in range(2):
            assert held.held.acquire(timeout=PATIENCE_S)
        second = call(*line)
        assert second.code == 2
        assert second.err.splitlines()[-1].endswith(" is working on a")
        send(process, sent)
        # Calls under way are answered only after the signal, and their replies are kept.
        held.go.set()
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130
        assert "Traceback" not in err
        assert "interrupted; what was answered is kept in a" in err
        assert "Run the same line again" in err
        assert "replies without an element: " in out
        on_record = len(calls("a"))
        assert 5 <= on_record < 14
        asked = server.count
        server.react = replying()
        assert call(*line).code == 0
        assert server.count == asked + 14 - on_record
    told = [(record["unit_id"], record["place"]) for record in calls("a")]
    assert len(told) == len(set(told)) == 14
    assert summary("a")["complete"] is True


def found_in(folder: Path, word: str) -> list[str]:
    """The files below a folder that hold a word."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [str(path) for path in files if word.encode() in path.read_bytes()]


def test_a_key_goes_to_the_server_and_nowhere_else(place: Path) -> None:
    def echo(ask: Ask) -> Answer:
        if ask.headers["authorization"] != f"Bearer {KEY}":
            return error(500, "not the key")
        if "rolling" in whole_text(ask).lower() and ask.number > 6:
            return error(401, f"Incorrect API key provided: {KEY}. You can find your key at x.")
        return replying()(ask)

    with WireServer(echo) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--out", "a")
        refused = start(*line, OPENAI_API_KEY=KEY)
        out, err = refused.communicate(timeout=PATIENCE_S)
        assert refused.returncode == 2
        assert "Incorrect API key" in err
        assert KEY not in out + err
        assert KEY[8:] not in out + err
        server.react = replying()
        fine = start(*line, OPENAI_API_KEY=KEY)
        out, err = fine.communicate(timeout=PATIENCE_S)
        assert fine.returncode == 0, err
        assert KEY not in out + err
    assert found_in(place, "rolling")
    assert (place / "cache-home").is_dir()
    assert found_in(place, KEY) == []
    assert found_in(place, KEY[8:]) == []


@pytest.mark.parametrize(
    ("model", "name", "header"),
    [
        ("claude-sonnet-5-5", "ANTHROPIC_API_KEY", "x-api-key"),
        ("gemini-3.8-flash", "GEMINI_API_KEY", "x-goog-api-key"),
    ],
)
def test_keys_of_the_other_providers_are_kept_as_well(
    place: Path, monkeypatch: pytest.MonkeyPatch, model: str, name: str, header: str
) -> None:
    monkeypatch.setenv(name, KEY)
    answers = replying()

    def echo(ask: Ask) -> Answer:
        assert ask.headers[header] == KEY
        return answers(ask) if ask.number < 6 else error(403, f"the key {KEY} may not do this")

    with WireServer(echo) as server:
        line = ("--model", model, "--base-url", server.base_url("anthropic"), "--progress", "off")
        called = call(*line, *ONE_TASK, *TEXT_ONLY, "--concurrency", "1", "--out", "a")
    assert called.code == 2
    assert "may not do this" in called.err
    assert KEY not in called.out + called.err
    assert found_in(place, KEY) == []


@pytest.mark.skipif(os.name == "nt", reason="needs a limit on file sizes")
def test_a_full_disk_ends_in_one_line_and_the_run_goes_on_when_there_is_room() -> None:
    program = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))\n"
        "from harness.commands.main import run\n"
        "run(sys.argv[1:])\n"
    )
    with WireServer(replying()) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a")
        full = subprocess.run(
            [sys.executable, "-c", program, *line], capture_output=True, text=True
        )
        assert full.returncode == 2
        assert "Traceback" not in full.stderr
        assert full.stderr.splitlines()[-1].startswith("vlm-eval: ")
        on_record, asked = len(calls("a")), server.count
        assert on_record > 0
        assert call(*line).code == 0
        assert server.count == asked + 14 - on_record
    assert len(steps("a")) == 7
