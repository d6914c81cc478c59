"""No killed browser leaves its profile for ever, and no crashed page leaves its memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from harness.live.chromium import chromium, running, scratch
from tests.harness.live.browsed import needs_browser
from tests.harness.live.test_kills import PROGRAM as WORLDS
from tests.harness.live.test_kills import lives, wait_for, words

pytestmark = [pytest.mark.browser, needs_browser]

SAMPLE = """
import sys
from benchmarks.sample.trajectories import launch

with launch() as browser:
    browser.new_page()
    print("begun 1", flush=True)
    sys.stdin.readline()
"""
RECORDER = """
import asyncio, sys
from harness.live.chromium import chromium
from harness.recording.session import _browser

async def main():
    async with _browser(chromium(), visible=False) as context:
        await context.new_page()
        print("begun 1", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder whose path is short enough for the sockets of a browser."""
    with TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def started(program: str, pages: Path, temporary: Path) -> subprocess.Popen[str]:
    """Start a program that starts a browser, and wait until the browser has a page."""
    main = subprocess.Popen(
        [sys.executable, "-c", program, str(pages), "waits"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert main.stdout is not None and main.stdout.readline().startswith("begun")
    return main


@pytest.mark.parametrize("program", [WORLDS, SAMPLE, RECORDER], ids=["worlds", "sample", "record"])
def test_the_next_start_removes_the_profile_of_a_browser_that_was_killed(
    program: str, tmp_path: Path, temporary: Path
) -> None:
    (tmp_path / "index.html").write_text("<p>Hello")
    killed = started(program, tmp_path, temporary)
    browser = psutil.Process(killed.pid).children(recursive=True)
    for one in (killed, *browser):
        with suppress(psutil.NoSuchProcess):
            one.kill()
    killed.communicate()
    wait_for(lambda: not any(map(lives, browser)))
    assert list(temporary.rglob("*_chromiumdev_profile-*"))
    again = started(program, tmp_path, temporary)
    assert len(list(temporary.rglob("*_chromiumdev_profile-*"))) == 1
    again.communicate("\n")
    assert list(temporary.iterdir()) == []


def test_folders_of_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    own = tmp_path / "vlm-eval-results"
    own.mkdir()
    with scratch() as first, scratch() as second:
        assert own.exists() and first.exists() and second.exists()
    assert list(tmp_path.iterdir()) == [own]


def test_a_page_that_crashes_leaves_no_dump(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(temporary))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    from playwright.sync_api import Error

    program = chromium()
    assert program is not None
    with running(program) as browser:
        page = browser.new_page()
        page.set_content("<p>Hello")
        crashed: list[object] = []
        page.on("crash", lambda gone: crashed.append(gone))
        for one in psutil.Process().children(recursive=True):
            if "--type=renderer" in words(one):
                one.send_signal(11)
        with suppress(Error):
            page.wait_for_timeout(30_000)
        assert crashed
        assert list(temporary.rglob("*.dmp")) == []
