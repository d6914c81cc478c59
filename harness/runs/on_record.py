"""Where a run stands, from its lines: what is settled, what is played back, what it has cost."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from harness.runs.files import CALLS, STEPS, Line, decode, read_lines, read_records
from harness.runs.lines import line_decoder
from harness.runs.records import CallRecord, shared_unit

StepKey = tuple[str, int]
"""Step id and repeat index."""


def is_shared(key: StepKey) -> bool:
    """Return True for a parent whose units share calls."""
    return key[0].startswith(shared_unit(""))


class Head(msgspec.Struct, kw_only=True):
    """The part of any line that says which dialogue it is of."""

    unit_id: str
    repeat: int

    @property
    def key(self) -> StepKey:
        return self.unit_id, self.repeat


class StepHead(Head, kw_only=True):
    """The part of a unit's line that says where its dialogue stands."""

    settled: bool
    calls: tuple[str, ...] = ()
    cost: float | None = None


class CallHead(Head, kw_only=True):
    """The part of a call's line that says which call it is."""

    id: str
    cost: float | None = None
    asked_by: str = ""


class Recorded(Mapping[StepKey, dict[str, CallRecord]]):
    """The calls of dialogues that are not settled, read when they are asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[StepKey, dict[str, tuple[int, int, int]]] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[StepKey]:
        return iter(self._lines)

    def add(self, key: StepKey, id: str, line: Line) -> None:
        """Note where a call is on record."""
        self._lines.setdefault(key, {})[id] = line.number, line.offset, len(line.data)

    def ids(self, key: StepKey) -> Collection[str]:
        """Return the calls of a dialogue by their ids."""
        return self._lines.get(key, {}).keys()

    def __getitem__(self, key: StepKey) -> dict[str, CallRecord]:
        """Return the calls of a dialogue, by id. Raises KeyError, `RunError`."""
        places = self._lines[key]
        read = line_decoder(CallRecord)
        with self._path.open("rb") as file:
            calls = {}
            for id, (number, offset, length) in places.items():
                file.seek(offset)
                calls[id] = decode(read, Line(number, offset, file.read(length)), self._path)
        return calls


@dataclass(frozen=True, slots=True)
class OnRecord:
    """The contents of a run's lines.

    settled: dialogues with a final outcome.
    recorded: calls of the other dialogues, those of all trials, by id.
    shared: calls that belong to a parent of several dialogues, by id.
    spent: cost of all calls in US dollars.
    lost: settled dialogues with unrecorded calls.
    """

    settled: frozenset[StepKey]
    recorded: Recorded
    shared: Mapping[str, CallRecord]
    spent: float
    lost: frozenset[StepKey]


def read_settled(path: Path) -> frozenset[StepKey]:
    """Return the settled dialogues of the run at `path`. Raises `RunError`."""
    return frozenset(key for key, head in _latest(path).items() if head.settled)


def read_on_record(path: Path) -> OnRecord:
    """Read the state of the run at `path`. Raises `RunError` for a line that cannot be read."""
    settled = {key: head for key, head in _latest(path).items() if head.settled}
    recorded = Recorded(path / CALLS)
    shared: dict[str, CallRecord] = {}
    spent = 0.0
    ids: set[str] = set()
    heads, records = line_decoder(CallHead), line_decoder(CallRecord)
    for line in read_lines(path / CALLS):
        head = decode(heads, line, path / CALLS)
        spent += head.cost or 0.0
        if head.asked_by:
            ids.add(head.id)
            shared[head.id] = decode(records, line, path / CALLS)
        elif head.key in settled:
            ids.add(head.id)
        else:
            recorded.add(head.key, head.id, line)
    lost = frozenset(key for key, head in settled.items() if not ids.issuperset(head.calls))
    return OnRecord(frozenset(settled), recorded, shared, spent, lost)


def read_cost(path: Path) -> float:
    """Return the cost of the recorded calls of the run at `path`, in dollars. Raises `RunError`."""
    return math.fsum(head.cost or 0.0 for head in read_records(path / CALLS, CallHead))


def _latest(path: Path) -> dict[StepKey, StepHead]:
    return {head.key: head for head in read_records(path / STEPS, StepHead)}
