"""A tiny stand-in for the Hugging Face hub: one data set, files from a folder."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

REVISION = "1b4c6a8cf9f77b7a5e0d641959935c80c4a05889"


class Hub:
    """Serves `folder` as a data set. `status` answers everything; `delay_s` before anything."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.status = 200
        self.error_code = ""
        self.delay_s = 0.0
        self.asked: list[str] = []
        self.url = ""


@contextmanager
def serving(folder: Path) -> Iterator[Hub]:
    hub = Hub(folder)

    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1

        def do_HEAD(self) -> None:
            self.reply()

        def do_GET(self) -> None:
            self.reply()

        def reply(self) -> None:
            path = self.path.partition("?")[0]
            hub.asked.append(f"{self.command} {path}")
            time.sleep(hub.delay_s)
            if hub.status != 200:
                self.send(hub.status, b"{}", {"X-Error-Code": hub.error_code})
            elif path.startswith("/api/datasets/"):
                self.send(200, json.dumps(self.listing()).encode(), {})
            else:
                data = (hub.folder / path.split(f"/resolve/{REVISION}/")[1]).read_bytes()
                digest = hashlib.sha256(data).hexdigest()
                self.send(200, data, {"ETag": f'"{digest}"', "X-Repo-Commit": REVISION})

        def listing(self) -> dict[str, object]:
            files = sorted(p for p in hub.folder.rglob("*") if p.is_file())
            siblings = []
            for path in files:
                data = path.read_bytes()
                digest = hashlib.sha256(data).hexdigest()
                lfs = {"sha256": digest, "size": len(data), "pointerSize": 130}
                name = path.relative_to(hub.folder).as_posix()
                siblings.append({"rfilename": name, "size": len(data), "blobId": "0", "lfs": lfs})
            return {"id": "x/y", "sha": REVISION, "siblings": siblings, "tags": []}

        def send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.request_queue_size = 64
    Thread(target=server.serve_forever, daemon=True).start()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
