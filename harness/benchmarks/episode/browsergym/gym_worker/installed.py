"""Packages of this environment, and addresses that it reaches."""

import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SITE_S = 5.0
"""Seconds that a site has to answer in."""
LAYOUTS = {
    "chromium": ("chrome-linux/chrome", "chrome-linux64/chrome"),
    "chromium-headless-shell": (
        "chrome-linux/headless_shell",
        "chrome-headless-shell-linux64/chrome-headless-shell",
    ),
}
"""Where versions of Playwright look for a browser inside the folder of its revision."""


class ForUser(Exception):
    """Something that the user has to mend."""


def stand_in(launcher: "str | None") -> None:
    """Let Playwright start the browser of the program `launcher` wherever it looks for its own.

    BrowserGym starts a second browser for its chat, and takes no path for that one.
    """
    if launcher is None:
        return
    folder = Path(os.environ["TMPDIR"]) / f"browsers-{os.getpid()}"
    for place in expected():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(launcher, encoding="utf-8")
        path.chmod(0o700)
    os.environ["PLAYWRIGHT_BROWSERS_PATH"] = str(folder)


def expected() -> Iterator[str]:
    """Where Playwright looks for browsers, relative to its folder of browsers."""
    spec = importlib.util.find_spec("playwright")
    if spec is None or not spec.submodule_search_locations:
        raise ForUser(
            "BrowserGym is not installed here; vlm-eval environments check browsergym says how"
        )
    listed = Path(spec.submodule_search_locations[0]) / "driver/package/browsers.json"
    for one in json.loads(listed.read_text(encoding="utf-8"))["browsers"]:
        for layout in LAYOUTS.get(one["name"], ()):
            yield f"{one['name'].replace('-', '_')}-{one['revision']}/{layout}"


def miniwob_pages() -> "str | None":
    """The address of the pages of MiniWoB++; None if they are not installed."""
    spec = importlib.util.find_spec("miniwob")
    for place in (spec and spec.submodule_search_locations) or ():
        if (folder := Path(place) / "html" / "miniwob").is_dir():
            return folder.as_uri() + "/"
    return None


def versions(packages: list[str]) -> dict[str, str]:
    """Versions of packages, "" for one that is not installed."""
    found = {}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = ""
    return found


def usual() -> Path:
    """The folder of Playwright's own browsers."""
    return Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache/ms-playwright")


def nltk_data(name: str) -> str:
    """Where data of nltk lies, "" where it is missing."""
    try:
        return str(importlib.import_module("nltk.data").find(name))
    except (ImportError, LookupError):
        return ""


def site(address: str) -> list[Any]:
    """Return whether a site answers, and in words, without secrets of its address."""
    if not address:
        return [False, "not set"]
    parts = urllib.parse.urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return [False, "no address that begins with http:// or https://"]
    shown = f"{parts.scheme}://{parts.hostname}"
    try:
        shown += f":{parts.port}" if parts.port else ""
        with urllib.request.urlopen(f"{shown}{parts.path or '/'}", timeout=SITE_S) as reply:
            return [True, f"{shown} answers ({reply.status})"]
    except urllib.error.HTTPError as error:
        return [True, f"{shown} answers ({error.code})"]
    except (OSError, ValueError) as error:
        return [False, f"{shown} does not answer ({line(getattr(error, 'reason', error))})"]


def line(error: object) -> str:
    """The first line of an error, without names and passwords in addresses."""
    text = str(error).strip() or type(error).__name__
    return re.sub(r"//[^/@\s]*@", "//", text.splitlines()[0])[:200]
