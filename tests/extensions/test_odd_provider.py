"""A provider that is unlike all others: forms and pictures in hexadecimal, replies in XML."""

from __future__ import annotations

import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree as Tree

import pytest

import harness
from adapters import (
    AdapterInfo,
    Fatal,
    Fault,
    Finish,
    PictureSource,
    Reply,
    Request,
    Text,
    Usage,
)
from harness.errors import ExtensionError
from tests.harness.commands.tool import isolate

ENDS = {"done": Finish.STOP, "full": Finish.LENGTH, "no": Finish.REFUSAL}


class Odd:
    """One model of it; `info.settings` has what identifies it further."""

    def __init__(self, url: str, mood: str = "plain") -> None:
        self.info = AdapterInfo(
            name="odd:oracle-1",
            model="oracle-1",
            provider="odd",
            endpoint=url,
            concurrency=2,
            settings={"mood": mood},
        )
        self._url = url

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        form = [("longest", str(request.generation.max_tokens))]
        for message in request.conversation.messages:
            for part in message.shown:
                if isinstance(part, Text):
                    form.append((message.role, part.text))
                else:
                    form.append(("picture", (await pictures.encoded(part)).data.hex()))
        answer = Tree.fromstring(self._post(urllib.parse.urlencode(form).encode()))
        spent = answer.find("spent")
        return Reply(
            answer.findtext("says") or "",
            ENDS[answer.get("end", "")],
            usage=None if spent is None else Usage(input=int(spent.get("in", 0))),
            reasoning=answer.findtext("mutters") or "",
        )

    def _post(self, data: bytes) -> bytes:
        try:
            with urllib.request.urlopen(self._url, data, timeout=10) as response:
                return bytes(response.read())
        except urllib.error.HTTPError as error:
            if error.code == 418:
                raise Fatal("the provider is a teapot") from error
            raise Fault("unavailable" if error.code == 503 else "server", str(error)) from error

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


class Server(BaseHTTPRequestHandler):
    """Says what is in `said`, the last one again and again; a number is a status of HTTP."""

    said: ClassVar[list[str | int]] = []
    forms: ClassVar[list[dict[str, list[str]]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.forms.append(urllib.parse.parse_qs(body))
        said = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        content = said.encode() if isinstance(said, str) else b""
        self.send_response(200 if isinstance(said, str) else said)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    isolate(monkeypatch, tmp_path)
    Server.said, Server.forms = [], []
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


ASKED: dict[str, Any] = {
    "benchmark": "sample",
    "split": ["dev"],
    "limit": 1,
    "out": "run",
    "progress": "off",
    "preflight": False,
}


def test_its_replies_are_read_retried_and_recorded(url: str) -> None:
    Server.said += [
        503,
        '<a end="done"><mutters>hm</mutters><says>ELEMENT: A</says><spent in="7"/></a>',
        '<a end="no"/>',
        '<a end="full"><says>ELEM</says></a>',
        '<a end="done"><says>ELEMENT: A\nACTION: CLICK</says></a>',
    ]
    run = harness.evaluate(Odd(url), **ASKED)
    assert run.complete
    ends = {call.reply.finish for call in run.calls()}
    assert ends == {Finish.STOP, Finish.LENGTH, Finish.REFUSAL}
    assert sorted({call.reply.usage.input for call in run.calls() if call.reply.usage}) == [7]
    assert "hm" in {call.reply.reasoning for call in run.calls()}
    assert any(bytes.fromhex(form["picture"][0])[:2] == b"\xff\xd8" for form in Server.forms)
    with pytest.raises(harness.errors.RunDiffers, match="mood"):
        harness.evaluate(Odd(url, mood="sour"), **ASKED)


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (418, Fatal, "the provider is a teapot"),
        ("<a", ExtensionError, "odd:oracle-1 raised ParseError"),
        ('<a end="later"/>', ExtensionError, "raised KeyError: 'later'"),
    ],
)
def test_what_it_must_not_say_stops_the_run_in_a_line(
    url: str, said: str | int, kind: type[Exception], words: str
) -> None:
    Server.said.append(said)
    with pytest.raises(kind, match=words) as told:
        harness.evaluate(Odd(url), **ASKED)
    assert "\n" not in str(told.value)
