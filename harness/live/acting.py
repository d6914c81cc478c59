"""Carry out the actions of `parsers.live` on a page.

No part of an action runs as code: texts are typed or passed as values, addresses must be of a host
that the world knows, and keys must be names of keys.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar
from urllib.parse import urlsplit

from harness.live.clean import USUAL, KeptParts, clean_line
from harness.live.contract import LivePage
from harness.live.snapshot import LIMITS, describing, finding, live_page
from parsers.actions import Action
from parsers.live import MESSAGE, STOPS
from parsers.settling import FAR

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


LONGEST_TYPED = 200
"""Longest text that is typed key by key, in characters; longer texts are inserted at once."""
LONGEST_HELD = 80
"""Longest content of a field in an error, in characters."""
USUAL_WAIT_MS, LONGEST_WAIT_MS = 1000, 10_000
_KEYS = re.compile(r"[!-~]{1,40}")
WAYS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
SCROLLED = 0.8
"""Length of a scroll, as a share of the viewport."""
_DRAG_STEPS = 5

Point = tuple[float, float]


class NotDone(Exception):
    """An action could not be carried out; the message tells the agent why."""


class Hands:
    """Mouse and keyboard of an agent.

    hosts: hosts that the agent may go to.
    """

    def __init__(
        self, page: Page, tab: LiveTab, size: tuple[int, int], scale: float, hosts: Collection[str]
    ) -> None:
        self._page = page
        self._tab = tab
        self._size = size
        self._scale = scale
        self._hosts = frozenset(hosts)

    def act(self, action: Action) -> None:
        """Carry out an action. Raises `NotDone`, `playwright.sync_api.Error`."""
        arguments = action.arguments
        value = as_text(arguments.get("value"))
        somewhere = action.element is not None or action.point is not None
        match action.name:
            case "CLICK":
                self._click(action)
            case "TYPE":
                self._type(action, value)
                if arguments.get("press_enter") is True:
                    self._page.keyboard.press("Enter")
            case "SELECT":
                self._call("choose", *self._where(action), value)
            case "HOVER":
                self._page.mouse.move(*self._place(action))
            case "ENTER" | "PRESS":
                key = "Enter" if action.name == "ENTER" else as_text(arguments.get("key"))
                if not _KEYS.fullmatch(key):
                    raise NotDone("that is no name of a key")
                if somewhere:
                    self._call("focus", *self._where(action))
                self._page.keyboard.press(key)
            case "KEYS":
                self._write(value)
            case "SCROLL":
                way = WAYS.get(as_text(arguments.get("direction")))
                if way is None:
                    raise NotDone("the direction is up, down, left or right")
                at = self._place(action) if somewhere else self._middle
                across, down = (
                    SCROLLED * length * one for length, one in zip(self._size, way, strict=True)
                )
                self._wheel(at, across, down)
            case "SCROLL_BY":
                deltas = [arguments.get("delta_x"), arguments.get("delta_y")]
                if not _are_numbers(deltas):
                    raise NotDone("scrolling needs how far to the right and down")
                at = self._place(action) if somewhere else self._middle
                self._wheel(at, *(delta / self._scale for delta in deltas))
            case "DRAG":
                self._drag(action)
            case "GOTO":
                self._go_to(as_text(arguments.get("url")))
            case "BACK":
                self._page.go_back(wait_until="domcontentloaded")
            case "FORWARD":
                self._page.go_forward(wait_until="domcontentloaded")
            case "WAIT":
                wanted = [arguments.get("ms")]
                wait = wanted[0] if _are_numbers(wanted) else USUAL_WAIT_MS
                self._page.wait_for_timeout(min(max(0, wait), LONGEST_WAIT_MS))
            case name if name not in (MESSAGE, *STOPS):
                raise NotDone("there is no such action")

    def _click(self, action: Action) -> None:
        option = None
        if action.element is not None:
            option = self._tab.call("option", action.element)
        if option is not None:
            # The list that a click opens is not part of the page; its options can be chosen.
            self._call("choose", action.element, None, option)
        else:
            self._press(self._place(action))

    def _press(self, place: Point) -> None:
        """Click with a hand that comes before it presses, as people's do."""
        self._tab.call("aim", *place)
        self._page.mouse.move(*place)
        self._tab.call("steady", *place)
        self._page.mouse.click(*place)

    def _type(self, action: Action, value: str) -> None:
        place = self._call("field", *self._where(action))
        if place is None:
            self._call("set", value)
            return
        self._press(place)
        self._call("replace")
        if value:
            self._write(value)
        else:
            self._page.keyboard.press("Delete")
        if self._tab.call("other", value) is None:
            return
        # The page may refuse keys; BrowserGym's `fill` inserts the text without any.
        self._call("replace")
        self._page.keyboard.insert_text(value)
        held = self._tab.call("other", value)
        if held is not None:
            raise NotDone(f'the field holds "{clean_line(held, LONGEST_HELD)}" afterwards')

    def _write(self, value: str) -> None:
        if len(value) <= LONGEST_TYPED and value.isprintable():
            self._page.keyboard.type(value)
        else:
            self._page.keyboard.insert_text(value)

    @property
    def _middle(self) -> Point:
        return self._size[0] / 2, self._size[1] / 2

    def _wheel(self, at: Point, across: float, down: float) -> None:
        """Turn the wheel at a point, by pixels of the page."""
        self._page.mouse.move(*at)
        self._page.mouse.wheel(across, down)
        self._tab.call("frames")

    def _drag(self, action: Action) -> None:
        ends = [action.arguments.get("to_x"), action.arguments.get("to_y")]
        if not _are_numbers(ends):
            raise NotDone("a drag needs the point that it goes to")
        mouse = self._page.mouse
        end = self._on_page(ends)
        mouse.move(*self._place(action))
        mouse.down()
        try:
            mouse.move(*end, steps=_DRAG_STEPS)
        finally:
            mouse.up()
        self._tab.call("frames")

    def _go_to(self, url: str) -> None:
        try:
            parts = urlsplit(url)
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or parts.netloc not in self._hosts:
            raise NotDone("this address is not part of the environment")
        self._page.goto(url, wait_until="domcontentloaded")

    def _where(self, action: Action) -> tuple[str | None, Point | None]:
        """Return the element of an action, or else its point on the page. Raises `NotDone`."""
        if action.element is not None:
            return action.element, None
        return None, self._on_page(action.point)

    def _place(self, action: Action) -> Point:
        element, point = self._where(action)
        if point is not None:
            return point
        x, y = self._call("place", element)
        return x, y

    def _on_page(self, point: Any) -> Point:
        """Convert a point of the screenshot to pixels of the page. Raises `NotDone`."""
        if point is None or not _are_numbers(point):
            raise NotDone("the action needs an element or a point")
        x, y = (number / self._scale for number in point)
        if not (0 <= x < self._size[0] and 0 <= y < self._size[1]):
            raise NotDone("the point is outside of the screenshot")
        return x, y

    def _call(self, name: str, *arguments: object) -> Any:
        """Call a function of `acting.js`. Raises `NotDone` with the text of its refusal."""
        answer = self._tab.call(name, *arguments)
        if isinstance(answer, str):
            raise NotDone(answer)
        return answer


def as_text(value: object) -> str:
    """Return a text unchanged; "" for anything else."""
    return value if isinstance(value, str) else ""


def _are_numbers(values: Sequence[object]) -> TypeGuard[Sequence[float]]:
    return all(
        isinstance(one, int | float) and not isinstance(one, bool) and -FAR <= one <= FAR
        for one in values
    )
