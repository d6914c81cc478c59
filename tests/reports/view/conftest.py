"""Headless Chromium for the page, and what a page did besides what it shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.live.chromium import chromium
from tests.reports.view.pages import page as write_page
from tests.reports.view.pages import two_runs

ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Watched:
    """A tab with a list of everything that must not happen in it."""

    def __init__(self, tab: Any, allowed: tuple[str, ...]) -> None:
        self.tab = tab
        self.allowed = allowed
        self.wrong: list[str] = []
        self.requests: list[str] = []
        tab.on("console", lambda m: self.wrong.append(f"{m.type}: {m.text}"))
        tab.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        tab.on("dialog", self._dialog)
        tab.on("requestfailed", lambda request: self.wrong.append(f"failed: {request.url[:200]}"))
        tab.on("request", self._request)

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Any) -> None:
        self.requests.append(request.url)
        if not request.url.startswith((*self.allowed, "data:")):
            self.wrong.append(f"request: {request.url[:200]}")


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return two_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def folder(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of both runs."""
    out = tmp_path_factory.mktemp("page") / "view"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.runs.run.RESOLVER", "tests.reports.view.pages:step_data")
        write_page(runs, out)
    return out


@pytest.fixture(scope="module")
def browser(folder: Path) -> Iterator[Any]:
    """Chromium, closed after the module: while it is open, an event loop runs in this thread.

    Runs cannot be written meanwhile, hence the page first.
    """
    assert folder.is_dir()
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra [live]")
    program = chromium()
    if program is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=str(program), args=list(ARGUMENTS))
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def context(browser: Any) -> Iterator[Any]:
    opened = browser.new_context(viewport={"width": 1280, "height": 900})
    yield opened
    opened.close()


@pytest.fixture
def watched(context: Any, folder: Path) -> Iterator[Watched]:
    """A tab for the page; nothing may have gone wrong in it when the test is over."""
    made = Watched(context.new_page(), (folder.as_uri(),))
    made.tab.goto(f"{folder.as_uri()}/index.html")
    yield made
    hacked = made.tab.evaluate("window.HACKED")
    made.tab.evaluate("localStorage.clear()")
    made.tab.close()
    assert hacked is None
    assert made.wrong == []


@pytest.fixture
def tab(watched: Watched) -> Any:
    return watched.tab
