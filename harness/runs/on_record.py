"""Where a run stands, from its lines: what is settled, what is played back, what it has cost.

`harness.batches` writes the files of batches, whose heads are read here.
"""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from adapters.conversation import Finish, Usage
from harness.printing import first_and_others, printable
from harness.runs.files import CALLS, STEPS, Line, decode, read_lines, read_records
from harness.runs.records import CallRecord, Spent, Unit, line_decoder

StepKey = tuple[str, int]
"""Step id and repeat index."""


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


class CallHead(Head, kw_only=True):
    """The part of a call's line that says which call it is."""

    id: str
    cost: float | None = None
    asked_by: str = ""


class AskedHead(CallHead, kw_only=True):
    """The part of a call's line that says what was asked, and whether its reply ended normally."""

    class Ended(msgspec.Struct):
        finish: str = ""

    request: str = ""
    reply: Ended


class ReplyHead(CallHead, kw_only=True):
    """The part of a call's line that says what was asked, and where the reply came from."""

    reused_from: str = ""
    embed: Any = None
    act: Any = None


class _Asked:
    """The calls of a run by what was asked, read when they are asked for.

    Lines that were appended since are found, too.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._heads = line_decoder(AskedHead)
        self._places: dict[str, Line] = {}
        self._lines = self._end = 0

    def add(self, line: Line) -> AskedHead:
        """Note where a call is on record, and return its head. Raises `RunError`."""
        head = decode(self._heads, line, self._path)
        if head.reply.finish == Finish.STOP:
            self._places.setdefault(head.request, Line(line.number, line.offset, b""))
        self._lines, self._end = line.number, line.offset + len(line.data)
        return head

    def equal(self, request: str) -> CallRecord | None:
        """Return the first call of this `request` whose reply ended normally. Raises `RunError`."""
        for line in read_lines(self._path, after=(self._lines, self._end)):
            self.add(line)
        place = self._places.get(request)
        if place is None:
            return None
        with self._path.open("rb") as file:
            file.seek(place.offset)
            line = place._replace(data=file.readline())
        return decode(line_decoder(CallRecord), line, self._path)


class _Recorded(Mapping[StepKey, dict[str, CallRecord]]):
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
    asked: all calls, by what was asked.
    """

    settled: frozenset[StepKey]
    recorded: _Recorded
    shared: Mapping[str, CallRecord]
    spent: float
    asked: _Asked


def read_settled(path: Path) -> frozenset[StepKey]:
    """Return the settled dialogues of the run at `path`. Raises `RunError`."""
    latest = {head.key: head.settled for head in read_records(path / STEPS, StepHead)}
    return frozenset(key for key, settled in latest.items() if settled)


def read_on_record(path: Path) -> OnRecord:
    """Read the state of the run at `path`. Raises `RunError` for a line that cannot be read."""
    settled = read_settled(path)
    recorded = _Recorded(path / CALLS)
    shared: dict[str, CallRecord] = {}
    spent = 0.0
    asked, records = _Asked(path / CALLS), line_decoder(CallRecord)
    for line in read_lines(path / CALLS):
        head = asked.add(line)
        spent += head.cost or 0.0
        if head.asked_by:
            shared[head.id] = decode(records, line, path / CALLS)
        elif head.key not in settled:
            recorded.add(head.key, head.id, line)
    return OnRecord(settled, recorded, shared, spent, asked)


def read_cost(path: Path) -> float:
    """Return the cost of the recorded calls of the run at `path`, in dollars. Raises `RunError`."""
    return math.fsum(head.cost or 0.0 for head in read_records(path / CALLS, CallHead))


def reused_replies(path: Path) -> Iterator[str]:
    """Say how many replies of the run at `path` other runs had asked for, if any.

    Raises `RunError`.
    """
    count, reused = 0, Counter[str]()
    for head in read_records(path / CALLS, ReplyHead):
        if head.embed is None and head.act is None:
            count += 1
            if head.reused_from:
                reused[printable(head.reused_from)] += 1
    if reused:
        shown = first_and_others([name for name, _ in reused.most_common()], "other runs")
        yield f"{sum(reused.values()):,} of {count:,} replies reused from {shown}"


