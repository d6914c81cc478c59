"""Files that pages are made of, served to a browser without a server."""

from __future__ import annotations

import mimetypes
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Route

_KEPT = 256
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".htm": "text/html"}


def serve(
    context: BrowserContext, folders: Mapping[str, Path], hosts: Collection[str] = ()
) -> None:
    """Answer requests for `https://HOST/PATH` from the folder of the host.

    Requests for `hosts` go on; all others fail, and a page that leaves for elsewhere stays.
    A file is read once. Unlike with `file://` addresses, no page can show or read any other file of
    this machine.
    """
    roots = {host: folder.resolve() for host, folder in folders.items()}

    def answer(route: Route) -> None:
        found = None
        parts = urlsplit(route.request.url)
        root = roots.get(parts.netloc)
        if root is None:
            if parts.hostname in hosts:
                route.continue_()
            else:
                route.abort("aborted")
            return
        if route.request.method == "GET":
            found = _file(root, unquote(parts.path))
        if found is None:
            route.fulfill(status=404, body="")
            return
        body, kind = found
        route.fulfill(body=body, content_type=kind)

    context.route("**/*", answer)


@lru_cache(_KEPT)
def _file(root: Path, path: str) -> tuple[bytes, str] | None:
    """A file's bytes and media type; None for what is not in the folder."""
    try:
        file = (root / path.lstrip("/")).resolve()
        if not file.is_relative_to(root) or not file.is_file():
            return None
        kind = _KINDS.get(file.suffix) or mimetypes.guess_type(file.name)[0]
        text = kind is not None and kind.startswith("text/")
        kind = f"{kind}; charset=utf-8" if text else kind
        return file.read_bytes(), kind or "application/octet-stream"
    except (OSError, ValueError):
        return None
