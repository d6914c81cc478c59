"""Replies of earlier runs, on disk, shared by processes, and the hash that they are found by.

What a reply depends on makes its key, which is also the `request` of a call on record: provider,
model, revision, endpoint, everything an adapter declares in `settings`, every generation parameter
(the seed among them), the repeat index and the conversation, whose digest covers texts, native
parts and pictures by source digest and recipe. Not in it: the key to the account, time limits,
concurrency, and what is marked for the provider's prompt cache.

Only replies that ended normally are kept. A cache can fail in many ways and none of them may cost
a run or give it a wrong reply: every entry carries a checksum over key and reply, and at the first
sign of damage one warning is given and the run goes on without.
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

import msgspec
import platformdirs

from adapters.contract import AdapterInfo, Generation
from adapters.conversation import Finish, Reply, canonical_json

FORM = 1
"""Rises when the same request gets another hash, or a stored reply another meaning."""

MAX_BYTES = 2 << 30
KEEP = 0.9
PATIENCE_S = 10.0
FILE = "replies.sqlite"

_TABLE = """
create table if not exists replies (
    key text primary key, reply blob not null, checksum blob not null, stored real not null
) without rowid;
create index if not exists stored on replies (stored);
"""


def model_key(info: AdapterInfo, generation: Generation) -> str:
    """The part of a key that all calls of a run share."""
    return canonical_json(
        {
            "form": FORM,
            "provider": info.provider,
            "model": info.model,
            "revision": info.revision,
            "endpoint": info.endpoint,
            "settings": dict(info.settings),
            "generation": generation.plain(),
        }
    )


def request_key(model: str, conversation: str, repeat: int) -> str:
    """The hash of a call, from `model_key` and the conversation's digest."""
    return hashlib.sha256(f"{model}\n{conversation}\n{repeat}".encode()).hexdigest()


def default_cache_path() -> Path:
    """Where this platform keeps caches."""
    return platformdirs.user_cache_path("vlm-eval") / FILE


class ReplyCache:
    """The cache at `path`, of at most about `max_bytes` bytes; the oldest replies go first.

    `warn` gets a line when the cache is given up. All database work is done by one thread, so that
    a slow disk or another process' lock never holds up calls under way.
    """

    def __init__(self, path: Path, warn: Callable[[str], None], max_bytes: int = MAX_BYTES) -> None:
        self.path = path
        self._warn = warn
        self._max_bytes = max_bytes
        self._thread = ThreadPoolExecutor(1, "reply-cache")
        self._database: sqlite3.Connection | None = None
        self._broken: str | None = None
        self._decoder = msgspec.json.Decoder(Reply)
        self._unsaved: dict[str, bytes] = {}
        self._saving: asyncio.Future[None] | None = None
        self._warned = False

    async def get(self, key: str) -> Reply | None:
        """The reply stored under a key, None when there is none."""
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
            return self._decoder.decode(data)
        except msgspec.MsgspecError as error:
            self._broken = f"an entry cannot be read: {error}"
            self._warn_once()
            return None

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply that ended normally; others are passed over. Returns before it is saved."""
        if reply.finish is not Finish.STOP or self._broken is not None:
            return
        self._unsaved[key] = msgspec.json.encode(replace(reply, sent=dict(reply.sent)))
        if self._saving is None:
            self._save_soon()

    async def close(self) -> None:
        """Save what is unsaved."""
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
            self._warn(f"going on without the reply cache {self.path}: {self._broken}")

    # Below: in the cache's own thread.

    def _connect(self) -> sqlite3.Connection:
        if self._database is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self.path, timeout=PATIENCE_S)
            self._database.executescript(_TABLE)
        return self._database

    def _load(self, key: str) -> bytes | None:
        if self._broken is not None:
            return None
        try:
            row = (
                self._connect()
                .execute("select reply, checksum from replies where key = ?", (key,))
                .fetchone()
            )
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


def _used_bytes(database: sqlite3.Connection) -> int:
    pages, free, size = (
        int(database.execute(f"pragma {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _checksum(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + data).digest()
