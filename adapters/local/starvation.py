"""Measures the time that a model had room in a batch for a call that was not ready."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Starvation:
    """Seconds of a session with a model that is asked in batches.

    starved_s: with fewer batches in flight than the adapter takes although work remained, counted
        from the first batch to the last.
    idle_s: the part of `starved_s` with no batch in flight.
    first_s: until the first batch, while pages and pictures were prepared.
    total_s: from the first dialogue to the end of the last.
    batches: how many were sent.
    rows: calls in all of them.
    """

    starved_s: float = 0.0
    idle_s: float = 0.0
    first_s: float = 0.0
    total_s: float = 0.0
    batches: int = 0
    rows: int = 0

    @property
    def share(self) -> float:
        """`starved_s` as a share of the time since the first batch; 0 before it."""
        return _share(self.starved_s, self.total_s - self.first_s)

    @property
    def text(self) -> str:
        """The measurement as a line for the user.

        >>> Starvation(starved_s=4.0, idle_s=1.0, total_s=100.0, batches=4, rows=14).text
        'batches: 4, 3.5 calls each on average; no next batch was ready 4.0% of the time, nothing at all ran 1.0%'
        """  # noqa: E501 - a line of the output
        rows = self.rows / self.batches if self.batches else 0.0
        return (
            f"batches: {self.batches}, {rows:.1f} calls each on average; no next batch was ready "
            f"{self.share:.1%} of the time, nothing at all ran {self.idle_share:.1%}"
        )

    def plain(self) -> dict[str, float]:
        """Return seconds, shares and counts as JSON."""
        return {
            "starved_s": round(self.starved_s, 3),
            "idle_s": round(self.idle_s, 3),
            "first_s": round(self.first_s, 3),
            "total_s": round(self.total_s, 3),
            "starved_share": round(self.share, 4),
            "idle_share": round(self.idle_share, 4),
            "batches": self.batches,
            "rows": self.rows,
        }

    @property
    def idle_share(self) -> float:
        """`idle_s` as a share of the same time."""
        return _share(self.idle_s, self.total_s - self.first_s)


class StarvationClock:
    """Adds up the times of `Starvation`. What `note` says holds until the next `note`."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._since: float | None = None
        self._under_way = 0
        self._remains = False
        self._starved = self._idle = self._first = self._total = 0.0
        # Since the last batch. It counts only if another batch follows.
        self._perhaps_starved = self._perhaps_idle = 0.0
        self._batches = self._rows = 0

    def note(self, now: float, under_way: int, remains: bool) -> None:
        """State how many batches are in flight from `now` on, and whether work remains."""
        if self._since is None and not remains and not under_way:
            return  # No dialogue has been opened yet.
        past = 0.0 if self._since is None else now - self._since
        self._total += past
        if not self._batches:
            self._first += past
        elif self._remains and self._under_way < self._slots:
            self._perhaps_starved += past
            self._perhaps_idle += 0.0 if self._under_way else past
        self._since, self._under_way, self._remains = now, under_way, remains

    def sent(self, rows: int) -> None:
        """Count a batch of `rows` calls that is being sent, after a `note` for the time so far."""
        self._starved += self._perhaps_starved
        self._idle += self._perhaps_idle
        self._perhaps_starved = self._perhaps_idle = 0.0
        self._batches += 1
        self._rows += rows

    def read(self) -> Starvation:
        """Return the sums up to the last `note`."""
        return Starvation(
            self._starved, self._idle, self._first, self._total, self._batches, self._rows
        )


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
