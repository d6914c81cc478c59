"""How long a model had room for a batch that was not there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Starvation:
    """Seconds of a session with a model that is asked in batches.

    `starved_s` passed with fewer batches under way than the adapter takes although work remained,
    `idle_s` of them with none at all; both from the first batch to the last. `first_s` is the time
    until the first, in which pages and pictures were prepared. `total_s` is all of it, from the
    first dialogue to the end of the last.
    """

    starved_s: float = 0.0
    idle_s: float = 0.0
    first_s: float = 0.0
    total_s: float = 0.0
    batches: int = 0
    rows: int = 0

    @property
    def share(self) -> float:
        """`starved_s` of the time since the first batch; 0 before it."""
        return _share(self.starved_s, self.total_s - self.first_s)

    @property
    def text(self) -> str:
        """For a reader, in a line.

        >>> Starvation(starved_s=4.0, idle_s=1.0, total_s=100.0, batches=4, rows=14).text
        'batches: 4, 3.5 rows on average; no next batch ready for 4.0% of the time, nothing at all to compute for 1.0%'
        """  # noqa: E501 - a line of the output
        rows = self.rows / self.batches if self.batches else 0.0
        return (
            f"batches: {self.batches}, {rows:.1f} rows on average; no next batch ready for "
            f"{self.share:.1%} of the time, nothing at all to compute for {self.idle_share:.1%}"
        )

    def plain(self) -> dict[str, float]:
        """Sums and shares, as JSON."""
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
        """`idle_s` of the same."""
        return _share(self.idle_s, self.total_s - self.first_s)


class StarvationClock:
    """Adds up. Times are handed in; what is true at one of them holds until the next."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._since: float | None = None
        self._under_way = 0
        self._remains = False
        self._starved = self._idle = self._first = self._total = 0.0
        # Of the time since the last batch: what comes after the very last one was no waiting.
        self._perhaps_starved = self._perhaps_idle = 0.0
        self._batches = self._rows = 0

    def note(self, now: float, under_way: int, remains: bool) -> None:
        """From now on so many batches are under way, and work remains beside them or not."""
        if self._since is None and not remains and not under_way:
            return  # nothing was opened so far
        past = 0.0 if self._since is None else now - self._since
        self._total += past
        if not self._batches:
            self._first += past
        elif self._remains and self._under_way < self._slots:
            self._perhaps_starved += past
            self._perhaps_idle += 0.0 if self._under_way else past
        self._since, self._under_way, self._remains = now, under_way, remains

    def sent(self, rows: int) -> None:
        """A batch goes; `note` comes before it for the time until now."""
        self._starved += self._perhaps_starved
        self._idle += self._perhaps_idle
        self._perhaps_starved = self._perhaps_idle = 0.0
        self._batches += 1
        self._rows += rows

    def read(self) -> Starvation:
        """The sums up to the last note."""
        return Starvation(
            self._starved, self._idle, self._first, self._total, self._batches, self._rows
        )


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
