"""A Chromium browser that can reach only the sample's sites."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from harness.errors import UserError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

SITES = Path(__file__).parent / "sites"
WIDTH, HEIGHT = 1280, 720
_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Identical glyphs on every machine with the same fonts.
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--force-color-profile=srgb",
]
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}


def chromium() -> Path | None:
    """The path of Debian's Chromium; None if it is not installed."""
    path = shutil.which("chromium")
    return Path(path) if path else None


@contextmanager
def launch(executable: Path | None = None) -> Iterator[Browser]:
    """Start a browser for recording.

    Raises:
        UserError: playwright or Chromium is missing.
    """
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        raise UserError(
            "building the sample needs playwright: pip install 'vlm-web-eval[sample]'"
        ) from None
    path = executable or chromium()
    if path is None or not path.exists():
        raise UserError("building the sample needs Chromium: apt install chromium, or --browser")
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        except Error as error:
            raise UserError(f"{path} does not start: {error.message.splitlines()[0]}") from None
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visit(browser: Browser, site: str) -> Iterator[Page]:
    """Open a site's first page in a fresh session; all its requests are served from its folder."""
    context = browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT}, locale="en-GB", reduced_motion="reduce"
    )
    try:
        context.set_default_timeout(5000)
        context.add_init_script(path=Path(__file__).with_name("listeners.js"))
        context.route("**/*", lambda route: _serve(route, site))
        page = context.new_page()
        failures: list[str] = []
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.goto(f"https://{site}.example/")
        yield page
        if failures:
            raise RuntimeError(f"a script of {site} failed: {failures[0]}")
    finally:
        context.close()


def _serve(route: Route, site: str) -> None:
    name = urlsplit(route.request.url).path.rsplit("/", 1)[-1]
    for path in (SITES / site / name, SITES / name):
        if path.suffix in (".js", ".css") and path.is_file():
            break
    else:
        path = SITES / "shell.html"
    kind = f"{_KINDS[path.suffix]}; charset=utf-8"
    route.fulfill(body=path.read_text(encoding="utf-8"), content_type=kind)