def spent_on(calls: Sequence[CallRecord]) -> Spent:
    """Return the cost of these calls."""
    usages = [call.reply.usage for call in calls if call.reply.usage]
    costs = [call.cost for call in calls if call.cost is not None]
    usage = sum(usages, Usage()) if usages else None
    return Spent(len(calls), usage, sum(costs) if len(costs) == len(calls) else None)


def together(parts: Iterable[Spent]) -> Spent:
    """Return the sum of several parts."""
    listed = list(parts)
    usages = [part.usage for part in listed if part.usage]
    costs = [part.cost for part in listed if part.cost is not None]
    return Spent(
        calls=sum(part.calls for part in listed),
        usage=sum(usages, Usage()) if usages else None,
        cost=math.fsum(costs) if len(costs) == len(listed) else None,
    )


def roles_of(calls: Iterable[CallRecord]) -> dict[str, Spent]:
    """Return the part of every role; empty if only the model under test was asked."""
    asked: dict[str, list[CallRecord]] = {}
    for call in calls:
        if not call.act:
            asked.setdefault(call.role, []).append(call)
    return {role: spent_on(asked[role]) for role in sorted(asked)} if any(asked) else {}


def tiers_of(calls: Iterable[CallRecord]) -> dict[str, int]:
    """Count the replies by tier of a provider, without those from the response cache."""
    served = Counter(call.reply.tier for call in calls if call.reply.tier and not call.from_cache)
    return dict(sorted(served.items()))


def by_tier(records: Iterable[Unit[Any]]) -> dict[str, int]:
    """Count the replies by tier; empty if no provider named one."""
    served: Counter[str] = Counter()
    for record in records:
        served.update(record.tiers)
    return dict(sorted(served.items()))


def by_role(records: Iterable[Unit[Any]]) -> dict[str, Spent]:
    """Return the cost of calls by role; empty if only the model under test was asked.

    Units that asked only that model count in its part, too: the parts add up. Shared calls
    that were made for another unit are in its part.
    """
    parts: dict[str, list[Spent]] = {}
    for record in records:
        made = record.roles
        if not made and record.calls:
            own = sum(call.startswith(f"{record.unit_id}/") for call in record.calls)
            made = {"": Spent(own, record.usage, record.cost)}
        for role, spent in made.items():
            parts.setdefault(role, []).append(spent)
    return {role: together(parts[role]) for role in sorted(parts)} if any(parts) else {}


BATCHES, PACKS = "batches.jsonl", "batches"
"""The state of every pack, and the folder of their requests and results."""
OVER = frozenset({"drained", "dropped"})
"""Last events of a pack."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Calls of a run that a provider has, or will have, and that are not on record yet.

    packs, requests: number of batches, and of the calls in them.
    cost: the most that they may cost, in US dollars.
    text: the same in words.
    command: the command that shows them, and ends them with `--cancel`.
    """

    packs: int
    requests: int
    cost: float
    text: str
    command: str

    def __str__(self) -> str:
        return self.text


class PackHead(msgspec.Struct, kw_only=True):
    """The part of a pack's line that says what is left of it.

    n: its number.
    event: what happened to it last.
    upper: the most that its requests may cost, in US dollars.
    lost: US dollars that its failed requests have cost, or may have.
    """

    n: int
    event: str
    requests: int
    upper: float
    lost: float = 0.0


def waiting_at(path: Path) -> Waiting | None:
    """Return what a provider has of the run at `path`, if anything. Raises `RunError`."""
    live = [head for head in _heads(path) if head.event not in OVER]
    if not live:
        return None
    number, cost = sum(head.requests for head in live), math.fsum(head.upper for head in live)
    batches = "1 batch" if len(live) == 1 else f"{len(live)} batches"
    requests = "1 request" if number == 1 else f"{number:,} requests"
    command = f"vlm-eval batches {shlex.quote(str(path))}"
    return Waiting(len(live), number, cost, f"{batches} with {requests}", command)


def unrecorded_at(path: Path) -> float:
    """Return US dollars spent on failed requests. Raises `RunError`."""
    return math.fsum(head.lost for head in _heads(path))


def has_batches(path: Path) -> bool:
    """Return whether calls of the run at `path` were ever put into batches."""
    return (path / BATCHES).exists() or (path / PACKS).exists()


def _heads(path: Path) -> list[PackHead]:
    return list({head.n: head for head in read_records(path / BATCHES, PackHead)}.values())
