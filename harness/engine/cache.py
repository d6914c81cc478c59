"""Replies and vectors of earlier runs, kept on disk and shared by processes.

A reply is found by the hash of its call (`harness.engine.keys`), a vector by the same facts of its
model and by its text, whatever it was sent together with. Where these do not settle which weights
answer, the key also has what the server said of them (`Answerer.kept_as`).

Only replies that ended normally are kept. A damaged cache must neither stop a run nor give it a
wrong reply: every entry carries a checksum over key and reply, and at the first sign of damage the
run warns once and goes on without the cache.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from adapters.conversation import Finish, Reply
from adapters.decoding import decoder_of
from harness.engine.dialogues import KeptReply

MAX_BYTES = 2 << 30
KEEP = 0.9
"""Share of `max_bytes` that is left after old entries were deleted."""
LOCK_TIMEOUT_S = 10.0
FILE = "replies.sqlite"

T = TypeVar("T")


class Cache(Generic[T]):
    """A cache in an SQLite file.

    One thread does all database work: neither a slow disk nor another process's lock
    delays calls in flight.

    entry: the word for what is kept; the table is named after it.
    encode, decode: convert to and from the stored form; `decode` raises ValueError.
    warn: called with a line when the cache is given up.
    max_bytes: approximate size limit; the oldest entries go first.
    """

    def __init__(
        self,
        path: Path,
        entry: str,
        encode: Callable[[T], bytes],
        decode: Callable[[bytes], T],
        warn: Callable[[str], None],
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.path = path
        self._entry = entry
        self._table = "replies" if entry == "reply" else f"{entry}s"
        self._encode = encode
        self._decode = decode
        self._warn = warn
        self._max_bytes = max_bytes
        self._thread = ThreadPoolExecutor(1, f"{entry}-cache")
        self._database: sqlite3.Connection | None = None
        self._broken: str | None = None
        self._unsaved: dict[str, bytes] = {}
        self._saving: asyncio.Future[None] | None = None
        self._warned = False

    async def get(self, key: str) -> T | None:
        """Return what is stored under a key, or None."""
        if self._broken is not None:
            return None
        data = self._unsaved.get(key)
        if data is None:
            loop = asyncio.get_running_loop()
            data = await loop.run_in_executor(self._thread, self._load, key)
            self._warn_once()
        if data is None:
            return None
        try:
            return self._decode(data)
        except ValueError as error:
            self._broken = f"an entry cannot be read: {error}"
            self._warn_once()
            return None

    async def has(self, beginning: str) -> bool:
        """Return whether there is a saved key that begins so."""
        loop = asyncio.get_running_loop()
        where, end = "key >= ? and key < ?", f"{beginning}\U0010ffff"
        row = await loop.run_in_executor(self._thread, self._row, "1", where, beginning, end)
        self._warn_once()
        return row is not None

    def put(self, key: str, value: T) -> None:
        """Keep a value. Returns before it is saved."""
        if self._broken is not None:
            return
        self._unsaved[key] = self._encode(value)
        if self._saving is None:
            self._save_soon()

    async def close(self) -> None:
        """Save what is not saved yet and close the file."""
        while self._saving is not None:
            await asyncio.wait([self._saving])
            await asyncio.sleep(0)
        await asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)
        self._thread.shutdown()
        self._warn_once()

    def _save_soon(self) -> None:
        batch = dict(self._unsaved)
        loop = asyncio.get_running_loop()
        self._saving = loop.run_in_executor(self._thread, self._store, batch)
        self._saving.add_done_callback(lambda _: self._saved(batch))

    def _saved(self, batch: dict[str, bytes]) -> None:
        self._saving = None
        for key in batch:
            self._unsaved.pop(key, None)
        if self._broken is not None:
            self._unsaved.clear()
            self._warn_once()
        elif self._unsaved:
            self._save_soon()

    def _warn_once(self) -> None:
        if self._broken is not None and not self._warned:
            self._warned = True
            self._warn(f"continuing without the {self._entry} cache {self.path}: {self._broken}")

    # The methods below run in the cache's own thread.

    def _connect(self) -> sqlite3.Connection:
        if self._database is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self.path, timeout=LOCK_TIMEOUT_S)
            self._database.executescript(
                f"create table if not exists {self._table} (key text primary key, "
                f"{self._entry} blob not null, checksum blob not null, stored real not null) "
                f"without rowid; create index if not exists stored on {self._table} (stored);"
            )
        return self._database

    def _row(self, what: str, where: str, *values: str) -> Any:
        """Return a row of the table, None if there is none or the cache is given up."""
        if self._broken is not None:
            return None
        query = f"select {what} from {self._table} where {where} limit 1"
        try:
            return self._connect().execute(query, values).fetchone()
        except (sqlite3.Error, OSError) as error:
            self._broken = str(error)
            return None

    def _load(self, key: str) -> bytes | None:
        row = self._row(f"{self._entry}, checksum", "key = ?", key)
        if row is None:
            return None
        data, checksum = row
        if not isinstance(data, bytes) or _checksum(key, data) != checksum:
            self._broken = "an entry is damaged"
            return None
        return data

    def _store(self, batch: dict[str, bytes]) -> None:
        if self._broken is not None:
            return
        now = time.time()
        rows = [(key, data, _checksum(key, data), now) for key, data in batch.items()]
        try:
            database = self._connect()
            with database:
                database.executemany(
                    f"insert or replace into {self._table} values (?, ?, ?, ?)", rows
                )
            self._shrink(database)
        except (sqlite3.Error, OSError) as error:
            self._broken = str(error)

    def _shrink(self, database: sqlite3.Connection) -> None:
        used = _used_bytes(database)
        while used > self._max_bytes:
            count = database.execute(f"select count(*) from {self._table}").fetchone()[0]
            goes = int(count * (1 - KEEP * self._max_bytes / used)) + 1
            with database:
                database.execute(
                    f"delete from {self._table} where key in "
                    f"(select key from {self._table} order by stored limit ?)",
                    (goes,),
                )
            used = _used_bytes(database) if goes < count else 0

    def _disconnect(self) -> None:
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
            self._database = None


class ReplyCache(Cache[KeptReply]):
    """The replies of models, by `request_key`.

    run: the directory of the run that is under way, kept with its replies.
    """

    def __init__(
        self,
        path: Path,
        warn: Callable[[str], None],
        max_bytes: int = MAX_BYTES,
        run: str = "",
    ) -> None:
        super().__init__(path, "reply", _encoded, _decoded, warn, max_bytes)
        self._run = run

    def keep(self, key: str, reply: Reply) -> None:
        """Keep a reply that ended normally and says something, and ignore others.

        Returns before it is saved.
        """
        if reply.finish is Finish.STOP and reply.text.strip():
            self.put(key, KeptReply(reply, self._run))


def _encoded(kept: KeptReply) -> bytes:
    data: dict[str, Any] = msgspec.to_builtins(replace(kept.reply, sent=dict(kept.reply.sent)))
    return msgspec.json.encode({**data, **({"asked_by_run": kept.run} if kept.run else {})})


def _decoded(data: bytes) -> KeptReply:
    """Raises ValueError."""
    return KeptReply(_REPLIES.decode(data), _RUNS.decode(data).asked_by_run)


class _RunOf(msgspec.Struct):
    """The part of an entry that is not the reply's."""

    asked_by_run: str = ""


_REPLIES, _RUNS = decoder_of(Reply), decoder_of(_RunOf)


def _used_bytes(database: sqlite3.Connection) -> int:
    pages, free, size = (
        int(database.execute(f"pragma {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _checksum(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + data).digest()
