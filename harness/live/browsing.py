"""The base class of worlds on pages in Chromium:

    class Signs(BrowserWorld):
        size = (160, 210)
        folders = {"signs.invalid": Path("the folder of the pages")}

        def begin(self, episode):
            self.visit("https://signs.invalid/index.html")
            self.page.evaluate("(seed) => start(seed)", episode["seed"])
            return self.observe()

        def state(self):
            done, reward = self.page.evaluate("() => [over, reward]")
            return Seen(goal="...", ended=done, reward=reward)

One browser, one context and one page serve all episodes of a worker: an episode of one action takes
about 0.2 s with `visit`, and 0.6 s with a new context for each. To keep worlds fast: read several
values by one `evaluate`, do not wait by the clock, set `settles` for moving pages only, and prefer
`evaluate` to `add_init_script`.
"""

from __future__ import annotations

import base64
import mimetypes
import time
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from harness.dialogue import Observation
from harness.live.acting import Hands, LiveTab, NotDone, is_gone
from harness.live.chromium import found, running
from harness.live.clean import USUAL, KeptParts
from harness.live.contract import Seen, World
from parsers.actions import Action

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page


_KEPT = 256
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".htm": "text/html"}


def serve(session: CDPSession, folders: Mapping[str, Path]) -> None:
    """Answer requests of a page for `https://HOST/PATH` from the folder of the host.

    All others fail, and a page that leaves for elsewhere stays.
    Unlike with `file://` addresses, a page cannot read other files of this machine. Unlike with
    routes of Playwright, the browser caches scripts and styles, and an episode begins in half the
    time; files must not change while they are served.
    """
    from playwright.sync_api import Error

    roots = {host: folder.resolve() for host, folder in folders.items()}

    def answer(paused: Mapping[str, Any]) -> None:
        request, which = paused["request"], {"requestId": paused["requestId"]}
        # The page may have gone.
        with suppress(Error):
            parts = urlsplit(request["url"])
            if root := roots.get(parts.netloc):
                wanted = unquote(parts.path) if request["method"] == "GET" else ""
                session.send("Fetch.fulfillRequest", {**which, **_response(root, wanted)})
            else:
                session.send("Fetch.failRequest", {**which, "errorReason": "Aborted"})

    session.on("Fetch.requestPaused", answer)
    session.send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})


@lru_cache(_KEPT)
def _response(root: Path, path: str) -> dict[str, object]:
    """Answer with a file of the folder; 404 for anything else."""
    try:
        file = (root / path.lstrip("/")).resolve()
        if not file.is_relative_to(root) or not file.is_file():
            return {"responseCode": 404}
        body = base64.b64encode(file.read_bytes()).decode()
    except (OSError, ValueError):
        return {"responseCode": 404}
    kind = _KINDS.get(file.suffix) or mimetypes.guess_type(file.name)[0]
    kind = kind or "application/octet-stream"
    text = "; charset=utf-8" if kind.startswith("text/") else ""
    headers = [{"name": "Content-Type", "value": kind + text}]
    if kind != "text/html":
        headers.append({"name": "Cache-Control", "value": "max-age=86400"})
    return {"responseCode": 200, "responseHeaders": headers, "body": body}


SETTLING_S = 0.5
"""Longest wait for two equal pictures, in seconds."""
PATIENCE_MS = 10_000
"""Limit for the browser's own waits, such as for a page to load. The limits of `harness.live.pool`
end pages that never answer."""


class BrowserWorld(World):
    """A world of pages.

    size: width and height of the viewport, in pixels of the page.
    window: width and height of the window, whose upper left part is visible; default: `size`.
    kept: parts of observed pages that Mind2Web's cleaning drops.
    scale: pixels of the screenshot per pixel of the page.
    folders: folders to serve at made-up hosts, without a network.
    needed_by: purpose of the browser, and the extra that installs playwright, for messages.
    """

    size: tuple[int, int] = (1280, 720)
    window: tuple[int, int] | None = None
    kept: KeptParts = USUAL
    scale: float = 1.0
    folders: Mapping[str, Path] = {}
    needed_by: tuple[str, str] = ("a live page", "live")

    settles: float | None = None
    """Seconds until a page begins to move after an action; None for pages that do not move."""
    page: Page
    """The page, for `begin` and `state`; the same one for all episodes."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Start the browser. Raises `UserError`."""
        super().__init__(options)
        purpose, extra = self.needed_by
        path = found(purpose=purpose, extra=extra)
        self._stack = ExitStack()
        browser = self._stack.enter_context(running(path, scrollbars=True))
        width, height = self.window or self.size
        context = browser.new_context(
            viewport={"width": width, "height": height},
            device_scale_factor=self.scale,
            accept_downloads=False,
            service_workers="block",
            locale="en-US",
            timezone_id="UTC",
            reduced_motion="reduce",
        )
        context.set_default_timeout(PATIENCE_MS)
        self.page = context.new_page()
        # Without listeners, Playwright dismisses every dialog, and none keeps a page from leaving.
        self._tab = LiveTab(self.page, self.size, self.scale, window=self.window, kept=self.kept)
        serve(self._tab.session, self.folders)
        self._hands = Hands(self.page, self._tab, self.size, self.scale, [*self.folders])

    @abstractmethod
    def state(self) -> Seen:
        """Return the current goal, end, reward and reason; `observe` adds the rest."""

    def visit(self, url: str) -> None:
        """Go to the first page of an episode, without traces of the one before."""
        self._close_others()
        for host in self.folders:
            stored = {"origin": f"https://{host}", "storageTypes": "all"}
            self._tab.session.send("Storage.clearDataForOrigin", stored)
        self.page.goto(url, wait_until="load")
        self._tab.session.send("Page.resetNavigationHistory")

    def act(self, action: Action) -> Observation:
        from playwright.sync_api import Error

        try:
            self._hands.act(action)
            error = ""
        except NotDone as reason:
            error = str(reason)
        except Error as failure:
            if is_gone(self.page, failure):
                raise
            error = failure.message
        self._close_others()
        return self.observe(error)

    def observe(self, error: str = "") -> Observation:
        """Observe the page; of an ended episode, only its state.

        `error`: the reason why an action was not carried out.
        """
        seen = replace(self._tab.patiently(self.state), error=error)
        if seen.ended:
            return seen.observation()
        picture = self._tab.screenshot() if self.settles is None else self._settled()
        page = self._tab.look()
        width, height = (round(length * self.scale) for length in self.size)
        seen = replace(seen, **self._tab.call("about"), viewport=(width, height))
        return seen.observation(picture, page)

    def close(self) -> None:
        """End the browser; one of a worker ends with its process."""
        self._stack.close()

    def _settled(self) -> bytes:
        """Take pictures until two are equal; return the last one."""
        end = time.monotonic() + SETTLING_S
        self.page.wait_for_timeout(1000 * (self.settles or 0))
        picture = self._tab.screenshot()
        while time.monotonic() < end:
            before, picture = picture, self._tab.screenshot()
            if picture == before:
                break
        return picture

    def _close_others(self) -> None:
        for page in self.page.context.pages:
            if page is not self.page:
                page.close()
