"""The batches of a run at a provider: requests, state and results.

    batches.jsonl                the state of a pack after every event; its last line holds
    batches/0007.ids.jsonl       which calls the requests of pack 7 are of
    batches/0007.requests.jsonl  the requests, until the provider has them
    batches/0007.results.jsonl   results, until all of them are recorded

A pack is what goes into one batch of the provider. Every event is on disk before what follows from
it, so a session that was killed between any two goes on.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from adapters.batches.contract import PackLimits, RemoteBatch
from adapters.contract import Request
from harness.errors import RunError
from harness.runs import StepKey
from harness.runs.files import (
    append_lines,
    cut_torn,
    read_records,
    replace_file,
    sealed,
    sync_folder,
    write_error,
)
from harness.runs.on_record import BATCHES, OVER, PACKS, PackHead

HALF = 20
"""Hexadecimal digits of each hash in the id of a request."""
NEW = "new"
_OURS = {"ids.jsonl", "ids.jsonl.new", "requests.jsonl", "results.jsonl", "results.jsonl.new"}


class Again(msgspec.Struct, frozen=True):
    """A failed request, which is sent again under another id.

    cost: what it has cost all the same, in US dollars, or may have.
    """

    reason: str
    cost: float = 0.0


class Pack(PackHead, kw_only=True, omit_defaults=True):
    """A line of `batches.jsonl`: the state of a pack after an event. Times are in seconds since
    1970.

    Events are `sealed`, `uploaded`, `creating`, `created`, `ended`, `fetched` and `drained`, in
    this order. `refused` takes a pack back to before `uploaded`, `released` to before `created`, as
    the batch was another user's; after `unread`, the provider's word on it could not be read;
    `dropped` gives it up.

    token: what the provider's batch is recognised by.
    bytes, tokens: size of the requests.
    file: the provider's name of the uploaded requests; None before they are uploaded.
    creating_at: when the provider was asked for a batch; None before that.
    created_at: when it answered.
    batch: the provider's word on its batch, as last known; None before there is one.
    found: whether the batch was found by what is known of it, and may be a stranger's.
    unread: how often what the provider says of it could not be read, since it was created or ended.
    strangers: ids of batches that were taken for its own, and are not.
    again: the requests that are sent anew, by id.
    why: what went wrong last.
    """

    at: float = 0.0
    token: str
    bytes: int
    tokens: int
    file: str | None = None
    creating_at: float | None = None
    created_at: float | None = None
    batch: RemoteBatch | None = None
    found: bool = False
    unread: int = 0
    strangers: tuple[str, ...] = ()
    again: dict[str, Again] = msgspec.field(default_factory=dict)
    why: str = ""

    @property
    def stage(self) -> Literal["unsent", "open", "fetched", "over"]:
        """Where it is: here, at the provider (or perhaps there), back but not on record as a whole,
        or over."""
        if self.event in OVER:
            return "over"
        if self.event == "fetched":
            return "fetched"
        return "unsent" if self.creating_at is None else "open"

    @property
    def state(self) -> str:
        """Its state in words."""
        if self.stage == "open":
            return (self.batch.status or "open") if self.batch else "being created"
        ended = "dropped" if self.event == "dropped" else "on record"
        return {"unsent": "not sent", "fetched": "fetched", "over": ended}[self.stage]


class PackedCall(msgspec.Struct, frozen=True, gc=False):
    """A call whose request is in a pack.

    id: of the request, new in every attempt.
    call: id of the call on record.
    upper: the most that it may cost, in US dollars.
    sent: the parameters in it.
    """

    id: str
    unit_id: str
    repeat: int
    call: str
    upper: float
    sent: dict[str, Any]

    @property
    def key(self) -> StepKey:
        """Unit and repeat."""
        return self.unit_id, self.repeat


@dataclass
class BatchLog:
    """The packs of a run by number. One process at a time writes to it."""

    path: Path
    packs: dict[int, Pack] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path) -> BatchLog:
        """Return the log of the run at `path`, without files that belong to no pack. Raises
        `RunError`."""
        cut_torn(path / BATCHES)
        log = cls.read(path)
        log._sweep()
        return log

    @classmethod
    def read(cls, path: Path) -> BatchLog:
        """Return the log of a run that is only looked at. Raises `RunError`."""
        return cls(path, {pack.n: pack for pack in read_records(path / BATCHES, Pack)})

    @property
    def live(self) -> list[Pack]:
        """The packs whose requests are not all on record yet, oldest first."""
        return [pack for pack in self.packs.values() if pack.stage != "over"]

    def at(self, *stages: str) -> list[Pack]:
        """Return the packs at these stages, oldest first."""
        return [pack for pack in self.packs.values() if pack.stage in stages]

    def file(self, n: int, what: str) -> Path:
        """Return a file of a pack: `ids`, `requests` or `results`."""
        return self.path / PACKS / f"{n:04}.{what}.jsonl"

    def calls(self, n: int) -> Iterator[PackedCall]:
        """Return the calls of a pack. Raises `RunError`."""
        return read_records(self.file(n, "ids"), PackedCall)

    def results(self, n: int, offset: int = 0) -> Iterator[bytes]:
        """Return the lines of results of a pack from an offset in bytes. Raises `RunError`."""
        path = self.file(n, "results")
        try:
            with path.open("rb") as file:
                file.seek(offset)
                yield from file
        except OSError as error:
            raise RunError(f"{path} cannot be read: {error.strerror or error}") from error

    def note(self, n: int, event: str, **changes: Any) -> None:
        """Record what happened to a pack, and what changes by it; on disk when this returns.

        Raises `RunError`, `DiskFull`.
        """
        pack = self.packs.get(n) or Pack(n=n, event=event, **changes)
        changes |= {"event": event, "at": time.time()}
        changes["lost"] = math.fsum(one.cost for one in pack.again.values())
        line = sealed(msgspec.structs.replace(pack, **changes))
        append_lines(self.path / BATCHES, [line])
        for name, value in changes.items():
            setattr(pack, name, value)
        self.packs[n] = pack

    def remove(self, n: int, *what: str) -> None:
        """Delete files of a pack."""
        for name in what:
            with contextlib.suppress(OSError):
                self.file(n, name).unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Delete files that a session left behind when it was killed."""
        folder = self.path / PACKS
        for file in folder.iterdir() if folder.is_dir() else ():
            number, _, what = file.name.partition(".")
            pack = self.packs.get(int(number)) if number.isdecimal() else None
            needed = {"ids.jsonl", "requests.jsonl"} if pack and pack.stage != "over" else set()
            if pack and pack.stage == "fetched":
                needed.add("results.jsonl")
            # Other files, such as answers to a file of requests, are not ours.
            ours = what in _OURS and (number.isdecimal() or number == NEW)
            if ours and what not in needed:
                with contextlib.suppress(OSError):
                    file.unlink()
        for pack in self.at("fetched"):
            if not self.file(pack.n, "results").exists():
                pack.event = "ended"  # Deleted results are fetched again.


