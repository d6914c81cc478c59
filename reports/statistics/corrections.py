"""When many models are compared, one of them looks better by chance: adjusted p values.

`holm` keeps the chance of any false claim below the level (Holm 1979, *A simple sequentially
rejective multiple test procedure*), `bh` the expected share of false claims among the claims made
(Benjamini and Hochberg 1995), which is less strict. Both hand back values to be read like p.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

Correction = Literal["holm", "bh", "none"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)


def adjust(p_values: Sequence[float], correction: Correction = "holm") -> list[float]:
    """The p values adjusted, in the order given.

    Raises `ValueError` for an unknown correction, or a value that is no probability.
    """
    ways: dict[str, Callable[[Sequence[float]], list[float]]] = {
        "holm": holm,
        "bh": benjamini_hochberg,
        "none": list,
    }
    if correction not in ways:
        raise ValueError(f"unknown correction {correction!r}: one of {', '.join(CORRECTIONS)}")
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("p values lie between 0 and 1")
    return ways[correction](p_values)


def holm(p_values: Sequence[float]) -> list[float]:
    """The smallest times n, the next times n - 1 and so on, never less than one before it.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """The one of rank r times n / r, never more than one after it.

    >>> [round(p, 3) for p in benjamini_hochberg([0.01, 0.04, 0.03])]
    [0.03, 0.04, 0.04]
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place], reverse=True)
    adjusted = [0.0] * len(p_values)
    lowest = 1.0
    for after, place in enumerate(order):
        lowest = min(lowest, p_values[place] * len(order) / (len(order) - after))
        adjusted[place] = lowest
    return adjusted
