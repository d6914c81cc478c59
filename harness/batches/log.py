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
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from harness.runs import StepKey
from harness.runs.batches import BATCHES, OVER, PACKS, PackHead
from harness.runs.files import append_lines, cut_torn, read_records, sealed

NEW = "new"
_OURS = {"ids.jsonl", "ids.jsonl.new", "requests.jsonl", "results.jsonl", "results.jsonl.new"}

Event = Literal[
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
"""Events of a pack, in this order. `refused` takes it back to before `uploaded`, `released` to
before `created`, as the batch was another user's; `unread` says that the provider's word on the
batch or its results could not be read; a pack that is `drained` or `dropped` is over."""


NOT_CREATED: Mapping[str, Any] = {
    "id": "",
    "created_at": None,
    "expires_at": None,
    "ended": False,
    "status": "",
    "where": (),
}
"""The fields of a pack that has no batch."""


class Again(msgspec.Struct, frozen=True):
    """A failed request, which is sent again under another id.

    cost: what it has cost all the same, in US dollars, or may have.
    """

    reason: str
    cost: float = 0.0


class Pack(PackHead, kw_only=True, omit_defaults=True):
    """A line of `batches.jsonl`: the state of a pack after an event. Times are in seconds since
    1970.

    token: what the provider's batch is recognised by.
    bytes, tokens: size of the requests.
    file: the provider's name of the uploaded requests; None before they are uploaded.
    creating_at: when the provider was asked for a batch; None before that.
    id: of the provider's batch, "" before it is known.
    found: whether the batch was found by what is known of it, and may be a stranger's.
    status, where: of the batch, and what its results are fetched from, as last known.
    answered, failed: requests of the batch, as last known.
    unbilled: whether requests without a result cost nothing.
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
    id: str = ""
    created_at: float | None = None
    expires_at: float | None = None
    found: bool = False
    ended: bool = False
    status: str = ""
    where: tuple[str, ...] = ()
    answered: int = 0
    failed: int = 0
    unbilled: bool = False
    unread: int = 0
    strangers: tuple[str, ...] = ()
    again: dict[str, Again] = msgspec.field(default_factory=dict)
    why: str = ""

    @property
    def is_over(self) -> bool:
        return self.event in OVER

    @property
    def is_fetched(self) -> bool:
        """Return True if its results are here, and not all on record yet."""
        return self.event == "fetched"

    @property
    def is_open(self) -> bool:
        """Return True if the provider has it, or may have it, and its results are not here."""
        return self.creating_at is not None and not self.is_fetched and not self.is_over

    @property
    def is_unsent(self) -> bool:
        """Return True if it waits to be sent."""
        return self.creating_at is None and not self.is_over

    @property
    def state(self) -> str:
        """Its state in words."""
        if self.is_over:
            return "dropped" if self.event == "dropped" else "on record"
        if self.is_fetched:
            return "fetched"
        if self.id:
            return self.status or "open"
        return "being created" if self.creating_at is not None else "not sent"


class PackedCall(msgspec.Struct, kw_only=True, frozen=True, gc=False):
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
        return [pack for pack in self.packs.values() if not pack.is_over]

    def file(self, n: int, what: str) -> Path:
        """Return a file of a pack: `ids`, `requests` or `results`."""
        return self.path / PACKS / f"{n:04}.{what}.jsonl"

    def calls(self, n: int) -> Iterator[PackedCall]:
        """Return the calls of a pack. Raises `RunError`."""
        return read_records(self.file(n, "ids"), PackedCall)

    def note(self, n: int, event: Event, **changes: Any) -> Pack:
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
        return pack

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
            needed = set() if pack is None or pack.is_over else {"ids.jsonl", "requests.jsonl"}
            if pack is not None and pack.is_fetched:
                needed.add("results.jsonl")
            # Other files, such as answers to a file of requests, are not ours.
            ours = what in _OURS and (number.isdecimal() or number == NEW)
            if ours and what not in needed:
                with contextlib.suppress(OSError):
                    file.unlink()
        for pack in self.live:
            if pack.is_fetched and not self.file(pack.n, "results").exists():
                pack.event = "ended"  # Deleted results are fetched again.
