"""A recording session: a watched browser, and the person's commands in the terminal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import UserError
from harness.live.chromium import does_not_start, found, launch_arguments
from harness.printing import say
from harness.recording.draft import Draft
from harness.recording.recorder import Recorder
from harness.recording.script import Script, play
from harness.recording.tab import Tab
from harness.tables import counted

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page

WIDTH, HEIGHT = 1280, 720
"""Size of the viewport, in pixels, as in the data."""
HELP = "u + Enter: undo the last step; s: hide what you press next; q: end the task"
UNNAMED = "(a task without a sentence)"
_LOADING_MS = 30_000
_SCRIPT_MS = 10_000
_ENDING_S = 10.0


def check_display() -> None:
    """Raise `UserError` if no window can be opened."""
    shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.platform.startswith("linux") and not shown:
        raise UserError(
            "recording opens a window, but found no display (DISPLAY is not set): run it on a "
            "desktop, over ssh -X or under xvfb-run, or give --script FILE"
        )


def record_task(
    draft: Draft, first: str, script: Script | None, sentence: str, browser: Path | None
) -> Path | None:
    """Record until the person ends the task or the page crashes, and write the trajectory. One that
    ends by an error or an interrupt is written, too.

    Args:
        draft: the trajectory, to which steps are added.
        first: address of the first page.
        script: actions to perform without a person and a window.
        sentence: the task in words; "" asks for it at the end.
        browser: path of Chromium; None for the system's.

    Returns:
        The written file; None without steps.

    Raises:
        UserError: playwright, Chromium or the page is missing, a script cannot continue, or no
            sentence is given.
    """
    executable = found(browser, purpose="recording", extra="record")
    if threading.current_thread() is threading.main_thread():
        # Shells let commands in the background ignore Ctrl-C, and only a kill would end them.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return asyncio.run(_record(draft, first, script, sentence, executable))


async def _record(
    draft: Draft, first: str, script: Script | None, sentence: str, executable: Path
) -> Path | None:
    lines = None if script else Lines()
    recorder = Recorder(draft, say)
    sentence = sentence or (script.goal if script else "")
    try:
        async with _browser(executable, visible=script is None) as context:
            tabs = Tabs(recorder)
            context.on("page", tabs.adopt)
            page = await context.new_page()
            await tabs.watched(page)
            await _open(page, first)
            working = asyncio.create_task(recorder.work())
            if script:
                acting = play(script, page, recorder)
            else:
                assert lines is not None
                acting = _obeying(lines, recorder, page, tabs)
            ending = asyncio.create_task(acting)
            crashed = asyncio.create_task(tabs.crashed.wait())
            try:
                await asyncio.wait([crashed, working, ending], return_when=asyncio.FIRST_COMPLETED)
                if script and tabs.crashed.is_set():
                    raise UserError("the page crashed")
                for task in (working, ending):
                    if task.done():
                        task.result()
                try:
                    # A crashed page never answers.
                    async with asyncio.timeout(0 if tabs.crashed.is_set() else _ENDING_S):
                        await recorder.do(recorder.settle)
                except TimeoutError:
                    say("     (the page does not answer: the last action is not recorded)")
            finally:
                for one in (crashed, working, ending):
                    one.cancel()
        while draft.steps and lines and not sentence:
            say("What was the task? One sentence, as an instruction:")
            if (line := await lines.next()) is None:
                raise UserError("the task has no sentence; give it with --task")
            sentence = line.strip()
    except BaseException:
        # A person's work is kept, however the recording ends.
        if draft.steps:
            written = draft.finish(sentence or UNNAMED, recorder.secrets)
            say(f"{written}: {counted(len(draft.steps), 'step')} until here", err=True)
        raise
    return draft.finish(sentence, recorder.secrets) if draft.steps else None


async def _obeying(lines: Lines, recorder: Recorder, page: Page, tabs: Tabs) -> None:
    """Carry out the person's commands until the task ends."""
    say(f"recording {page.url}: act in the window of the browser (scroll with wheel or keys)")
    say(f"in this terminal, {HELP}")
    closed = asyncio.create_task(tabs.closed.wait())
    while True:
        line = asyncio.create_task(lines.next())
        await asyncio.wait([line, closed], return_when=asyncio.FIRST_COMPLETED)
        if not line.done():
            line.cancel()
            return
        command = line.result()
        if command is None:
            await closed
            return
        match command.strip().lower():
            case "u" | "undo":
                await recorder.do(recorder.undo)
            case "s" | "secret":
                recorder.marking = True
                say("     (press what to hide: a field, or a text)")
            case "q" | "quit":
                closed.cancel()
                return
            case _:
                say(f"     ({HELP})")


