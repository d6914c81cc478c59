"""Requests that a provider answers within a day, in batches: a module per provider.

A batch is a file or body of lines, one request each; its results are lines, too, in any order.
Nothing here waits or tries again: the engine owns time.
"""

from __future__ import annotations

from dataclasses import dataclass

from adapters.options import Count as AtLeastOne
from adapters.options import LeafSettings
from adapters.options import session_setting as _running


@dataclass(frozen=True, kw_only=True)
class BatchSettings(LeafSettings):
    """Settings of waiting for batches."""

    wait: bool = _running(
        False,
        "With --tier batch: wait until everything is answered, instead of ending with exit code 3.",
        needs=("--tier batch",),
    )
    queue_tokens: AtLeastOne | None = _running(
        None,
        "With --tier batch: prompt tokens that the provider lets wait at a time. Default: what it "
        "is known to allow.",
        metavar="N",
        needs=("--tier batch",),
    )
