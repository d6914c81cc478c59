"""A tiny stand-in for the Hugging Face hub: one data set, files from a folder."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, unquote

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

        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if "/paths-info/" in self.path:
                fields = json.loads(asked) if asked.startswith("{") else parse_qs(asked)
                found = [self.entry(hub.folder / path) for path in fields["paths"]]
                self.json([entry for entry in found if entry])
            else:
                self.send(404, b"{}", {})

        def reply(self) -> None:
            path = unquote(self.path.partition("?")[0])
            hub.asked.append(f"{self.command} {path}")
            time.sleep(hub.delay_s)
            if hub.status != 200:
                self.send(hub.status, b"{}", {"X-Error-Code": hub.error_code})
            elif "/tree/" in path:
                folder = hub.folder / path.partition("/tree/")[2].partition("/")[2]
                inside = folder.rglob("*") if "recursive=True" in self.path else folder.glob("*")
                self.json([self.entry(one) for one in sorted(inside)])
            elif path.startswith("/api/datasets/"):
                self.json(self.listing())
            elif (file := hub.folder / path.split(f"/resolve/{REVISION}/")[-1]).is_file():
                self.file(file.read_bytes())
            else:
                self.send(404, b"", {"X-Error-Code": "EntryNotFound"})

        def file(self, data: bytes) -> None:
            digest = hashlib.sha256(data).hexdigest()
            headers = {"ETag": f'"{digest}"', "X-Repo-Commit": REVISION, "Accept-Ranges": "bytes"}
            if asked := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
                first, last = int(asked[1]), min(int(asked[2] or len(data)), len(data) - 1)
                headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
                self.send(206, data[first : last + 1], headers)
            else:
                self.send(200, data, headers)

        def json(self, value: object) -> None:
            self.send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

        def entry(self, path: Path) -> dict[str, object]:
            name = path.relative_to(hub.folder).as_posix()
            if path.is_dir():
                return {"type": "directory", "path": name, "oid": "0"}
            if not path.is_file():
                return {}
            return {"type": "file", "path": name, "oid": "0", "size": path.stat().st_size}

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
