"""The cost of calls by role, and the tiers that served them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from adapters.conversation import Usage
from harness.runs.records import CallRecord, Spent, Unit


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
