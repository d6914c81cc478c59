"""Whatever is killed, no process is left, and the next episode finds another browser."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.harness.live.browsed import needs_browser

pytestmark = [pytest.mark.browser, needs_browser]

GENEROUS_S = 60
PROGRAM = """
import asyncio, sys
from adapters.contract import Fault
from harness.live.pool import Limits, Worlds
from tests.harness.live.browsed import ENTRY

async def main(folder, hangs):
    worlds = Worlds(ENTRY, {"folder": folder}, count=1, limits=Limits(600, 600))
    for round in (1, 2):
        episode = await worlds.open({"page": "index.html"})
        await episode.act(None)
        print(f"begun {round}", flush=True)
        if round == 1:
            if not hangs:
                sys.stdin.readline()
            action = {"name": "CLICK", "point": [20, 20]}
            try:
                await episode.act(action if hangs else {"name": "HOVER", "point": [300, 300]})
            except Fault as fault:
                print(f"fault {fault.kind}", flush=True)
        await episode.close()
    await worlds.close()

asyncio.run(main(sys.argv[1], sys.argv[2] == "hangs"))
"""
HANGS = """
<button style="position:absolute; left:0; top:0; width:100px; height:100px"
  onclick="document.title = 1; console.log('at it'); while (true);">Go</button>
"""


class Running:
    """A main process with a worker and its browser."""

    def __init__(self, folder: Path, state: str) -> None:
        self.state = state
        self.main = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(folder), state],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert self.line() == "begun 1"
        if state == "hangs":
            # A renderer that runs for ever uses its processor.
            wait_for(lambda: any(busy(one) for one in self.named("--type=renderer")))
        self.processes = psutil.Process(self.main.pid).children(recursive=True)

    def line(self) -> str:
        assert self.main.stdout is not None
        return self.main.stdout.readline().strip()

    def named(self, word: str) -> list[psutil.Process]:
        """The processes with this word in their command line, the oldest first."""
        found = psutil.Process(self.main.pid).children(recursive=True)
        return sorted((one for one in found if word in words(one)), key=lambda one: one.pid)

    def alive(self) -> list[psutil.Process]:
        """Those that were there at first and still are; zombies do not count."""
        return [one for one in self.processes if lives(one)]

    def go_on(self) -> None:
        if self.state != "hangs":
            assert self.main.stdin is not None
            self.main.stdin.write("\n")
            self.main.stdin.flush()


def words(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def busy(process: psutil.Process) -> bool:
    try:
        return bool(process.cpu_percent(0.2) > 20)
    except psutil.Error:
        return False


def wait_for(condition: object) -> None:
    assert callable(condition)
    end = time.monotonic() + GENEROUS_S
    while not condition():
        assert time.monotonic() < end, "nothing of the kind happened"
        time.sleep(0.05)


@pytest.fixture
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Running]:
    (tmp_path / "index.html").write_text(HANGS)
    started = Running(tmp_path, request.param)
    try:
        yield started
    finally:
        started.main.kill()
        started.main.communicate()
        wait_for(lambda: not started.alive())


@pytest.mark.parametrize("running", ["waits", "hangs"], indirect=True)
def test_nothing_outlives_the_main_process(running: Running) -> None:
    assert len(running.processes) > 5
    running.main.kill()
    wait_for(lambda: not running.alive())


@pytest.mark.parametrize(
    ("running", "word"),
    [
        ("hangs", "child.py"),
        ("waits", "run-driver"),
        ("hangs", "--remote-debugging-pipe"),
        ("waits", "--type=renderer"),
    ],
    indirect=["running"],
)
def test_what_is_killed_is_replaced_with_all_that_belonged_to_it(
    running: Running, word: str
) -> None:
    for one in running.named(word):
        one.kill()
    running.go_on()
    assert running.line() == "fault connection"
    assert running.line() == "begun 2"
    wait_for(lambda: not running.alive())
    assert running.main.wait(GENEROUS_S) == 0
