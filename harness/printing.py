"""Text by others (pages, models, servers, file names) on its way to a terminal."""

from __future__ import annotations

import re

_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with control characters, and those that turn its direction, made visible.

    A terminal obeys them: it can be cleared, renamed or made to show something else.

    >>> printable("a\\x1b[2J") == "a\\N{REPLACEMENT CHARACTER}[2J"
    True
    """
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)
