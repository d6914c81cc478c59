"""Chromium, started so that it reaches nothing and outlives nobody.

Names and addresses are resolved to nothing by the browser itself, and what it would send has to go
through a proxy that does not exist, so that neither requests nor sockets of any kind leave the
machine. Each alone leaves a gap: routes of Playwright do not see WebSockets, and resolver rules do
not see the datagrams of WebRTC.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from adapters import launcher
from harness.errors import UserError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_HOST = re.compile(r"[A-Za-z0-9.-]+")
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
_ALONE = (
    # The second is the name in older versions.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--proxy-server=http://nowhere.invalid:1",
)


def chromium() -> Path | None:
    """The path of the system's Chromium; None if it is not installed."""
    found = (shutil.which(name) for name in _NAMES)
    return next((Path(path) for path in found if path), None)


def found(executable: Path | str | None = None, *, purpose: str, extra: str) -> Path:
    """The browser to use, `executable` or the system's.

    Raises:
        UserError: playwright or the browser is missing; the message says that `purpose` needs it,
            and that `extra` of this package brings playwright.
    """
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        raise UserError(
            f"{purpose} needs playwright: pip install 'vlm-web-eval[{extra}]'"
        ) from None
    path = Path(executable) if executable else chromium()
    if path is None or not path.is_file():
        where = f"there is none at {path}" if path else "apt install chromium"
        raise UserError(f"{purpose} needs Chromium: {where}")
    return path


def launching(executable: Path) -> str:
    """A program, as text, that starts the browser by `launcher.py`."""
    words = [sys.executable, "-I", "-S", str(Path(launcher.__file__))]
    words.append(str(executable.absolute()))
    return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'


@contextmanager
def running(
    playwright: Playwright, executable: Path, *, hosts: Sequence[str] = ()
) -> Iterator[Browser]:
    """Start a browser that can reach `hosts` and no other.

    Raises:
        UserError: it does not start.
        ValueError: a host is no name of one.
    """
    from playwright.sync_api import Error

    with TemporaryDirectory(prefix="vlm-eval-browser-") as folder:
        flags = ["--headless", "--no-sandbox", *_ALONE, *_network(hosts)]
        try:
            given = launch_arguments(Path(folder), executable, flags)
            browser = playwright.chromium.launch(**given)
        except Error as error:
            reason = error.message.splitlines()[0]
            raise UserError(f"{executable} does not start: {reason}") from None
        try:
            yield browser
        finally:
            browser.close()


def launch_arguments(folder: Path, executable: Path, flags: Sequence[str]) -> dict[str, Any]:
    """What Playwright's `launch` takes to start a browser that ends with this process.

    `folder` has to be there as long as the browser runs.
    """
    return {
        "executable_path": _launcher(folder, executable),
        # One window per click is enough.
        "ignore_default_args": ["--disable-popup-blocking"],
        "args": [*_FLAGS, *flags],
        "handle_sigint": False,
        "handle_sigterm": False,
        "handle_sighup": False,
    }


def _network(hosts: Sequence[str]) -> Iterator[str]:
    if wrong := next((host for host in hosts if not _HOST.fullmatch(host)), None):
        raise ValueError(f"{wrong!r} is no name of a host")
    rules = ["MAP * ~NOTFOUND", *(f"EXCLUDE {host}" for host in hosts)]
    yield f"--host-resolver-rules={', '.join(rules)}"
    # Without the first, addresses of this machine would need no proxy.
    yield f"--proxy-bypass-list={';'.join(['<-loopback>', *hosts])}"


def _launcher(folder: Path, executable: Path) -> Path:
    """A program that starts the browser by `launcher.py`: Playwright takes a path and no words."""
    path = folder / "chromium"
    path.write_text(launching(executable), encoding="utf-8")
    path.chmod(0o700)
    return path
