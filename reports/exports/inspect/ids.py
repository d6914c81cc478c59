"""Ids of logs, samples and messages: the same for the same run whenever it is exported."""

from __future__ import annotations

import hashlib

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
"""The 57 characters of inspect_ai's ids; 22 make one."""
LENGTH = 22


def id_of(*parts: object) -> str:
    """Return an id in the form of inspect_ai's own, from anything whose text is always the same.

    >>> id_of("run", 1) == id_of("run", 1), len(id_of("run", 2)), id_of("run", 1) == id_of("run1")
    (True, 22, False)
    """
    content = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    number = int.from_bytes(hashlib.sha256(content).digest(), "big")
    found = ""
    for _ in range(LENGTH):
        number, rest = divmod(number, len(ALPHABET))
        found += ALPHABET[rest]
    return found
