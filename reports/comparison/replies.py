"""True if two runs rest on the same replies: one took them from the other, or both from a third."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

import msgspec

from harness.runs import CallRecord, Run
from harness.runs.on_record import StepKey
from parsers import ScoredUnit


@dataclass(frozen=True, slots=True)
class Replies:
    """The replies that decided the units of two runs, those of their dialogues' last calls.

    decided: dialogues that a reply decided in either run.
    same: those that the same one decided in both.
    """

    decided: int
    same: int

    @property
    def all_same(self) -> bool:
        return 0 < self.decided == self.same


def replies_of(first: Run, second: Run, units: Collection[ScoredUnit]) -> Replies:
    """Count the replies that decided these units in two runs. Raises `RunError`."""
    ids = {unit.unit_id for unit in units}
    ours, theirs = (_deciding(run, ids) for run in (first, second))
    same = sum(theirs.get(key) == digest for key, digest in ours.items())
    return Replies(len(ours.keys() | theirs.keys()), same)


def _deciding(run: Run, unit_ids: Collection[str]) -> dict[StepKey, str]:
    """Return a digest of the last call of every dialogue about these units."""
    last = {
        unit.key: unit.calls[-1]
        for unit in run.records()
        if unit.settled and unit.calls and unit.unit_id in unit_ids
    }
    ids = set(last.values())
    digests = {
        call.id: _digest(call) for call in run.calls() if call.id in ids and _was_received(call)
    }
    return {key: digests[id] for key, id in last.items() if id in digests}


def _was_received(call: CallRecord) -> bool:
    """Return whether a call has a reply that no other call has by chance: not of a baseline, and
    not of a prompt that was too long to be sent."""
    return bool(call.reply.latency_s or call.reply.request_id)


def _digest(call: CallRecord) -> str:
    data = msgspec.json.encode([call.request, call.reply], order="deterministic")
    return hashlib.sha256(data).hexdigest()
