"""Whatever is killed, no process is left, and the next episode finds another browser."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.harness.live.browsed import needs_browser

pytestmark = [pytest.mark.browser, needs_browser]

GENEROUS_S = 60
PROGRAM = """
import asyncio, sys
from adapters.contract import Fault
from harness.live.pool import TimeLimits, Worlds
from tests.harness.live.browsed import ENTRY

async def main(folder, *states):
    worlds = Worlds(ENTRY, {"folder": folder}, count=1, limits=TimeLimits(600, 600))
    for state in states:
        episode = await worlds.open({"page": "index.html"})
        await episode.act(None)
        print("begun", flush=True)
        hangs = state == "hangs"
        if not hangs:
            sys.stdin.readline()
        action = {"name": "CLICK", "point": [20, 20]}
        try:
            await episode.act(action if hangs else {"name": "HOVER", "point": [300, 300]})
        except Fault as fault:
            print(f"fault {fault.kind}", flush=True)
        await episode.close()
    await worlds.close()

asyncio.run(main(*sys.argv[1:]))
"""
HANGS = """
<button style="position:absolute; left:0; top:0; width:100px; height:100px"
  onclick="document.title = 1; console.log('at it'); while (true);">Go</button>
"""


class Running:
    """A main process with a worker and its browser, which plays an episode in each state."""

    def __init__(self, folder: Path, *states: str) -> None:
        self.main = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(folder), *states],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self.processes: list[psutil.Process] = []

    def begin(self, state: str) -> None:
        """Wait until the next episode is in its state, and note its processes."""
        assert self.line() == "begun"
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
        """Those that the episode began with and that are still there; zombies do not count."""
        return [one for one in self.processes if lives(one)]

    def go_on(self) -> None:
        """Let an episode that waits act."""
        assert self.main.stdin is not None
        self.main.stdin.write("\n")
        self.main.stdin.flush()

    def end(self) -> None:
        self.main.kill()
        self.main.communicate()
        wait_for(lambda: not self.alive())


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
def folder(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text(HANGS)
    return tmp_path


@pytest.mark.parametrize("state", ["waits", "hangs"])
def test_nothing_outlives_the_main_process(folder: Path, state: str) -> None:
    running = Running(folder, state)
    try:
        running.begin(state)
        assert len(running.processes) > 5
        running.main.kill()
        wait_for(lambda: not running.alive())
    finally:
        running.end()


KILLED = (
    ("hangs", "child.py"),
    ("waits", "run-driver"),
    ("hangs", "--remote-debugging-pipe"),
    ("waits", "--type=renderer"),
)


def test_what_is_killed_is_replaced_with_all_that_belonged_to_it(folder: Path) -> None:
    running = Running(folder, *(state for state, _ in KILLED), "waits")
    try:
        for state, word in KILLED:
            running.begin(state)
            for one in running.named(word):
                one.kill()
            if state == "waits":
                running.go_on()
            assert running.line() == "fault connection", word
            wait_for(lambda: not running.alive())
        running.begin("waits")
        running.go_on()
        assert running.main.wait(GENEROUS_S) == 0
    finally:
        running.end()
