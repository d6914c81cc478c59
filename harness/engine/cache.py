"""Replies of earlier runs, kept on disk and shared by processes.

A reply is found by the hash of its call (`harness.engine.lanes`). Where this does not settle which
weights answer, the key also has what the server said of them (`Answerer.kept_as`).

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
from typing import Any

import msgspec

from adapters.conversation import Finish, Reply
from adapters.decoding import decoder_of
from harness.engine.dialogues import KeptReply

MAX_BYTES = 2 << 30
KEEP = 0.9
"""Share of `max_bytes` that is left after old entries were deleted."""
LOCK_TIMEOUT_S = 10.0
FILE = "replies.sqlite"


class ReplyCache:
    """The replies of models in an SQLite file, by `request_key`.

    One thread does all database work: neither a slow disk nor another process's lock
    delays calls in flight.

    warn: called with a line when the cache is given up.
    max_bytes: approximate size limit; the oldest entries go first.
    run: the directory of the run that is under way, kept with its replies.
    """

    def __init__(
        self,
        path: Path,
        warn: Callable[[str], None],
        max_bytes: int = MAX_BYTES,
        run: str = "",
    ) -> None:
        self.path = path
        self._warn = warn
        self._max_bytes = max_bytes
        self._run = run
        self._thread = ThreadPoolExecutor(1, "reply-cache")
        self._database: sqlite3.Connection | None = None
        self._broken: str | None = None
        self._unsaved: dict[str, bytes] = {}
        self._saving: asyncio.Future[None] | None = None
        self._warned = False

    async def get(self, key: str) -> KeptReply | None:
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
            return _decoded(data)
        except ValueError as error:
            self._broken = f"an entry cannot be read: {error}"
            self._warn_once()
            return None

    def keep(self, key: str, reply: Reply) -> None:
        """Keep a reply that ended normally and says or calls something, and ignore others.

        Returns before it is saved.
        """
        ended = reply.finish is Finish.STOP and bool(reply.text.strip() or reply.tool_calls)
        if self._broken is not None or not ended:
            return
        self._unsaved[key] = _encoded(KeptReply(reply, self._run))
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
            self._warn(f"continuing without the reply cache {self.path}: {self._broken}")

    # The methods below run in the cache's own thread.

    def _connect(self) -> sqlite3.Connection:
        if self._database is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self.path, timeout=LOCK_TIMEOUT_S)
            self._database.executescript(
                "create table if not exists replies (key text primary key, reply blob not null, "
                "checksum blob not null, stored real not null) without rowid; "
                "create index if not exists stored on replies (stored);"
            )
        return self._database

    def _load(self, key: str) -> bytes | None:
        if self._broken is not None:
            return None
        query = "select reply, checksum from replies where key = ?"
        try:
            row = self._connect().execute(query, (key,)).fetchone()
        except (sqlite3.Error, OSError) as error:
            self._broken = str(error)
            return None
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
                database.executemany("insert or replace into replies values (?, ?, ?, ?)", rows)
            self._shrink(database)
        except (sqlite3.Error, OSError) as error:
            self._broken = str(error)

    def _shrink(self, database: sqlite3.Connection) -> None:
        used = _used_bytes(database)
        while used > self._max_bytes:
            count = database.execute("select count(*) from replies").fetchone()[0]
            goes = int(count * (1 - KEEP * self._max_bytes / used)) + 1
            with database:
                database.execute(
                    "delete from replies where key in "
                    "(select key from replies order by stored limit ?)",
                    (goes,),
                )
            used = _used_bytes(database) if goes < count else 0

    def _disconnect(self) -> None:
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
            self._database = None


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
