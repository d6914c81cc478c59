"""The same metrics for subgroups: per split, website, domain, subdomain and operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from parsers.aggregate import DEFAULT_AGGREGATION, aggregate, mean
from parsers.metrics import AggregationRules, Metrics
from parsers.records import ScoredStep

GroupKey = Literal["split", "website", "domain", "subdomain", "operation"]
GROUP_KEYS: tuple[GroupKey, ...] = ("split", "website", "domain", "subdomain", "operation")


def by(
    steps: Iterable[ScoredStep],
    key: GroupKey,
    rules: AggregationRules = DEFAULT_AGGREGATION,
    *,
    task_lengths: Mapping[str, int] | None = None,
) -> dict[str, Metrics]:
    """The metrics of every subgroup, by its name, in alphabetical order.

    Each row is in exactly one group, so micro means weighted by `n_steps` give the micro mean of
    the whole; where groups hold whole tasks, macro means weighted by `n_tasks` give its macro mean.
    Groups by operation (the recorded one) cut tasks apart and have no task success.

    Raises `ValueError` for an unknown key.
    """
    if key not in GROUP_KEYS:
        raise ValueError(f"cannot group by {key!r}: expected one of {', '.join(GROUP_KEYS)}")
    groups: dict[str, list[ScoredStep]] = {}
    for step in steps:
        groups.setdefault(getattr(step, key), []).append(step)
    whole = key != "operation"
    return {
        name: aggregate(groups[name], rules, task_lengths=task_lengths, whole_tasks=whole)
        for name in sorted(groups)
    }


def mean_of_groups(
    groups: Mapping[str, Metrics], pick: Callable[[Metrics], float | None]
) -> float | None:
    """The unweighted mean over groups of what `pick` takes from each; None when one has none.

    Over splits this is the mean of split means; over operations, of `micro` operation F1, it is
    the operation F1 of SeeClick.
    """
    values = [pick(metrics) for metrics in groups.values()]
    defined = [value for value in values if value is not None]
    return mean(defined) if len(defined) == len(values) else None
