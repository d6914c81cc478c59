"""How near a wrong value came to the right one."""

from __future__ import annotations

LONGEST = 500
"""Values are compared up to this many characters: the time grows with the product of lengths."""


def edit_distance(first: str, second: str) -> float:
    """Levenshtein distance over the longer length: 0 for the same text, 1 for nothing in common.

    Case and the width of blanks do not count.

    >>> edit_distance("10204", "10203"), edit_distance("New  York", "new york")
    (0.2, 0.0)
    """
    a, b = (" ".join(text.casefold().split())[:LONGEST] for text in (first, second))
    if a == b:
        return 0.0
    return _levenshtein(a, b) / max(len(a), len(b))


def _levenshtein(a: str, b: str) -> int:
    above = list(range(len(b) + 1))
    for row, sign in enumerate(a, 1):
        line = [row]
        for column, other in enumerate(b, 1):
            swap = above[column - 1] + (sign != other)
            line.append(min(above[column] + 1, line[-1] + 1, swap))
        above = line
    return above[-1]
