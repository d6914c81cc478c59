"""A site on this machine, and recording on it by a script."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from harness.commands.main import cli
from harness.live.chromium import chromium
from harness.recording.columns import StepRow, read

needs_browser = pytest.mark.skipif(
    find_spec("playwright") is None or chromium() is None,
    reason="needs the extra [record], and Chromium",
)

Pages = Mapping[str, str]
"""HTML by path. `{name}` becomes what was sent under that name, `{port}` the port."""


@contextmanager
def site(pages: Pages) -> Iterator[str]:
    """Serve pages; gives the address. Each answer sets a cookie."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(urlsplit(self.path).query)

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

        def _answer(self, query: str) -> None:
            page = pages.get(urlsplit(self.path).path)
            self.send_response(200 if page is not None else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Set-Cookie", "session=c00kie-0123456789abcdef; Path=/")
            self.end_headers()
            text = (page or "").replace("{port}", str(server.server_port))
            for name, values in parse_qs(query).items():
                text = text.replace(f"{{{name}}}", values[0])
            self.wfile.write(f"<!DOCTYPE html>{text}".encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@dataclass(frozen=True)
class Recording:
    """What was recorded in a folder."""

    folder: Path

    @cached_property
    def rows(self) -> list[StepRow]:
        (path,) = self.folder.glob("*.parquet")
        return read(path)

    @property
    def words(self) -> list[str]:
        return [row["target_action_reprs"] for row in self.rows]

    @cached_property
    def text(self) -> str:
        (path,) = self.folder.glob("*.txt")
        return path.read_text("utf-8")

    def notes(self, at: int) -> list[str]:
        """The notes of a step, from 0."""
        lines = self.text.splitlines()[2:]
        steps = [i for i, line in enumerate(lines) if not line.startswith("     ")]
        end = [*steps, len(lines)][at + 1]
        return [line.removeprefix("     note: ") for line in lines[steps[at] + 1 : end]]

    def positives(self, at: int) -> list[dict[str, Any]]:
        """The positives of a step, their attributes decoded."""
        found = [json.loads(text) for text in self.rows[at]["pos_candidates"]]
        return [{**one, "attributes": json.loads(one["attributes"])} for one in found]

    def everything(self) -> bytes:
        """All bytes of all files, and the texts in them."""
        texts = json.dumps([{**row, "screenshot": None} for row in self.rows], ensure_ascii=False)
        files = (path.read_bytes() for path in self.folder.rglob("*") if path.is_file())
        return texts.encode() + b"".join(files)


def run(*arguments: str) -> int:
    """The exit code of `vlm-eval` with these arguments, in this process."""
    code: Any = cli.main(list(arguments), standalone_mode=False)
    return code or 0


def script(folder: Path, moves: Sequence[Mapping[str, Any]], goal: str = "Try it") -> Path:
    """Write a script."""
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / "script.toml"
    steps = ",\n".join(
        "{ " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in move.items()) + " }"
        for move in moves
    )
    path.write_text(f"goal = {json.dumps(goal)}\nsteps = [\n{steps},\n]\n")
    return path


def recorded(
    folder: Path, address: str, moves: Sequence[Mapping[str, Any]], *more: str
) -> Recording:
    """Record what a script does."""
    out = folder / "out"
    given = ["--script", str(script(folder / "script", moves)), "--out", str(out), *more]
    assert run("data", "record", *([address] if address else []), *given) == 0
    return Recording(out)
