"""The batches of a run at a provider: requests, state and results.

    batches.jsonl                an event per line, on disk before what follows from it
    batches/0007.ids.jsonl       which calls the requests of pack 7 are of
    batches/0007.requests.jsonl  the requests, until the provider has them
    batches/0007.results.jsonl   results, until all of them are recorded

A pack is what goes into one batch of the provider. Every step of its way is an event, and where it
stands is the sum of its events, so that a session that was killed between any two goes on.
"""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from harness.errors import RunError
from harness.runs.callers import Waiting
from harness.runs.files import (
    append_lines,
    cut_torn,
    read_records,
    sealed,
)
from harness.runs.on_record import StepKey

BATCHES, PACKS = "batches.jsonl", "batches"
NEW = "new"
_OURS = {"ids.jsonl", "requests.jsonl", "results.jsonl", "results.jsonl.new"}

Happening = Literal[
    "sealed",
    "uploaded",
    "creating",
    "created",
    "refused",
    "released",
    "unread",
    "ended",
    "fetched",
    "drained",
    "dropped",
]
"""Events of a pack, in this order. `refused` takes it back to before `uploaded`, `released`
to before `created`, since the batch was another user's; `unread` says that the provider's word on
the batch or its results could not be read; a pack that is `drained` or `dropped` is over."""


class Again(msgspec.Struct, frozen=True):
    """A failed request that is sent again under another id.

    attempt: the how manieth it was, from 1.
    cost: what it has cost all the same, in US dollars, or may have.
    """

    attempt: int
    reason: str
    cost: float = 0.0


