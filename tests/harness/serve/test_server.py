"""Servers that are started for a run: ready, ended early, never ready, lost, shared."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from adapters.contract import Fatal, Fault
from adapters.served import SHARED, ModelServer, NotNeeded
from tests.harness.pictures.test_store import alive

OWN = f"{shlex.quote(sys.executable)} -m tests.servers.own {{model}} {{port}}"
GENEROUS_S = 120


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[3]), *sys.path]))
    monkeypatch.delenv(SHARED, raising=False)
    return tmp_path


@contextmanager
def started(
    command: str, log: Path, say: Callable[[str], None] = print, **more: float
) -> Iterator[ModelServer]:
    server = ModelServer(command, "fake-vl", **more)
    try:
        server.start(log, say)
        yield server
    finally:
        server.stop()


def pids(file: Path) -> list[int]:
    return [int(pid) for pid in file.read_text().split()]


def test_a_server_is_ready_when_it_lists_its_models_and_nothing_is_left_of_it(place: Path) -> None:
    said: list[str] = []
    log = place / "server.log"
    command = f"{OWN} --stray {shlex.quote(str(place / 'pids'))}"
    with started(command, log, said.append) as server:
        facts = server.facts
        assert facts == {"command": command, "version": "0.0.7", "models": ["fake-vl"]}
        port = server.url.removeprefix("http://127.0.0.1:").removesuffix("/v1")
        assert f"fake-vl {port}" in said[0]
        assert said[-1].startswith("server:   0.0.7 ready after")
        first, stray = pids(place / "pids")
        assert alive(first) and alive(stray)
        server.check()
        # The stray one takes no notice of being asked to end.
        os.kill(stray, signal.SIGKILL)
    assert not alive(first)
    assert "serving fake-vl" in log.read_text()


def test_no_word_of_the_command_goes_through_a_shell(place: Path) -> None:
    model = "a b; $(touch oops) {port}"
    server = ModelServer(OWN, model)
    server.start(place / "server.log")
    assert server.facts["models"] == [model]
    server.stop()
    server.stop()


def test_a_server_that_answers_is_not_started_again(place: Path) -> None:
    server, said = ModelServer(OWN, "fake-vl"), list[str]()
    server.start(place / "server.log")
    server.start(place / "server.log", said.append)
    server.stop()
    assert said == []


def test_the_last_lines_of_a_server_that_ends_at_once_are_told(place: Path) -> None:
    said: list[str] = []
    log = place / "server.log"
    with pytest.raises(Fatal) as ended, started(f"{OWN} --broken", log, said.append):
        pass
    assert str(ended.value) == (
        "the server ended before it was ready (exit status 3); its last lines are above, all of "
        f"them in {log}"
    )
    assert said[1:] == [f"  line {number} \N{REPLACEMENT CHARACTER}[2J" for number in range(30, 50)]


def test_a_server_that_never_answers_is_ended_and_told(place: Path) -> None:
    with (
        pytest.raises(Fatal, match="the server was not ready within 2 s; it"),
        started(f"{OWN} --mute", place / "server.log", timeout_s=2),
    ):
        pass
    left = psutil.Process().children(recursive=True)
    assert not [one.pid for one in left if "tests.servers.own" in one.cmdline()]


def test_waiting_for_a_server_can_be_given_up(place: Path) -> None:
    server = ModelServer(f"{OWN} --mute", "fake-vl")
    threading.Timer(1.0, server.give_up, ["interrupted"]).start()
    with pytest.raises(NotNeeded):
        server.start(place / "server.log")
    server.stop()


def test_a_server_that_ends_is_lost_and_nothing_is_left_of_it(place: Path) -> None:
    lost, said = threading.Event(), list[str]()
    server = ModelServer(f"{OWN} --stray {shlex.quote(str(place / 'pids'))}", "fake-vl")
    server.start(place / "server.log", said.append, lambda reason: lost.set())
    try:
        server.check()
        first, stray = pids(place / "pids")
        os.kill(first, signal.SIGKILL)
        assert lost.wait(GENEROUS_S)
        assert not alive(stray)
        with pytest.raises(Fault, match=r"the server ended \(killed by signal 9"):
            server.check()
    finally:
        server.stop()


def test_other_processes_use_a_server_that_is_lent_to_them(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with started(OWN, place / "server.log") as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        with started("no-such-program {port}", place / "other.log") as other:
            assert other.url == server.url
            assert other.facts["version"] == "0.0.7"
        server.check()
        with started("no-such-program {port}", place / "other.log"):
            pass
    assert not (place / "other.log").exists()


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("", "needs a command"),
        ("vllm serve 'x --port {port}", "No closing quotation"),
        ("vllm serve {model} --port 8000", "must say where the port goes"),
        ("A=1 vllm serve {model} --port {port}", r"write env A=\.\.\."),
        ("vllm serve --api-key s3cr3t --port {port}", r"holds a key \(api-key\)"),
        ("vllm serve --hf-token=s3cr3t --port {port}", r"holds a key \(hf-token\)"),
        ("env HF_TOKEN=s3cr3t vllm serve --port {port}", r"holds a key \(HF_TOKEN\)"),
    ],
)
def test_commands_that_cannot_be_one(command: str, complaint: str) -> None:
    with pytest.raises(Fatal, match=complaint) as error:
        ModelServer(command, "m")
    assert "s3cr3t" not in str(error.value)


def test_a_program_that_is_not_there(place: Path) -> None:
    with (
        pytest.raises(Fatal, match="program 'no-such-program' not found on this machine"),
        started("no-such-program {port}", place / "server.log"),
    ):
        pass


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + GENEROUS_S
    while not condition():
        assert time.monotonic() < end, "nothing of the kind happened"
        time.sleep(0.02)
