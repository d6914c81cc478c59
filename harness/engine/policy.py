"""Limits of a session."""

from __future__ import annotations

from dataclasses import dataclass, field

from adapters.conversation import Tier
from harness.engine.retries import RetryPolicy

_FIRST_CALL = RetryPolicy(attempts=3, patience_s=60.0)


@dataclass(frozen=True, slots=True)
class EnginePolicy:
    """Limits of a session; none of them changes a reply.

    concurrency: most calls in flight; None takes the adapter's limit. The engine stays below it
        while the provider reports overload.
    open_dialogues: most dialogues in memory; None takes the adapter's limit, or else enough to keep
        calls coming.
    retry: for every call of a dialogue.
    first_call: for the preflight call, which keeps a user waiting who may have mistyped an address.
    call_timeout_s: limit for a single attempt, and for an action in an environment; None for
        adapters that answer after hours.
    failures_in_a_row: stop the run after this many calls that failed for good without a reply in
        between, or environments without an action.
    max_cost: US dollars, over all sessions of a run.
    environment_trials: trials of a dialogue whose environment fails; after the last one its unit is
        settled as one that does not count.
    settle_failures: settle steps without a reply as `no_reply` instead of leaving them unsettled.
    tiers: the provider's tiers that calls of the model under test are sent on, see `TierChoice`;
        none leaves them to the provider.
    """

    concurrency: int | None = None
    open_dialogues: int | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    first_call: RetryPolicy = _FIRST_CALL
    call_timeout_s: float | None = 600.0
    failures_in_a_row: int = 25
    max_cost: float | None = None
    environment_trials: int = 2
    settle_failures: bool = False
    tiers: tuple[Tier, ...] = ()
