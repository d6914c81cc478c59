"""A call that is not on record yet, and one that has just been made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.dialogue import Call, Result
from harness.engine.dialogues import OpenDialogue
from harness.runs import CallRecord


@dataclass(slots=True)
class Pending:
    """A call that a dialogue waits for.

    digest: of what is asked.
    id: name of the call.
    unit_id: the unit whose call it will be, or the parent that shares it.
    asked_by: of a shared call, the unit that asks now; "" for other calls.
    tokens: estimated tokens of a prompt, None if nothing estimates.
    """

    dialogue: OpenDialogue
    call: Call
    digest: str
    id: str
    unit_id: str
    trial: int
    asked_by: str = ""
    tokens: int | None = None

    def record(self, request: str, **more: Any) -> CallRecord:
        """Return the record of the call, with the fields that only some kinds of calls have."""
        more.setdefault("messages", ())
        return CallRecord(
            id=self.id,
            unit_id=self.unit_id,
            repeat=self.dialogue.job.repeat,
            place=self.call.place,
            request=request,
            conversation=self.digest,
            trial=self.trial,
            asked_by=self.asked_by,
            **more,
        )


@dataclass(slots=True)
class Made:
    """A call that was made: its record, what its dialogue receives, and the blobs of the record."""

    record: CallRecord
    result: Result
    blobs: tuple[bytes, ...] = ()
