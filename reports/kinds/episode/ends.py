"""The end of an episode, from its prediction."""

from __future__ import annotations

from typing import Any, NamedTuple

from harness.runs import Unit


class End(NamedTuple):
    """Return the end of an episode; None if it is not recorded.

    how: one of the ends in `parsers.live`, or the page's own words.
    steps: how many it took.
    reward: as the environment gave it.
    """

    how: str
    steps: int | None
    reward: float | None


def ended(record: Unit[Any]) -> End | None:
    """Return the end of an episode; None without a final outcome that counts."""
    said = record.prediction
    if said is None or not record.settled or record.invalid is not None:
        return None
    how, steps, reward = (said.parsed.get(name) for name in ("end", "steps", "reward"))
    return End(
        how if isinstance(how, str) and how else str(said.status),
        steps if isinstance(steps, int) and not isinstance(steps, bool) else None,
        float(reward) if isinstance(reward, int | float) and not isinstance(reward, bool) else None,
    )
