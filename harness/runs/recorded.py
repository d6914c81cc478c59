"""The calls of a run as its dialogues find them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping

from harness.dialogue import Act, Call
from harness.runs.on_record import StepKey
from harness.runs.records import CallRecord, call_id, shared_unit

Calls = Mapping[str, CallRecord]
"""The calls of a dialogue by place."""


class RecordedCalls:
    """Calls of the last trial of every dialogue, and those that the units of a parent share."""

    def __init__(self, calls: Iterable[CallRecord]) -> None:
        self._own: dict[StepKey, dict[str, CallRecord]] = {}
        self._trials: dict[StepKey, int] = {}
        self._shared: dict[str, CallRecord] = {}
        for call in calls:
            if call.asked_by:
                self._shared[call.id] = call
                continue
            if call.trial > self._trials.get(call.key, 0):
                self._trials[call.key] = call.trial
                self._own.pop(call.key, None)
            if call.trial == self._trials.get(call.key, 0):
                self._own.setdefault(call.key, {})[call.place] = call

    def of(self, key: StepKey) -> Mapping[str, CallRecord]:
        """Return the calls that a dialogue may ask for, by `name_of`."""
        own = self._own.get(key, {})
        return ChainMap(own, self._shared) if self._shared else own


def name_of(call: Call, repeat: int) -> str:
    """Return the name under which a call is found among those of its dialogue: its place, or its
    id if it
    is shared."""
    if isinstance(call, Act) or not call.shared:
        return call.place
    return call_id(shared_unit(call.shared), repeat, call.place)
