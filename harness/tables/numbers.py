"""Format numbers for readers. Rates are shares between 0 and 1, printed in per cent."""

from __future__ import annotations

from typing import Any, Literal

from harness.tables.grid import FEW_MARK, Cell
from parsers import Estimate, Interval

ABSENT = "n/a"
NumberStyle = Literal["text", "count", "percent", "number", "points", "dollars", "seconds", "p"]


def shown(value: Any, style: NumberStyle) -> str:
    """Format a value.

    >>> shown(0.1234, "percent"), shown(-0.05, "points"), shown(1234, "count"), shown(1e-9, "p")
    ('12.3', '-5.0', '1,234', '<0.001')
    """
    match style:
        case "count":
            return f"{int(value):,}"
        case "percent":
            return f"{100 * value:.1f}"
        case "points":
            return f"{100 * value:+.1f}"
        case "number":
            return f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"
        case "dollars":
            return f"${value:,.4f}"
        case "seconds":
            return f"{value:.2f}"
        case "p":
            return "<0.001" if value < 0.001 else f"{value:.3f}"
        case _:
            return str(value)


def percent(value: float | None) -> str:
    """Format a share in per cent with one decimal; `n/a` for None and NaN.

    >>> percent(0.4567), percent(None)
    ('45.7', 'n/a')
    """
    return ABSENT if value is None or value != value else shown(value, "percent")


def bounds(
    low: float | None, high: float | None, *, few: bool = False, style: NumberStyle = "percent"
) -> str:
    """Format an interval, with a mark if it has few tasks; empty without one.

    >>> bounds(0.41, 0.519), bounds(-0.1, 0.25, few=True, style="points"), bounds(None, None)
    ('[41.0, 51.9]', '[-10.0, +25.0]*', '')
    """
    if low is None or high is None or low != low or high != high:
        return ""
    return f"[{shown(low, style)}, {shown(high, style)}]{FEW_MARK if few else ''}"


def interval_text(interval: Interval | None) -> str:
    """Format the interval of an estimate by `bounds`."""
    return "" if interval is None else bounds(interval.low, interval.high, few=interval.few)


def estimate_cell(estimate: Estimate) -> Cell:
    """Return a rate with its interval; as text, `46.4 [41.0, 51.9]`."""
    return Cell(percent(estimate.value), interval_text(estimate.interval))


def counted(number: int, thing: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "task"), counted(12040, "step")
    ('1 task', '12,040 steps')
    """
    return f"{number:,} {thing}" + ("" if number == 1 else "s")