class Event(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A line of `batches.jsonl`: something happened to pack `n`.

    at: in seconds since 1970.
    token: what the provider's batch is recognised by.
    requests, bytes, sha256, tokens, upper: of the pack, when it is sealed; `upper` is the most that
        it may cost, in US dollars.
    file: the provider's name of the uploaded requests.
    id, expires_at: of the provider's batch.
    found: whether the batch was not created just now, but found.
    status, where, unbilled: of the batch when it has ended, what its results are fetched from, and
        whether requests without a result cost nothing.
    lines: of the results.
    again: what is sent anew, by the id of the request that came to nothing.
    why: what went wrong.
    """

    n: int
    event: Happening
    at: float
    token: str
    requests: int = 0
    bytes: int = 0
    sha256: str = ""
    tokens: int = 0
    upper: float = 0.0
    file: str = ""
    id: str = ""
    expires_at: float | None = None
    found: bool = False
    status: str = ""
    where: tuple[str, ...] = ()
    unbilled: bool = False
    lines: int = 0
    again: dict[str, Again] = {}
    why: str = ""


class PackedCall(msgspec.Struct, kw_only=True, frozen=True, gc=False):
    """A call whose request is in a pack.

    id: of the request, new in every attempt.
    place: the name of the call within its dialogue.
    attempt: the how manieth time it is sent, from 1.
    upper: the most that it may cost, in US dollars.
    sent: the parameters in it.
    """

    id: str
    unit_id: str
    repeat: int
    place: str
    attempt: int
    upper: float
    sent: dict[str, Any]

    @property
    def key(self) -> StepKey:
        """Unit and repeat."""
        return self.unit_id, self.repeat


@dataclass(slots=True)
class Pack:
    """Where a pack stands.

    uploaded: the provider's name of the requests, None before they were uploaded.
    creating_at: when the provider was asked for a batch, None before that.
    id: of the provider's batch, "" before it is known.
    found: whether the batch was found by what is known of it, and may be a stranger's.
    status, where: of the batch, as last known.
    answered, failed: requests of the batch, as last known.
    strangers: ids of batches that were taken for its own, and are not.
    unbilled: whether requests without a result cost nothing.
    unread: how often what the provider says of it could not be read, since it was created or ended.
    """

    n: int
    token: str
    requests: int
    bytes: int
    tokens: int
    upper: float
    uploaded: str | None = None
    creating_at: float | None = None
    id: str = ""
    created_at: float | None = None
    expires_at: float | None = None
    found: bool = False
    ended: bool = False
    fetched: bool = False
    over: bool = False
    dropped: bool = False
    status: str = ""
    where: tuple[str, ...] = ()
    answered: int = 0
    failed: int = 0
    strangers: tuple[str, ...] = ()
    unbilled: bool = False
    unread: int = 0

    def take(self, event: Event) -> None:
        """Go on to what an event says."""
        match event.event:
            case "uploaded":
                self.uploaded = event.file
            case "creating":
                self.creating_at = event.at
            case "created":
                self.id, self.created_at, self.unread = event.id, event.at, 0
                self.expires_at, self.found = event.expires_at, event.found
            case "refused":
                # An upload may be gone when it is needed again.
                self.creating_at, self.id, self.created_at, self.uploaded = None, "", None, None
                self.unread = 0
            case "released":
                self.id, self.created_at, self.expires_at = "", None, None
                self.ended, self.status, self.where = False, "", ()
                self.strangers += (event.id,)
            case "unread":
                self.unread += 1
            case "ended":
                self.ended, self.status, self.where = True, event.status, event.where
                self.unbilled, self.unread = event.unbilled, 0
            case "fetched":
                self.fetched = True
            case "drained" | "dropped":
                self.over = True
                self.dropped = event.event == "dropped"

    @property
    def is_open(self) -> bool:
        """Return True if the provider has it, or may have it, and has not answered it."""
        return self.creating_at is not None and not self.fetched and not self.over

    @property
    def is_unsent(self) -> bool:
        """Return True if it waits to be sent."""
        return self.creating_at is None and not self.over

    @property
    def state(self) -> str:
        """Where it stands, in words."""
        if self.over:
            return "dropped" if self.dropped else "on record"
        if self.fetched:
            return "fetched"
        if self.id:
            return self.status or "open"
        return "being created" if self.creating_at is not None else "not sent"


@dataclass
class BatchLog:
    """The packs of a run, and the events that befall them. One process at a time writes to it.

    packs: by number.
    again: failed requests by id.
    """

    path: Path
    packs: dict[int, Pack] = field(default_factory=dict)
    again: dict[str, Again] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path) -> BatchLog:
        """Return the log of the run at `path`, without what no event speaks of. Raises
        `RunError`."""
        cut_torn(path / BATCHES)
        log = cls(path, *_folded(path))
        log._sweep()
        return log

    @classmethod
    def read(cls, path: Path) -> BatchLog:
        """Return the log of a run that is only looked at. Raises `RunError`."""
        return cls(path, *_folded(path))

    @property
    def live(self) -> list[Pack]:
        """The packs whose requests are not on record yet, oldest first."""
        return [pack for pack in self.packs.values() if not pack.over]

    @property
    def waiting(self) -> Waiting | None:
        """The packs whose requests are not on record yet, counted; None if there are none."""
        live = self.live
        if not live:
            return None
        number, cost = sum(pack.requests for pack in live), sum(pack.upper for pack in live)
        batches = "1 batch" if len(live) == 1 else f"{len(live)} batches"
        requests = "1 request" if number == 1 else f"{number:,} requests"
        command = f"vlm-eval batches {shlex.quote(str(self.path))}"
        return Waiting(len(live), number, cost, f"{batches} with {requests}", command)

    @property
    def unrecorded(self) -> float:
        """US dollars spent on failed requests."""
        return sum(one.cost for one in self.again.values())

    def file(self, n: int, what: str) -> Path:
        """Return a file of a pack: `ids`, `requests` or `results`."""
        return self.path / PACKS / f"{n:04}.{what}.jsonl"

    def calls(self, n: int) -> Iterator[PackedCall]:
        """Return the calls of a pack. Raises `RunError`."""
        return read_records(self.file(n, "ids"), PackedCall)

    def note(self, n: int, event: Happening, **more: Any) -> Pack:
        """Record that something happens to a pack; it is on disk when this returns.

        Raises `RunError`, `DiskFull`.
        """
        token = more.pop("token", None) or self.packs[n].token
        noted = Event(n=n, event=event, at=time.time(), token=token, **more)
        append_lines(self.path / BATCHES, [sealed(noted)])
        _take(self.packs, self.again, noted)
        return self.packs[n]

    def remove(self, n: int, *what: str) -> None:
        """Delete files of a pack."""
        for name in what:
            with contextlib.suppress(OSError):
                self.file(n, name).unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Delete what a session left behind that was killed before it could say so."""
        folder = self.path / PACKS
        for file in folder.iterdir() if folder.is_dir() else ():
            number, _, what = file.name.partition(".")
            pack = self.packs.get(int(number)) if number.isdecimal() else None
            needed = set() if pack is None or pack.over else {"ids.jsonl", "requests.jsonl"}
            if pack is not None and pack.fetched and not pack.over:
                needed.add("results.jsonl")
            # Other files, such as answers to a file of requests, are not ours.
            ours = what in _OURS and (number.isdecimal() or number == NEW)
            if ours and what not in needed:
                with contextlib.suppress(OSError):
                    file.unlink()
        for pack in self.live:
            # Deleted files are fetched again.
            pack.fetched = pack.fetched and self.file(pack.n, "results").exists()


def _folded(path: Path) -> tuple[dict[int, Pack], dict[str, Again]]:
    packs: dict[int, Pack] = {}
    again: dict[str, Again] = {}
    for event in read_records(path / BATCHES, Event):
        if event.event != "sealed" and event.n not in packs:
            raise RunError(f"{path / BATCHES} speaks of pack {event.n}, which was never sealed")
        _take(packs, again, event)
    return packs, again


def _take(packs: dict[int, Pack], again: dict[str, Again], event: Event) -> None:
    if event.event == "sealed":
        packs[event.n] = Pack(
            event.n, event.token, event.requests, event.bytes, event.tokens, event.upper
        )
    packs[event.n].take(event)
    again.update(event.again)
