"""A page in Chromium, for worlds to observe and act on."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from harness.live.clean import USUAL, KeptParts
from harness.live.contract import LivePage
from harness.live.snapshot import LIMITS, describing, finding, live_page

if TYPE_CHECKING:
    from playwright.sync_api import Error, Frame, Page

T = TypeVar("T")

_WORLD = "vlm-eval"
_TRIES = 4
_CALL = "function (name, ...values) { return globalThis.vlmEval[name](...values); }"


class LiveTab:
    """The functions of `acting.js` on the page's current document, and pictures of it.

    size: width and height of the visible part of the window, from its upper left corner.
    window: width and height of the window.
    scale: pixels of the picture per pixel of the page.
    session: of the DevTools protocol with the page.
    """

    def __init__(
        self,
        page: Page,
        size: tuple[int, int],
        scale: float,
        *,
        window: tuple[int, int] | None = None,
        kept: KeptParts = USUAL,
    ) -> None:
        self._page = page
        self._size = size
        self._scale = scale
        self._kept = kept
        width, height = window or size
        self.session = page.context.new_cdp_session(page)
        self._frame: str = self._send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        self._context: int | None = None
        page.on("framenavigated", self._entered)
        # Pictures have the metrics of the session that takes them.
        self._send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )

    def call(self, name: str, *arguments: object) -> Any:
        """Call a function of `acting.js`. Raises `playwright.sync_api.Error`."""
        return self.patiently(lambda: self._call(name, arguments))

    def patiently(self, ask: Callable[[], T]) -> T:
        """Call `ask`, and again if another document was loaded meanwhile.

        Raises `playwright.sync_api.Error`.
        """
        from playwright.sync_api import Error

        for _ in range(_TRIES - 1):
            try:
                return ask()
            except Error as error:
                if is_gone(self._page, error):
                    raise
                self._context = None
                self._page.wait_for_load_state("domcontentloaded")
        return ask()

    def screenshot(self) -> bytes:
        """Take a picture of the viewport as lossless WebP."""
        width, height = self._size
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        if self._context is None:
            # The functions hide the caret.
            self.patiently(self._enter)
        # At quality 100, Chromium writes lossless WebP.
        taken = self._send("Page.captureScreenshot", format="webp", quality=100, clip=clip)
        return base64.b64decode(taken["data"])

    def look(self) -> LivePage:
        """Describe the current page. Its ids are valid until the next look."""
        kept = {"left_out": self._kept.left_out, "colours": self._kept.colours}
        seen = self.call("look", {**LIMITS, **kept, "view": self._size})
        return live_page(seen["nodes"], self._scale, cut=seen["cut"], kept=self._kept)

    def about(self) -> tuple[str, str]:
        """Return the page's URL and title, not cleaned."""
        found = self.call("about")
        return found["url"], found["title"]

    def forget_visited(self) -> None:
        """Forget the pages before this one."""
        self._send("Page.resetNavigationHistory")

    def forget_stored(self, origins: Sequence[str]) -> None:
        """Delete the pages' stored data, cookies included."""
        for origin in origins:
            self._send("Storage.clearDataForOrigin", origin=origin, storageTypes="all")

    def _call(self, name: str, arguments: Sequence[object]) -> Any:
        context = self._context if self._context is not None else self._enter()
        answer = self._send(
            "Runtime.callFunctionOn",
            functionDeclaration=_CALL,
            executionContextId=context,
            arguments=[{"value": value} for value in (name, *arguments)],
            returnByValue=True,
            awaitPromise=True,
        )
        if "exceptionDetails" in answer:
            raise ValueError(f"{name} failed: {answer['exceptionDetails'].get('text', '')}")
        return answer["result"].get("value")

    def _entered(self, frame: Frame) -> None:
        if frame is self._page.main_frame:
            self._context = None

    def _enter(self) -> int:
        """Define the functions in a script world of the document that its scripts cannot reach."""
        made = self._send("Page.createIsolatedWorld", frameId=self._frame, worldName=_WORLD)
        context: int = made["executionContextId"]
        answer = self._send("Runtime.evaluate", expression=_functions(), contextId=context)
        if "exceptionDetails" in answer:
            raise ValueError("the functions for live pages do not compile")
        self._context = context
        return context

    def _send(self, method: str, **parameters: object) -> Any:
        return self.session.send(method, parameters)


def is_gone(page: Page, error: Error) -> bool:
    """Return True if an error means that the page no longer exists."""
    return page.is_closed() or "crashed" in error.message


@cache
def _functions() -> str:
    own = Path(__file__).with_name("acting.js").read_text(encoding="utf-8").rstrip()
    return f"{{ {describing()}{finding()}globalThis.vlmEval = {own}; }}"