async def _open(page: Page, url: str) -> None:
    from playwright.async_api import Error

    try:
        await page.goto(url, timeout=_LOADING_MS, wait_until="domcontentloaded")
    except Error as error:
        raise UserError(f"{url} cannot be opened: {error.message.splitlines()[0]}") from None


@asynccontextmanager
async def _browser(executable: Path, *, visible: bool) -> AsyncIterator[BrowserContext]:
    from playwright.async_api import Error, async_playwright

    # Frames share the process of the page around them: one session of the DevTools protocol
    # reaches all. Scroll bars would make the page narrower than its picture.
    flags = ["--disable-site-isolation-trials", "--hide-scrollbars"]
    if not visible:
        flags += ["--headless"]
    # Chromium does not start its sandbox for root.
    rooted = hasattr(os, "geteuid") and os.geteuid() == 0
    with launch_arguments(executable, flags) as arguments:
        async with async_playwright() as playwright:
            try:
                browser = await playwright.chromium.launch(
                    **arguments, headless=not visible, chromium_sandbox=not rooted
                )
            except Error as error:
                raise does_not_start(executable, error) from None
            context = await browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
            if not visible:
                context.set_default_timeout(_SCRIPT_MS)
            try:
                yield context
            finally:
                # The browser ends with this process at the latest.
                with suppress(Error, TimeoutError):
                    async with asyncio.timeout(_ENDING_S):
                        await browser.close()


class Tabs:
    """The pages of a browser.

    closed: set when the last page is closed.
    crashed: set when a page has crashed.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.closed = asyncio.Event()
        self.crashed = asyncio.Event()
        self._recorder = recorder
        self._watching: dict[Page, asyncio.Task[None]] = {}

    def adopt(self, page: Page) -> None:
        """Watch a new page."""
        self._watching[page] = asyncio.create_task(self._watch(page))

    async def watched(self, page: Page) -> None:
        """Wait until a page is watched."""
        await self._watching[page]

    async def _watch(self, page: Page) -> None:
        from playwright.async_api import Error

        page.on("close", self._closed)
        # Without a listener, Playwright would dismiss dialogs before the person can read them.
        page.on("dialog", self._asked)
        page.on("crash", lambda _: self.crashed.set())
        tab = Tab(page, self._recorder.receive)
        with suppress(Error):
            await tab.watch()
            self._recorder.tabs.append(tab)

    def _asked(self, dialog: Any) -> None:
        self._recorder.note(f"a dialog of the page ({dialog.type}) and its answer")

    def _closed(self, page: Page) -> None:
        self._watching.pop(page, None)
        if not self._watching:
            self.closed.set()


class Lines:
    """Lines typed into the terminal, read in a separate thread."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, daemon=True).start()

    async def next(self) -> str | None:
        """Return the next line; None from the end of the input on."""
        line = await self._lines.get()
        if line is None:
            self._lines.put_nowait(None)
        return line

    def _read(self) -> None:
        # Not by lines: a reader that still waits would keep a lock when the program ends.
        rest = b""
        with suppress(OSError, ValueError):  # The input may be missing.
            while some := os.read(sys.stdin.fileno(), 4096):
                *whole, rest = (rest + some).split(b"\n")
                for line in whole:
                    self._put(line.decode("utf-8", "replace"))
        self._put(None)

    def _put(self, line: str | None) -> None:
        with suppress(RuntimeError):  # The loop may have ended.
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
