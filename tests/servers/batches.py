"""Batches as providers keep them: uploaded files, requests that are answered all together, results.

What fails, and how often, is said by `Switches`; what a request is answered is said by the server's
reaction, as for an ordinary call.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.servers.answers import Answer, Provider, redirect

Json = dict[str, Any]
Ask = Callable[[Provider, str, Json], tuple[int, Json]]
"""Answers one request of a batch: the provider, the model (or ""), the body."""

DAY_S = 86_400.0
ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass
class Switches:
    """How the batches of a server behave. Numbers of failures count down as they happen."""

    polls: int = 1
    """A batch is over when it is looked at for the n-th time; 0: as soon as it is begun."""
    shuffle: bool = False
    """Results come in another order."""
    swap: bool = False
    """The answers of two requests have each other's ids."""
    drop_every: int = 0
    """Every n-th result is missing."""
    repeat: bool = False
    """The first result comes twice, and one with an unknown id."""
    expire_after: int | None = None
    """So many requests are answered; then the time is over."""
    fail: str = ""
    """The whole batch fails with this message."""
    full: int = 0
    """So many batches are refused since the queue is full."""
    fail_full: int = 0
    """So many batches are begun, and fail since the queue is full."""
    lose_uploads: int = 0
    """So many uploads are kept, and the connection closes without an answer."""
    lose_created: int = 0
    """So many batches are begun, and the connection closes without an answer."""
    hide: int = 0
    """So many listings do not show anything yet."""
    tear: int = 0
    """So many downloads break off in the middle."""
    state: str = ""
    """The state in which batches end, in place of the documented one."""
    gone: bool = False
    """Results are deleted as soon as they exist."""
    elsewhere: str = ""
    """The address to which downloads are redirected."""
    down: bool = False
    """Nothing about batches is answered."""
    spoil: Callable[[bytes], bytes] | None = None
    """What becomes of each download."""
    object: Callable[[Json], Json] | None = None
    """What becomes of each batch as it is shown."""


@dataclass
class File:
    id: str
    name: str
    data: bytes
    created: float


@dataclass
class Batch:
    """One batch. `results` are (id, HTTP status, body), None as the status of what expired."""

    id: str
    provider: Provider
    model: str
    token: str
    lines: list[tuple[str, Json]]
    created: float
    looks: int = 0
    over: bool = False
    cancelled: bool = False
    error: str = ""
    full: bool = False
    results: list[tuple[str, int | None, Json]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)

    @property
    def good(self) -> int:
        return sum(status == 200 for _, status, _ in self.results)

    @property
    def expired(self) -> bool:
        return any(status is None for _, status, _ in self.results)


class BatchStore:
    """Files and batches of a server. `creates` counts what was begun, which is what is paid for."""

    def __init__(self, ask: Ask, switches: Switches) -> None:
        self.ask = ask
        self.switches = switches
        self.files: dict[str, File] = {}
        self.batches: dict[str, Batch] = {}
        self.uploads = 0
        self.creates = 0
        self.downloads = 0
        self.deleted: list[str] = []
        self.calls: list[str] = []
        self.lock = threading.RLock()

    def take(self, switch: str) -> bool:
        """Whether a failure that is counted happens now."""
        left = getattr(self.switches, switch)
        setattr(self.switches, switch, max(0, left - 1))
        return bool(left)

    def keep(self, name: str, data: bytes, prefix: str) -> File:
        number = len(self.files) + len(self.deleted) + 1
        file = File(f"{prefix}{number}", name, data, time.time())
        self.files[file.id] = file
        return file

    def begin(
        self, provider: Provider, model: str, token: str, lines: list[tuple[str, Json]]
    ) -> Batch:
        """Begin a batch. Raises ValueError for ids that no provider would take."""
        ids = [id for id, _ in lines]
        if len(set(ids)) != len(ids) or not all(map(ID.fullmatch, ids)) or not ids:
            raise ValueError("ids are not unique, or not of the form that is asked for")
        self.creates += 1
        prefix = {"openai": "batch_", "anthropic": "msgbatch_", "google": "batches/"}[provider]
        batch = Batch(f"{prefix}{self.creates}", provider, model, token, lines, time.time())
        self.batches[batch.id] = batch
        if self.switches.polls == 0:
            self.end(batch)
        return batch

    def look(self, id: str) -> Batch | None:
        """A batch, which may be over now that it is looked at."""
        batch = self.batches.get(id)
        if batch is None:
            return None
        batch.looks += 1
        if batch.looks >= self.switches.polls:
            self.end(batch)
        return batch

    def cancel(self, id: str) -> Batch | None:
        batch = self.batches.get(id)
        if batch is not None and not batch.over:
            batch.cancelled = True
        return batch

    def end(self, batch: Batch) -> None:
        """Answer the requests of a batch, unless that was done."""
        if batch.over:
            return
        batch.over = True
        if self.take("fail_full"):
            batch.error, batch.full = "Enqueued token limit reached for some-model", True
            return
        if self.switches.fail:
            batch.error = self.switches.fail
            return
        limit = self.switches.expire_after
        limit = 0 if batch.cancelled else limit
        for number, (id, body) in enumerate(batch.lines):
            if limit is not None and number >= limit:
                batch.results.append((id, None, {}))
            else:
                batch.results.append((id, *self.ask(batch.provider, batch.model, body)))
        self._disturb(batch.results)

    def _disturb(self, results: list[tuple[str, int | None, Json]]) -> None:
        switches = self.switches
        if switches.swap and len(results) > 1:
            one, two = results[:2]
            results[:2] = [(one[0], *two[1:]), (two[0], *one[1:])]
        if switches.drop_every:
            del results[switches.drop_every - 1 :: switches.drop_every]
        if switches.repeat and results:
            results += [results[0], ("v" + "0" * 40, *results[0][1:])]
        if switches.shuffle:
            random.Random(7).shuffle(results)

    def shown(self, batch: Json) -> Json:
        """A batch in the provider's format, as it goes out."""
        return self.switches.object(batch) if self.switches.object else batch

    def download(self, data: bytes) -> Answer:
        self.downloads += 1
        if self.switches.gone:
            return Answer(status=404, raw=b'{"error": {"message": "No such file"}}')
        if self.switches.elsewhere:
            return redirect(self.switches.elsewhere)
        kind = "application/octet-stream"
        data = self.switches.spoil(data) if self.switches.spoil else data
        return Answer(raw=data, content_type=kind, tear=self.take("tear"))


@dataclass(frozen=True)
class Call:
    """A request about files or batches; `rest` is the path behind the beginning that says which."""

    store: BatchStore
    method: str
    rest: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


def iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")


def json_lines(rows: list[Json]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def lines_in(data: bytes) -> list[Json]:
    return [json.loads(line) for line in data.splitlines() if line.strip()]


def answer_of(body: Json, **headers: str) -> Answer:
    return Answer(raw=json.dumps(body).encode(), headers=headers)


def refusal(
    status: int, message: str, code: str = "", kind: str = "invalid_request_error"
) -> Answer:
    """An error in a form that the three providers' clients read."""
    error: Json = {"message": message, "code": code or None, "type": kind, "param": None}
    return Answer(status=status, raw=json.dumps({"type": "error", "error": error}).encode())


def page_of(items: list[Any], query: Mapping[str, str], after: str, size: str) -> list[Any]:
    """The items after the one that a query names, as many as it asks for."""
    ids = [item.id for item in items]
    start = ids.index(query[after]) + 1 if query.get(after) in ids else 0
    return items[start : start + int(query.get(size, "20"))]
