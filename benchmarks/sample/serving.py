"""The sites of the sample: their files answer requests in a browser, or on a port."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from harness.errors import UserError, suggestion

SITES = Path(__file__).parent / "sites"
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}


def answer(site: str, url: str) -> tuple[str, str]:
    """Return the content and the media type that a site answers a request with."""
    name = urlsplit(url).path.rsplit("/", 1)[-1]
    for path in (SITES / site / name, SITES / name):
        if path.suffix in (".js", ".css") and path.is_file():
            break
    else:
        path = SITES / "shell.html"
    return path.read_text(encoding="utf-8"), f"{_KINDS[path.suffix]}; charset=utf-8"


def server(site: str, port: int = 0) -> ThreadingHTTPServer:
    """Return a server of a site on a port of this machine; 0 for a free one.

    Raises `UserError` for an unknown site and a port that is taken.
    """
    known = sorted(path.name for path in SITES.iterdir() if path.is_dir())
    if site not in known:
        raise UserError(f"the sample has no site '{site}'; {suggestion(site, known)}")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body, kind = answer(site, self.path)
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    try:
        return ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except (OSError, OverflowError) as error:
        raise UserError(f"port {port} cannot be used: {error}") from error
