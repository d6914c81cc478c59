"""Agreement of runs on outcomes and on chosen elements, over the steps that both settled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from reports.view.points import PART, RIGHT, WRONG, Outcome, Points

SETTLED = {RIGHT, PART, WRONG}


@dataclass(frozen=True, slots=True)
class Pair:
    """The agreement of two lanes.

    first, second: numbers of the lanes.
    both, only_first, only_second, neither: steps that these got right.
    same: steps with the same chosen element, or none in both.
    """

    first: int
    second: int
    both: int
    only_first: int
    only_second: int
    neither: int
    same: int

    @property
    def steps(self) -> int:
        """Steps that both settled."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def agreement(self) -> float | None:
        """The share of steps that both got right or both got wrong."""
        return (self.both + self.neither) / self.steps if self.steps else None

    @property
    def same_choice(self) -> float | None:
        """The share of steps in which both chose the same element."""
        return self.same / self.steps if self.steps else None


def pairs(points: Points) -> list[Pair]:
    """Every pair of lanes, the earlier one first."""
    return [_pair(points, a, b) for a, b in combinations(range(len(points.lanes)), 2)]


def matrix(points: Points) -> list[list[float | None]]:
    """Agreement on outcomes above the diagonal, on chosen elements below it."""
    size = len(points.lanes)
    cells: list[list[float | None]] = [[None] * size for _ in range(size)]
    for pair in pairs(points):
        cells[pair.first][pair.second] = pair.agreement
        cells[pair.second][pair.first] = pair.same_choice
    return cells


def _pair(points: Points, first: int, second: int) -> Pair:
    counts = {(one, other): 0 for one in (True, False) for other in (True, False)}
    same = 0
    for one, other in _settled(points, first, second):
        counts[one.result == RIGHT, other.result == RIGHT] += 1
        same += one.choice == other.choice
    return Pair(
        first,
        second,
        both=counts[True, True],
        only_first=counts[True, False],
        only_second=counts[False, True],
        neither=counts[False, False],
        same=same,
    )


def _settled(points: Points, first: int, second: int) -> Iterator[tuple[Outcome, Outcome]]:
    for point in points.steps.values():
        one, other = point.outcomes.get(first), point.outcomes.get(second)
        if one and other and one.result in SETTLED and other.result in SETTLED:
            yield one, other
