"""How many calls may be under way: the adapter's limit, less while the provider is overrun.

Additive increase, multiplicative decrease, as in congestion control. The state knows no clock;
times are handed in.
"""

from __future__ import annotations

from adapters.contract import FaultKind

FIRST = 4
OVERRUN: frozenset[FaultKind] = frozenset(("rate_limit", "timeout"))


class Limiter:
    """Grows by one per reply up to the first sign of overload, then by one per round of replies.

    A sign of overload halves the limit, once for all calls that were sent before the last halving:
    a hundred refusals that come back together are one piece of news.
    """

    def __init__(self, ceiling: int) -> None:
        if ceiling < 1:
            raise ValueError(f"at least one call must be allowed at a time, not {ceiling}")
        self.ceiling = ceiling
        self.resumes_at = float("-inf")
        self._width = float(min(FIRST, ceiling))
        self._overrun = False
        self._sent = 0
        self._halved_at = 0

    @property
    def limit(self) -> int:
        """How many calls may be under way now; at least 1, at most the ceiling."""
        return int(self._width)

    def admits(self, under_way: int, now: float) -> bool:
        """Whether another call may start."""
        return under_way < self.limit and now >= self.resumes_at

    def sent(self) -> int:
        """A call starts. Returns the ticket to report its end with."""
        self._sent += 1
        return self._sent

    def succeeded(self) -> None:
        """A reply came."""
        step = 1 / self._width if self._overrun else 1.0
        self._width = min(float(self.ceiling), self._width + step)

    def failed(self, ticket: int, kind: FaultKind, retry_after_s: float | None, now: float) -> None:
        """A call failed. A wait that the server asks for holds for all calls."""
        if kind == "rate_limit" and retry_after_s:
            self.resumes_at = max(self.resumes_at, now + retry_after_s)
        if kind in OVERRUN and ticket > self._halved_at:
            self._overrun = True
            self._width = max(1.0, self._width / 2)
            self._halved_at = self._sent
