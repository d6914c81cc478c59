"""Whether to try a failed call again, and after how long: a decision over plain values."""

from __future__ import annotations

from harness.engine.policy import RetryPolicy


def wait_before_retry(
    policy: RetryPolicy,
    attempts: int,
    elapsed_s: float,
    retry_after_s: float | None,
    chance: float,
) -> float | None:
    """Seconds to wait before the next try, or None to give up.

    `attempts` have been made, the first failure was `elapsed_s` seconds ago, `chance` is a random
    number from 0 to 1. What the server asks for is a lower bound; when it asks for more than the
    patience allows, it is not asked again too early but given up.

    >>> wait_before_retry(RetryPolicy(), 3, 0.0, None, 1.0)
    4.0
    """
    if attempts >= policy.attempts:
        return None
    # Far exponents overflow a float long after the wait has reached its bound.
    doublings = min(attempts - 1, 60)
    longest = min(policy.longest_wait_s, policy.first_wait_s * 2.0**doublings)
    wait = longest * (1 + chance) / 2
    if retry_after_s is not None and retry_after_s > 0:
        # Chance on top as well: a crowd that was sent away together must not come back together.
        wait = retry_after_s + min(longest, retry_after_s) * chance / 4
    return wait if elapsed_s + wait <= policy.patience_s else None
