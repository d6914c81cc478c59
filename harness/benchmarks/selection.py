"""Which steps of a benchmark are wanted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.benchmarks.hints import instead
from harness.benchmarks.index import IndexEntry
from harness.errors import DataError


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions on steps; all must hold, and an empty tuple asks for nothing.

    `limit` takes whole tasks, the first in file order. `shard` is (number from 1, of how many) and
    is applied last, so that the shards of a limited selection are parts of that selection.
    """

    websites: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    task_ids: tuple[str, ...] = ()
    step_ids: tuple[str, ...] = ()
    limit: int | None = None
    shard: tuple[int, int] | None = None


def select(entries: Sequence[IndexEntry], filters: Filters) -> tuple[IndexEntry, ...]:
    """The entries that meet the filters, in the order given.

    Raises:
        DataError: a value that no entry has, a limit or shard that means nothing, or no entry left
            (a shard may be empty: tasks are spread by hash).
    """
    fields: tuple[tuple[str, tuple[str, ...], Callable[[IndexEntry], str]], ...] = (
        ("website", filters.websites, lambda e: e.website),
        ("domain", filters.domains, lambda e: e.domain),
        ("task", filters.task_ids, lambda e: e.task_id),
        ("step", filters.step_ids, lambda e: e.step_id),
    )
    kept = tuple(entries)
    for what, wanted, value_of in fields:
        if wanted:
            _check_known(what, wanted, {value_of(entry) for entry in entries})
            allowed = frozenset(wanted)
            kept = tuple(entry for entry in kept if value_of(entry) in allowed)
    if not kept:
        raise DataError("no step meets all the filters together")
    if filters.limit is not None:
        kept = _first_tasks(kept, filters.limit)
    if filters.shard is not None:
        kept = _shard(kept, *filters.shard)
    return kept


def shard_of(task_id: str, count: int) -> int:
    """The number, from 1, of the shard that a task belongs to; the same for ever and everywhere."""
    return int.from_bytes(hashlib.sha256(task_id.encode()).digest()[:8], "big") % count + 1


def _check_known(what: str, wanted: Sequence[str], known: set[str]) -> None:
    for value in wanted:
        if value not in known:
            hint = instead(value, known)
            if what in ("task", "step") and hint.startswith("known:"):
                # A list of ids helps nobody.
                hint = f"it has {len(known)} others; is this one of another split?"
            raise DataError(f"no {what} '{value}' in the selection; {hint}")


def _first_tasks(entries: Sequence[IndexEntry], limit: int) -> tuple[IndexEntry, ...]:
    if limit < 1:
        raise DataError(f"a limit of {limit} tasks leaves nothing to do")
    tasks = dict.fromkeys(entry.task_id for entry in entries)
    first = frozenset(list(tasks)[:limit])
    return tuple(entry for entry in entries if entry.task_id in first)


def _shard(entries: Sequence[IndexEntry], number: int, count: int) -> tuple[IndexEntry, ...]:
    if count < 1 or not 1 <= number <= count:
        raise DataError(f"there is no shard {number}/{count}; shards are 1/{max(count, 1)} to n/n")
    return tuple(entry for entry in entries if shard_of(entry.task_id, count) == number)