class NewPack:
    """A pack that is being filled. It does not exist before `seal`, and then as a whole.

    calls: those of its requests, by id.
    """

    def __init__(self, log: BatchLog) -> None:
        """Raises `RunError`, `DiskFull`."""
        self.calls: dict[str, PackedCall] = {}
        self.bytes = self.tokens = 0
        self._log = log
        self._path = log.path / PACKS / f"{NEW}.requests.jsonl"
        with self._writing():
            self._path.parent.mkdir(exist_ok=True)
            self._file = self._path.open("wb")

    def add(self, call: PackedCall, line: bytes, tokens: int) -> None:
        """Add a request. Raises `RunError`, `DiskFull`."""
        with self._writing():
            self._file.write(line + b"\n")
        self.calls[call.id] = call
        self.bytes += len(line) + 1
        self.tokens += tokens

    def has_room(self, limits: PackLimits, size: int, tokens: int) -> bool:
        """Return whether a request of so many bytes and tokens fits in."""
        most = limits.queued_tokens
        return (
            len(self.calls) < limits.requests
            and self.bytes + size + 1 <= limits.bytes
            and (not most or self.tokens + tokens <= most // 2)
        )

    def seal(self) -> int:
        """Put the pack among those that are to be sent. Returns its number. Raises `RunError`,
        `DiskFull`."""
        n = max(self._log.packs, default=0) + 1
        calls = self.calls.values()
        replace_file(self._log.file(n, "ids"), map(sealed, calls))
        with self._writing():
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._path.replace(self._log.file(n, "requests"))
            sync_folder(self._path.parent)
        token, upper = f"vlm-eval-{secrets.token_hex(8)}", math.fsum(one.upper for one in calls)
        size = {"requests": len(calls), "bytes": self.bytes, "tokens": self.tokens}
        self._log.note(n, "sealed", token=token, upper=upper, **size)
        return n

    def drop(self) -> None:
        """Forget what was added."""
        with contextlib.suppress(OSError):
            self._file.close()
            self._path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise write_error(self._path, error) from error


def packed_id(request: Request, attempt: int) -> str:
    """Return the id of a request in a batch.

    It follows from the call, from everything that the reply depends on, and from the attempt: a
    reply reaches its own call only, whatever becomes of the order of a file. Ids of equal calls
    begin alike.
    """
    call = f"{request.id}\n{request.equal}\n{attempt}"
    hashes = (hashlib.sha256(text.encode()).hexdigest() for text in (request.equal, call))
    return "v" + "".join(one[:HALF] for one in hashes)


def beginning(id: str) -> str:
    """Return the part of a request's id that those of equal calls share."""
    return id[: 1 + HALF]
