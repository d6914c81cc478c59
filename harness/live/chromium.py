"""Start Chromium without a network, bound to this process, and without leftovers.

The browser resolves no names or addresses, and sends everything through a proxy that does not
exist: neither requests nor sockets of any kind leave the machine. Each measure alone leaves a gap:
routes of Playwright do not see WebSockets, and resolver rules do not see the datagrams of WebRTC.

A browser writes to a folder of its process only (`scratch`). If the process is killed, the next one
that starts a browser removes the folder.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters.processes import launcher
from adapters.registry import install
from harness.errors import UserError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Error

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
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
)
# A crashing page writes its memory to the user's home, with any flags.
# Chromium writes no dumps if their folder is a file.
_NO_DUMPS = """dumps=$(dirname "$0")/dumps
mkdir -p "$dumps" && : > "$dumps/new" && export BREAKPAD_DUMP_LOCATION="$dumps"
"""
_MARK = "vlm-eval-scratch"
# Chromium creates a socket in there, whose path may have 107 bytes.
_PREFIX = "vlm-eval-"
_CLEARINGS = 20
_ALONE = (
    # The second is the name in older versions.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--proxy-server=http://nowhere.invalid:1",
    # Addresses of this machine would bypass the proxy.
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def chromium() -> Path | None:
    """Return the path of the system's Chromium; None if it is not installed."""
    found = (shutil.which(name) for name in _NAMES)
    return next((Path(path) for path in found if path), None)


def found(executable: Path | str | None = None, *, purpose: str, extra: str) -> Path:
    """Return the path of the browser: `executable`, or the system's.

    Raises:
        UserError: playwright or the browser is missing; the message names the `purpose` that needs
            it, and the `extra` of this package that installs playwright.
    """
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        raise UserError(f"{purpose} needs playwright: {install(extra)}") from None
    path = Path(executable) if executable else chromium()
    if path is None or not path.is_file():
        where = f"not found at {path}" if path else "apt install chromium"
        raise UserError(f"{purpose} needs Chromium: {where}")
    return path


def launching(executable: Path) -> str:
    """Write the text of a program that starts the browser by `launcher.py`."""
    words = launcher.bound(str(executable.absolute()))
    return f'#!/bin/sh\n{_NO_DUMPS}exec {shlex.join(words)} "$@"\n'


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a folder for browsers to write to, and remove those of killed processes.

    The folder is removed at the end. A process whose temporary files are already in such a folder
    uses that one, and the process that made it removes it.
    """
    parent = Path(tempfile.gettempdir())
    if (parent / _MARK).exists():
        yield parent
        return
    for left in parent.glob(f"{_PREFIX}*/{_MARK}"):
        # The folder of another user, or one that another process is just removing.
        with suppress(OSError), _locked(left.parent):
            shutil.rmtree(left.parent, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    with ExitStack() as stack:
        # Other processes remove marked folders only; without locks nothing is marked.
        with suppress(OSError):
            stack.enter_context(_locked(folder))
            (folder / _MARK).touch()
        try:
            yield folder
        finally:
            # A browser may still write just after its kill.
            for _ in range(_CLEARINGS):
                shutil.rmtree(folder, ignore_errors=True)
                if not folder.exists():
                    break
                time.sleep(0.1)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder; the system unlocks it when this process ends, however it ends.

    Raises:
        OSError: another process has locked it, or the folder does not exist.
    """
    import fcntl

    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(opened)


@contextmanager
def running(executable: Path, *, scrollbars: bool = False) -> Iterator[Browser]:
    """Start a browser that can reach no host. Raises `UserError` if it does not start.

    `scrollbars`: True to show them; Playwright hides them if no one sees the window.
    """
    from playwright.sync_api import Error, sync_playwright

    flags = ["--headless", "--no-sandbox", *_ALONE]
    with launch_arguments(executable, flags) as arguments, sync_playwright() as playwright:
        if scrollbars:
            arguments["ignore_default_args"].append("--hide-scrollbars")
        try:
            browser = playwright.chromium.launch(**arguments)
        except Error as error:
            raise does_not_start(executable, error) from None
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def launch_arguments(executable: Path, flags: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Make the arguments of Playwright's `launch` for a browser that ends with this process.

    A Playwright that is started within has its profiles in the folder of `scratch`.
    """
    before = os.environ.get("TMPDIR")
    with scratch() as folder:
        # Playwright takes the path of a program only, and no words before its own.
        made, program = tempfile.mkstemp(prefix="chromium-", dir=folder)
        with os.fdopen(made, "w", encoding="utf-8") as file:
            file.write(launching(executable))
        Path(program).chmod(0o700)
        os.environ["TMPDIR"] = str(folder)
        try:
            yield {
                "executable_path": program,
                # One window per click is enough.
                "ignore_default_args": ["--disable-popup-blocking"],
                "args": [*_FLAGS, *flags],
                "handle_sigint": False,
                "handle_sigterm": False,
                "handle_sighup": False,
            }
        finally:
            if before is None:
                del os.environ["TMPDIR"]
            else:
                os.environ["TMPDIR"] = before


def does_not_start(executable: Path, error: Error) -> UserError:
    """Return the error for a browser that Playwright cannot start."""
    return UserError(f"{executable} does not start: {error.message.splitlines()[0]}")
