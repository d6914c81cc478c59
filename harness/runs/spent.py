"""What calls took, by role, and which tier of a provider served them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from adapters.conversation import Usage
from harness.runs.records import CallRecord, Spent, UnitRecord


def spent_on(calls: Sequence[CallRecord]) -> Spent:
    """What these calls took."""
    usages = [call.reply.usage for call in calls if call.reply.usage]
    costs = [call.cost for call in calls if call.cost is not None]
    usage = sum(usages, Usage()) if usages else None
    return Spent(len(calls), usage, sum(costs) if len(costs) == len(calls) else None)


def together(parts: Iterable[Spent]) -> Spent:
    """What several parts took."""
    listed = list(parts)
    usages = [part.usage for part in listed if part.usage]
    costs = [part.cost for part in listed if part.cost is not None]
    return Spent(
        calls=sum(part.calls for part in listed),
        usage=sum(usages, Usage()) if usages else None,
        cost=math.fsum(costs) if len(costs) == len(listed) else None,
    )


def roles_of(calls: Iterable[CallRecord]) -> dict[str, Spent]:
    """The part of every role; empty where nobody but the model under test was asked."""
    asked: dict[str, list[CallRecord]] = {}
    for call in calls:
        if not call.act:
            asked.setdefault(call.role, []).append(call)
    return {role: spent_on(asked[role]) for role in sorted(asked)} if any(asked) else {}


def tiers_of(calls: Iterable[CallRecord]) -> dict[str, int]:
    """How many replies each tier of a provider served, those from the response cache apart."""
    served = Counter(call.reply.tier for call in calls if call.reply.tier and not call.from_cache)
    return dict(sorted(served.items()))


def by_tier(records: Iterable[UnitRecord[Any]]) -> dict[str, int]:
    """How many replies each tier served; empty where no provider said which one."""
    served: Counter[str] = Counter()
    for record in records:
        served.update(record.tiers)
    return dict(sorted(served.items()))


def by_role(records: Iterable[UnitRecord[Any]]) -> dict[str, Spent]:
    """What calls took, by role; empty where nobody but the model under test was asked.

    Units that asked only that model count in its part, too, so that the parts add up. Shared calls
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
