"""The order that a seed gives to the candidates of a step.

Candidates are sorted by hash, not drawn from a random generator. The choices for 5 distractors are
therefore among those for 20, and nothing depends on the rows before, on the order in which a row
stores its candidates, or on the version of a library.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

POSITIVE, NEGATIVE, ORDER = "positive", "negative", "order"


class SeededOrder:
    """Sorts node ids of one step by seed.

    The key of an id is the SHA-256 of seed, task, step, label and id, joined by newlines. The label
    names the use of the order: orders for different uses are independent.
    """

    __slots__ = ("_prefix",)

    def __init__(self, seed: int, task_id: str, action_uid: str) -> None:
        self._prefix = f"{seed}\n{task_id}\n{action_uid}\n"

    def sorted(self, label: str, ids: Iterable[str]) -> list[str]:
        """Return the distinct ids by ascending key."""
        start = hashlib.sha256(f"{self._prefix}{label}\n".encode())

        def key(node_id: str) -> bytes:
            hashed = start.copy()
            hashed.update(node_id.encode())
            return hashed.digest()

        return sorted(set(ids), key=key)
