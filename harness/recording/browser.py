"""A Chromium browser that can reach only the sample's sites."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from harness.errors import UserError, suggestion
from harness.live.chromium import found, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

_SAMPLE = Path(__file__).parents[1] / "sample"
SITES = _SAMPLE / "sites"
WIDTH, HEIGHT = 1280, 720
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}


@contextmanager
def launch(executable: Path | None = None) -> Iterator[Browser]:
    """Start a browser for recording.

    Raises:
        UserError: playwright or Chromium is missing.
    """
    path = found(executable, purpose="building the sample", extra="sample")
    with running(path) as browser:
        yield browser


@contextmanager
def visit(browser: Browser, site: str, size: tuple[int, int] = (WIDTH, HEIGHT)) -> Iterator[Page]:
    """Open a site's first page in a fresh session; requests are served from the sites' folders."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, locale="en-GB", reduced_motion="reduce"
    )
    try:
        context.set_default_timeout(5000)
        context.add_init_script(path=_SAMPLE / "listeners.js")
        context.route("**/*", _serve)
        page = context.new_page()
        failures: list[str] = []
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.goto(address(site))
        yield page
        if failures:
            raise RuntimeError(f"a script of {site} failed: {failures[0]}")
    finally:
        context.close()


def _serve(route: Route) -> None:
    host = urlsplit(route.request.url).hostname or ""
    body, kind = served(host.removesuffix(".example"), route.request.url)
    route.fulfill(body=body, content_type=kind)


def address(site: str) -> str:
    """Return the address of a site's first page. Raises `UserError` for an unknown site."""
    known = sorted(path.name for path in SITES.iterdir() if path.is_dir())
    if site not in known:
        raise UserError(f"the sample has no site '{site}'; {suggestion(site, known)}")
    return f"https://{site}.example/"


def served(site: str, url: str) -> tuple[str, str]:
    """Return the content and the media type that a site answers a request with."""
    name = urlsplit(url).path.rsplit("/", 1)[-1]
    for path in (SITES / site / name, SITES / name):
        if path.suffix in (".js", ".css") and path.is_file():
            break
    else:
        path = SITES / "shell.html"
    return path.read_text(encoding="utf-8"), f"{_KINDS[path.suffix]}; charset=utf-8"
