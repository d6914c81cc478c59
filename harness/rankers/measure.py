"""Recall of a ranker: how often an acceptable element is among the first k candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from parsers.intervals import Interval, cluster_t

DEPTHS = (1, 5, 10, 20, 50)

PAPER_SOURCE = "Mind2Web (Deng et al. 2023), DeBERTa-v3-base"
PAPER = {"test_task": 0.889, "test_website": 0.853, "test_domain": 0.857}
"""Recall at 50 as published, on 252, 177 and 912 tasks (`reports/published` has the same rows)."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A step that was ranked: the best rank of an acceptable element, from 0.

    `rank` is None where no acceptable element was ranked; `positive` says whether there is one.
    """

    split: str
    task_id: str
    rank: int | None
    positive: bool
    candidates: int


@dataclass(frozen=True, slots=True)
class Rate:
    """Recall at a depth over steps, with its interval over tasks (None where there is none)."""

    depth: int
    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class SplitRecall:
    """Recall of a split. `without` counts its steps that have no acceptable element, which are
    missed where `without_fails`, and else are not among `steps`."""

    split: str
    steps: int
    tasks: int
    without: int
    without_fails: bool
    candidates: float
    rates: tuple[Rate, ...] = ()


def ranked(split: str, task_id: str, right: Sequence[str], order: Sequence[str]) -> Ranked:
    """Where the first acceptable element of a step stands.

    >>> ranked("dev", "t", ["b", "c"], ["a", "c", "b"]).rank
    1
    """
    wanted = frozenset(right)
    rank = next((rank for rank, node_id in enumerate(order) if node_id in wanted), None)
    return Ranked(split, task_id, rank, bool(wanted), len(order))


def recall(
    steps: Iterable[Ranked], depths: Sequence[int] = DEPTHS, *, without_fails: bool = False
) -> list[SplitRecall]:
    """Recall by split, in the order in which splits occur.

    Args:
        steps: the ranked steps.
        depths: the k of recall at k.
        without_fails: count steps without an acceptable element as missed instead of leaving them
            out.
    """
    splits: dict[str, list[Ranked]] = {}
    for step in steps:
        splits.setdefault(step.split, []).append(step)
    return [_of_split(name, own, depths, without_fails) for name, own in splits.items()]


def _of_split(
    name: str, steps: Sequence[Ranked], depths: Sequence[int], without_fails: bool
) -> SplitRecall:
    kept = [step for step in steps if without_fails or step.positive]
    tasks = [step.task_id for step in kept]
    rates = []
    for depth in depths if kept else ():
        hits = [float(step.rank is not None and step.rank < depth) for step in kept]
        rates.append(Rate(depth, sum(hits) / len(hits), cluster_t(hits, tasks)))
    return SplitRecall(
        split=name,
        steps=len(kept),
        tasks=len(set(tasks)),
        without=sum(not step.positive for step in steps),
        without_fails=without_fails,
        candidates=sum(step.candidates for step in kept) / len(kept) if kept else 0.0,
        rates=tuple(rates),
    )
