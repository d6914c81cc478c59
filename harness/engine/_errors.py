"""How a run can end early, and what became of a call that failed."""

from __future__ import annotations

from collections.abc import Iterator

from adapters.contract import Fatal, FaultKind
from harness.runs import RunError


class Stopped(Exception):
    """The run ended before its last step, with everything so far on record.

    Starting the same run again goes on from there.
    """


class CostLimitReached(Stopped):
    """The next call might have passed the cost limit."""


class TooManyFailures(Stopped):
    """One call after the other failed for good; there is no point in trying the rest."""


class ProtocolError(Exception):
    """A protocol raised, or asked in a way it must not. The message names the step."""


class ReplayMismatch(ProtocolError):
    """A dialogue that was played back asked something else than is on record."""


class GaveUp(Exception):
    """A call got no reply in all its tries; its step stays unsettled."""

    def __init__(self, kind: FaultKind, attempts: int, message: str) -> None:
        tries = "1 try" if attempts == 1 else f"{attempts} tries"
        super().__init__(f"{kind} after {tries}: {message}")
        self.kind = kind


def chief(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one exception of a group to go on with: what ends a run goes before what ends a step."""
    return max(_leaves(group), key=_rank)


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _rank(error: BaseException) -> int:
    for rank, kind in enumerate((GaveUp, Stopped, Fatal, RunError, ProtocolError)):
        if isinstance(error, kind):
            return rank
    return 9
