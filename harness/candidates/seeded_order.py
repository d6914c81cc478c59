"""The order that a seed gives to the candidates of a row.

Candidates are ranked by hash, not drawn from a random generator. So the smaller of two sets is
part of the larger, and nothing about them depends on which rows came before, on the order in which
a row stores its candidates, or on a library's version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

POSITIVE, NEGATIVE, ORDER = "positive", "negative", "order"


class Ranking:
    """Ranks node ids of one step under a seed.

    The key of an id is the SHA-256 of seed, task, step, label and id, joined by newlines; the label
    says what the rank is for, so that ranks for different uses have nothing to do with each other.
    """

    __slots__ = ("_prefix",)

    def __init__(self, seed: int, task_id: str, action_uid: str) -> None:
        self._prefix = f"{seed}\n{task_id}\n{action_uid}\n"

    def sorted(self, label: str, ids: Iterable[str]) -> list[str]:
        """The distinct ids by ascending key."""
        start = hashlib.sha256(f"{self._prefix}{label}\n".encode())

        def key(node_id: str) -> bytes:
            hashed = start.copy()
            hashed.update(node_id.encode())
            return hashed.digest()

        return sorted(set(ids), key=key)
