"""Logs of inspect_ai in its own viewer, in Chromium."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from harness.live.chromium import chromium
from reports.exports import export
from tests.reports.kinds.episode.worlds import forms
from tests.reports.view.conftest import ARGUMENTS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the viewer shows a run of episodes with hostile texts."""
    pytest.importorskip("inspect_ai", reason="needs the extra [inspect]")
    place = tmp_path_factory.mktemp("viewed")
    forms(place / "forms")
    export([place / "forms"], "inspect", place / "logs", with_pictures=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = ("--log-dir", str(place / "logs"), "--host", "127.0.0.1", "--port", str(port))
    server = subprocess.Popen(
        [sys.executable, "-m", "inspect_ai", "view", "start", *where],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    found = f"http://127.0.0.1:{port}"
    try:
        _wait_for(found, server)
        yield found
    finally:
        server.kill()
        server.wait()


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=10).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the viewer did not start")


@pytest.fixture(scope="module")
def tab(address: str) -> Iterator[Any]:
    """A tab in which nothing is asked for elsewhere and no text becomes a script."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra [live]")
    program = chromium()
    if program is None:
        pytest.skip("there is no Chromium")
    wrong: list[str] = []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=str(program), args=list(ARGUMENTS))
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: _check(request.url, address, wrong))
        yield page
        hacked = page.evaluate("window.HACKED")
        browser.close()
    assert hacked is None
    assert wrong == []


def _check(url: str, address: str, wrong: list[str]) -> None:
    if not url.startswith((address, "data:", "blob:")):
        wrong.append(f"request: {url}")


def test_the_list_shows_the_run_with_its_headline(tab: Any, address: str) -> None:
    tab.goto(address)
    tab.get_by_text("forms", exact=True).first.wait_for()
    # One of two episodes of the first form, none of the others.
    tab.get_by_text("0.125", exact=True).first.wait_for()


def test_a_log_shows_its_samples_and_scores(tab: Any, address: str) -> None:
    tab.goto(f"{address}/#/logs/forms.eval/samples")
    tab.get_by_text("form-0/0").first.wait_for()
    tab.get_by_text("timeout: no observation").first.wait_for()
    words = tab.locator("body").inner_text()
    assert "Choose the right one of form 0." in words
    assert "macro_low" in words and "8 Samples" in words


def test_a_sample_shows_what_was_seen_said_and_done(tab: Any, address: str) -> None:
    tab.goto(f"{address}/#/logs/forms.eval/samples/sample/form-0%2F0/1/")
    tab.get_by_text("I choose action 1.").first.wait_for()
    picture = tab.locator("img").first
    picture.wait_for()
    assert picture.evaluate("one => one.decode().then(() => one.naturalWidth)") == 320
    words = tab.locator("body").inner_text()
    assert 'element: "1", value: "Ohio"' in words
