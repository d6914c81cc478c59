"""Programs that are kept: how their end is told, and that nothing of them outlives anybody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.processes.keeper import Program
from tests.harness.pictures.test_store import alive

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells of processes in other groups"
)

GENEROUS_S = 120
# A program with a child that ignores SIGTERM and is in a session of its own.
FAMILY = """
import os, pathlib, signal, subprocess, sys, time
code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
folder = pathlib.Path(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: (print("asked to end", flush=True), sys.exit(5)))
if sys.argv[2] == "ends":
    print("its words", os.environ.get("PYTHONPATH"), flush=True)
(folder / "new").write_text(f"{os.getpid()} {child.pid}")
(folder / "new").rename(folder / "pids")
if sys.argv[2] == "ends":
    sys.exit(3)
while True:
    time.sleep(1)
"""
KEEPS = """
import sys, time
from pathlib import Path
from adapters.processes.keeper import Program
folder = Path(sys.argv[1])
program = Program([sys.executable, str(folder / "family.py"), str(folder), "stays"], folder / "log")
print(program._keeper.pid, flush=True)
time.sleep(3600)
"""


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + GENEROUS_S
    while not condition():
        assert time.monotonic() < end, "nothing of the kind happened"
        time.sleep(0.02)


@pytest.fixture
def family(tmp_path: Path) -> list[str]:
    (tmp_path / "family.py").write_text(FAMILY)
    return [sys.executable, str(tmp_path / "family.py"), str(tmp_path)]


def pids(folder: Path) -> list[int]:
    wait_for((folder / "pids").exists)
    return [int(pid) for pid in (folder / "pids").read_text().split()]


def test_the_end_of_a_program_is_told_and_what_it_had_started_goes_with_it(
    tmp_path: Path, family: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere/else")
    told: list[str | None] = []
    program = Program([*family, "ends"], tmp_path / "log", lambda ended: told.append(ended.ended))
    wait_for(lambda: told)
    assert told == ["exit status 3"]
    assert not any(map(alive, pids(tmp_path)))
    # It has our environment, not that of the process which keeps it.
    assert (tmp_path / "log").read_text() == "its words /somewhere/else\n"
    program.close()
    program.close()


def test_a_program_is_asked_to_end_before_the_rest_is_killed(
    tmp_path: Path, family: list[str]
) -> None:
    program = Program([*family, "stays"], tmp_path / "log")
    first, stray = pids(tmp_path)
    assert alive(first) and alive(stray)
    stopping = threading.Thread(target=program.stop, args=[GENEROUS_S])
    stopping.start()
    wait_for(lambda: "asked to end" in (tmp_path / "log").read_text())
    # The other one takes no notice, and is waited for.
    assert stopping.is_alive() and alive(stray)
    os.kill(stray, signal.SIGKILL)
    stopping.join()
    assert program.ended == "exit status 5"
    assert not alive(first)
    program.close()


def test_what_has_not_ended_in_time_is_killed(tmp_path: Path, family: list[str]) -> None:
    program = Program([*family, "stays"], tmp_path / "log")
    ours = pids(tmp_path)
    assert all(map(alive, ours))
    program.stop(0.0)
    assert program.ended is not None
    assert not any(map(alive, ours))
    program.close()


def test_a_program_that_does_not_start_is_told(tmp_path: Path) -> None:
    program = Program([str(tmp_path / "no-such-program")], tmp_path / "log")
    wait_for(lambda: program.ended)
    assert program.ended == "exit status 1"
    assert "No such file" in (tmp_path / "log").read_text()
    program.close()


@pytest.mark.parametrize("killed", ["parent", "keeper and then parent"])
def test_nothing_survives_a_kill_of_the_parent(
    tmp_path: Path, family: list[str], killed: str
) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", KEEPS, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert parent.stdout is not None
    keeper = int(parent.stdout.readline())
    first, stray = pids(tmp_path)
    if killed != "parent":
        os.kill(keeper, signal.SIGKILL)
        wait_for(lambda: not alive(first))
        os.kill(stray, signal.SIGKILL)  # Nobody knows of it any more.
    parent.kill()
    parent.communicate()
    wait_for(lambda: not any(map(alive, (keeper, first, stray))))
