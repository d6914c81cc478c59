"""What the user may set about the driving of a run; none of it changes a reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from adapters.contract import Request
from adapters.conversation import Usage


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to go on after a `Fault`.

    `attempts` counts every sending of a call, the first included. `patience_s` bounds the time from
    the first failure to the start of the last try. Waits double from `first_wait_s` up to
    `longest_wait_s`, half of each drawn by chance so that callers spread out.
    """

    attempts: int = 8
    patience_s: float = 300.0
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0


@dataclass(frozen=True, slots=True)
class EnginePolicy:
    """Limits of a session.

    `concurrency` bounds the calls under way (None: what the adapter declares); the engine stays
    below it while the provider says that it is too fast. `first_call` is for the pre-flight call: a
    user waits for it who may have mistyped an address. `open_dialogues` bounds the dialogues in
    memory (None: what the adapter declares, else enough to keep calls coming). `call_timeout_s`
    ends a single try (None: never, for adapters that answer after hours). The run stops after
    `failures_in_a_row` calls that failed for good with no reply in between. `max_cost` is in US
    dollars, over all sessions of a run. `settle_failures` closes steps without a reply as
    `no_reply` instead of leaving them unsettled. `linger_s` is how long an unfilled batch waits for
    more company after the last that came.
    """

    concurrency: int | None = None
    open_dialogues: int | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    first_call: RetryPolicy = RetryPolicy(attempts=3, patience_s=60.0)
    call_timeout_s: float | None = 600.0
    failures_in_a_row: int = 25
    max_cost: float | None = None
    settle_failures: bool = False
    linger_s: float = 0.25


@dataclass(frozen=True, slots=True)
class Pricing:
    """What calls cost, in US dollars: afterwards (None when unknown) and at most, beforehand."""

    cost_of: Callable[[Usage], float | None]
    upper_cost: Callable[[Request], float]
