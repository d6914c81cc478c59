"""Equal calls in batches: one of them is sent, and its reply on record answers the others."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Container

from adapters.contract import Request
from harness.batches.log import PackedCall
from harness.runs import StepKey

HALF = 20
"""Hexadecimal digits of each hash in the id of a request."""


def packed_id(request: Request, attempt: int) -> str:
    """The id of a request in a batch.

    It follows from the call, from everything that the reply depends on, and from the attempt, so
    that a reply reaches its own call only, whatever becomes of the order of a file. Ids of equal
    calls begin alike, so that a later session knows them.
    """
    call = f"{request.id}\n{request.equal}\n{attempt}"
    hashes = (hashlib.sha256(text.encode()).hexdigest() for text in (request.equal, call))
    return "v" + "".join(one[:HALF] for one in hashes)


def _beginning(id: str) -> str:
    return id[: 1 + HALF]


class EqualCalls:
    """The calls that wait for an equal one, which is in a pack."""

    def __init__(self) -> None:
        self._packed: dict[str, PackedCall] = {}
        self._waiting: dict[str, tuple[StepKey, PackedCall]] = {}
        self._waited: dict[str, tuple[StepKey, str]] = {}

    def pack(self, call: PackedCall) -> None:
        """Let calls wait for this one."""
        self._packed[_beginning(call.id)] = call

    def forget(self, id: str) -> None:
        """Let no call wait for this request: it is on record, or was not sent."""
        if (call := self._packed.get(_beginning(id))) is not None and call.id == id:
            del self._packed[_beginning(id)]

    def wait(self, request: Request, id: str, failed: Container[str]) -> bool:
        """Return whether a call, whose request would have this id, waits for an equal one.

        It waits for no failed request, and for one call only: where replies answer no other call,
        as those that were cut off, each would take another batch.
        """
        equal = self._packed.get(_beginning(id))
        if equal is None or equal.id in failed:
            return False
        which = equal.key, equal.place
        if self._waited.setdefault(request.id, which) != which:
            return False
        self._waiting[request.id] = (request.unit_id, request.repeat), equal
        return True

    def ask(self, request: Request) -> None:
        """A dialogue has come to this call again."""
        self._waiting.pop(request.id, None)

    def units(self, arrived: Container[str]) -> Collection[StepKey]:
        """Return the units and repeats that wait for a request that has not come back."""
        waiting = self._waiting.values()
        return {key for key, equal in waiting if self._is_packed(equal) and equal.id not in arrived}

    def let_go(self) -> bool:
        """Return whether calls have waited for an equal one that is over now: they are to be asked
        in another pass."""
        over = [call for call, (_, equal) in self._waiting.items() if not self._is_packed(equal)]
        for call in over:
            del self._waiting[call]
        return bool(over)

    def _is_packed(self, call: PackedCall) -> bool:
        return self._packed.get(_beginning(call.id)) is call
