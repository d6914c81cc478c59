"""Recall@k of a ranker: how often an acceptable element is among the first k candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from parsers import Interval, mean_interval

DEPTHS = (1, 5, 10, 20, 50)

PAPER_SOURCE = "Mind2Web (Deng et al. 2023), DeBERTa-v3-base"
PAPER = {"test_task": 0.889, "test_website": 0.853, "test_domain": 0.857}
"""Published Recall@50 by split, on 252, 177 and 912 tasks (also in `reports/published`)."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A step and how well it was ranked."""

    split: str
    task_id: str
    rank: int | None
    """Best rank of an acceptable element, from 0; None if none was ranked."""
    positive: bool
    """True if the step has an acceptable element."""
    candidates: int
    """Number of candidates that were ranked."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Recall@k of a split."""

    depth: int
    """The k."""
    value: float
    """Share of steps with an acceptable element among the first k, 0 to 1."""
    interval: Interval | None
    """95 % interval with tasks as clusters; None if it cannot be computed."""


@dataclass(frozen=True, slots=True)
class SplitRecall:
    """Recall of a ranker on one split."""

    split: str
    steps: int
    """Steps that count."""
    tasks: int
    without: int
    """Steps without any acceptable element."""
    without_fails: bool
    """True if steps without one count as misses; False if they are not among `steps`."""
    candidates: float
    """Mean number of candidates per step."""
    rates: tuple[Rate, ...] = ()


def ranked(split: str, task_id: str, right: Sequence[str], order: Sequence[str]) -> Ranked:
    """Find the best-ranked acceptable element of a step.

    Args:
        split: the step's split.
        task_id: the step's task, the cluster of intervals.
        right: ids of the acceptable elements.
        order: ids of the candidates, best first.

    >>> ranked("dev", "t", ["b", "c"], ["a", "c", "b"]).rank
    1
    """
    acceptable = frozenset(right)
    rank = next((rank for rank, node_id in enumerate(order) if node_id in acceptable), None)
    return Ranked(split, task_id, rank, bool(acceptable), len(order))


def recall(
    steps: Iterable[Ranked], depths: Sequence[int] = DEPTHS, *, without_fails: bool = False
) -> list[SplitRecall]:
    """Compute Recall@k by split, in order of appearance.

    Args:
        steps: the ranked steps.
        depths: the values of k.
        without_fails: count steps without an acceptable element as misses instead of leaving them
            out.
    """
    splits: dict[str, list[Ranked]] = {}
    for step in steps:
        splits.setdefault(step.split, []).append(step)
    return [_of_split(name, members, depths, without_fails) for name, members in splits.items()]


def _of_split(
    name: str, steps: Sequence[Ranked], depths: Sequence[int], without_fails: bool
) -> SplitRecall:
    kept = [step for step in steps if without_fails or step.positive]
    tasks = [step.task_id for step in kept]
    rates = []
    for depth in depths if kept else ():
        hits = [float(step.rank is not None and step.rank < depth) for step in kept]
        interval = mean_interval(hits, tasks, "micro")
        rates.append(Rate(depth, sum(hits) / len(hits), interval))
    return SplitRecall(
        split=name,
        steps=len(kept),
        tasks=len(set(tasks)),
        without=sum(not step.positive for step in steps),
        without_fails=without_fails,
        candidates=sum(step.candidates for step in kept) / len(kept) if kept else 0.0,
        rates=tuple(rates),
    )
