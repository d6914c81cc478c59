"""Costs of the answered units of two runs, and of a success in each."""

from __future__ import annotations

from dataclasses import dataclass

from harness.tables import Cell, Row
from harness.tables.grid import NumberStyle, shown
from parsers.rates import Interval
from reports.frames.rows import RunRows
from reports.spending import AMOUNTS, STYLES, per_success, ratio_difference, worked


@dataclass(frozen=True, slots=True)
class Takes:
    """An amount of two runs, per answered unit or per success.

    name: of the amount (`AMOUNTS`), with `_per_` and what it is divided by.
    head: the same for readers.
    style: of its numbers.
    first, second: of the baseline and of the run.
    interval: of the second minus the first; None with a single cluster or too few successes.
    """

    name: str
    head: str
    style: NumberStyle
    first: float
    second: float
    interval: Interval | None

    def row(self, width: int) -> Row:
        """Return it as a row of a comparison, `width` cells long."""
        difference, style = self.second - self.first, self.style
        ends = ""
        if self.interval is not None:
            low, high = (_signed(end, style) for end in (self.interval.low, self.interval.high))
            ends = f"[{low}, {high}]"
        cells = (
            self.head,
            shown(self.first, style),
            shown(self.second, style),
            Cell(_signed(difference, style), ends),
        )
        return Row((*cells, *[""] * (width - len(cells))))


def _signed(value: float, style: NumberStyle) -> str:
    sign = "-" if value < 0 else "+"
    return sign + shown(abs(value), style)


def takes(first: RunRows, second: RunRows) -> tuple[Takes, ...]:
    """Compare the amounts that are known of units which both runs have answered, if any are."""
    if not all(rows.frame["output_tokens"].notna().any() for rows in (first, second)):
        return ()  # Policies take nothing.
    ours, theirs = worked(first), worked(second)
    places = {key: place for place, key in enumerate(theirs.keys)}
    unit, found = first.declared.unit, []
    for name, what in AMOUNTS.items():
        pairs = [
            (place, places[key])
            for place, key in enumerate(ours.keys)
            if key in places
            and ours.amounts[name][place] is not None
            and theirs.amounts[name][places[key]] is not None
        ]
        before = [ours.amounts[name][place] or 0.0 for place, _ in pairs]
        after = [theirs.amounts[name][place] or 0.0 for _, place in pairs]
        won = [[bool(ours.won[place]) for place, _ in pairs]]
        won.append([bool(theirs.won[place]) for _, place in pairs])
        groups = [ours.groups[place] for place, _ in pairs]
        if not any(before) and not any(after):
            continue
        ones = [1.0] * len(pairs)
        for by, sizes in ((unit, (ones, ones)), ("success", won)):
            if not all(map(any, sizes)):
                continue
            one, other = ([float(size) for size in each] for each in sizes)
            _, interval = ratio_difference((before, one), (after, other), groups)
            if by == "success" and not all(
                per_success(amounts, wins, groups)[1]
                for amounts, wins in ((before, won[0]), (after, won[1]))
            ):
                interval = None  # Too few successes for a ratio to them.
            found.append(
                Takes(
                    f"{name}_per_{by}",
                    f"{what}/{by}",
                    STYLES[name],
                    sum(before) / sum(one),
                    sum(after) / sum(other),
                    interval,
                )
            )
    return tuple(found)
