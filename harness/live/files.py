"""Serve files to a page without a server."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession

_KEPT = 256
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".htm": "text/html"}
_PAGE = "text/html"


def serve(session: CDPSession, folders: Mapping[str, Path], hosts: Collection[str] = ()) -> None:
    """Answer requests of a page for `https://HOST/PATH` from the folder of the host.

    Requests for `hosts` continue; all others fail, and a page that leaves for elsewhere stays.
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
            elif parts.hostname in hosts:
                session.send("Fetch.continueRequest", which)
            else:
                session.send("Fetch.failRequest", {**which, "errorReason": "Aborted"})

    session.on("Fetch.requestPaused", answer)
    session.send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})


def _response(root: Path, path: str) -> dict[str, object]:
    found = _file(root, path)
    if found is None:
        return {"responseCode": 404}
    body, kind = found
    headers = [{"name": "Content-Type", "value": kind}]
    if not kind.startswith(_PAGE):
        headers.append({"name": "Cache-Control", "value": "max-age=86400"})
    return {"responseCode": 200, "responseHeaders": headers, "body": body}


@lru_cache(_KEPT)
def _file(root: Path, path: str) -> tuple[str, str] | None:
    """Read a file as base64, with its media type; None if it is not in the folder."""
    try:
        file = (root / path.lstrip("/")).resolve()
        if not file.is_relative_to(root) or not file.is_file():
            return None
        kind = _KINDS.get(file.suffix) or mimetypes.guess_type(file.name)[0]
        text = kind is not None and kind.startswith("text/")
        kind = f"{kind}; charset=utf-8" if text else kind
        return base64.b64encode(file.read_bytes()).decode(), kind or "application/octet-stream"
    except (OSError, ValueError):
        return None
