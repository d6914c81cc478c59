"""A world on pages in Chromium. Benchmarks with live pages build theirs on it:

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

One browser, one context and one page serve all episodes of a worker: with `visit` an episode of one
action takes about 0.2 s, with a new context for each it would take 0.6 s. To stay there: one
`evaluate` where several values are needed, no waiting by the clock, `settles` only for episodes
that move, and no `add_init_script` that can be had by one `evaluate`.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.dialogue import Observation
from harness.live.acting import Hands, NotDone
from harness.live.chromium import found, running
from harness.live.clean import USUAL, Kept
from harness.live.contract import Seen, World
from harness.live.files import serve
from harness.live.tab import LiveTab, is_gone
from harness.printing import printable
from parsers.actions import Action

if TYPE_CHECKING:
    from playwright.sync_api import Page

SETTLING_S = 0.5
"""The longest that is waited for two equal pictures, in seconds."""
PATIENCE_MS = 10_000
"""Limit for the browser's own waiting, for a page to load, say. What never answers at all is ended
by the limits of `harness.live.pool`."""
LONGEST_ERROR = 200


class BrowserWorld(World):
    """A world of pages.

    Options: `browser` (path of Chromium, the system's if it is missing or None), `scale` (pixels
    of the screenshot for one of the page), `page` (whether to observe the page's HTML, True if
    missing).

    size: width and height of what can be seen in pixels of the page.
    window: those of the window, of which that is the left upper part; `size` unless given.
    kept: what observed pages have beyond what Mind2Web's have.
    scale: what `scale` is where the options have none.
    folders: what is served at made-up hosts, without any network.
    hosts: hosts that can be reached over the network; no others can.
    needed_by: who needs the browser, and the extra that brings playwright, for messages.
    """

    size: tuple[int, int] = (1280, 720)
    window: tuple[int, int] | None = None
    kept: Kept = USUAL
    scale: float = 1.0
    folders: Mapping[str, Path] = {}
    hosts: Sequence[str] = ()
    needed_by: tuple[str, str] = ("a live page", "live")

    settles: float | None = None
    """Seconds until a page that moves after an action begins to; None where pages stand still."""
    page: Page
    """The page, for what `begin` and `state` need. It stays the same for all episodes."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Start the browser. Raises `UserError`."""
        super().__init__(options)
        purpose, extra = self.needed_by
        path = found(options.get("browser"), purpose=purpose, extra=extra)
        from playwright.sync_api import sync_playwright

        self.scale = float(options.get("scale") or self.scale)
        self._stack = ExitStack()
        playwright = self._stack.enter_context(sync_playwright())
        browser = self._stack.enter_context(running(playwright, path, hosts=self.hosts))
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
        # No dialog has a listener, so that each is dismissed, and none keeps a page from leaving.
        self._tab = LiveTab(self.page, self.size, self.scale, window=self.window, kept=self.kept)
        serve(self._tab.session, self.folders, self.hosts)
        known = [*self.folders, *self.hosts]
        self._hands = Hands(self.page, self._tab, self.size, self.scale, known)

    @abstractmethod
    def state(self) -> Seen:
        """Goal, end, reward and reason as they are now; the rest is filled in."""

    def visit(self, url: str) -> None:
        """Go to the first page of an episode, without a trace of the episode before."""
        self._close_others()
        if self.hosts:
            self.page.context.clear_cookies()
        self._tab.forget_stored([f"https://{host}" for host in self.folders])
        self.page.goto(url, wait_until="load")
        self._tab.forget_visited()

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
        """What is seen now. An episode that has ended shows its state and nothing else.

        `error` says in any words why an action was not carried out.
        """
        seen = replace(self._tab.patiently(self.state), error=_line(error))
        if seen.ended:
            return seen.observation()
        picture = self._tab.screenshot() if self.settles is None else self._settled()
        page = self._tab.look() if self.options.get("page", True) else None
        url, title = self._tab.about()
        size = (round(self.size[0] * self.scale), round(self.size[1] * self.scale))
        seen = replace(seen, url=url, title=title, viewport=size)
        return seen.observation(picture, page)

    def close(self) -> None:
        self._stack.close()

    def _settled(self) -> bytes:
        """A picture that was the same twice, or the last one."""
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


def _line(text: str) -> str:
    line = printable(text.strip().split("\n")[0])
    return line if len(line) <= LONGEST_ERROR else f"{line[: LONGEST_ERROR - 1]}…"
