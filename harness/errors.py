"""Errors that are the user's to mend: one line that says what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SHOWN = 8


class UserError(Exception):
    """Bad input of any kind. The message is one line; the command line exits with code 2."""


class DataError(UserError):
    """Data that is missing, unreadable or not of the expected form."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """What to write instead of an unknown word: the nearest known one, else some that are known."""
    words = sorted(set(known))
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if not near:
        # Close matches are by letters as written; a difference of case alone should not hide one.
        near = [w for w in words if w.lower() == word.lower()][:1]
    if near:
        return f"did you mean '{near[0]}'?"
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return f"known: {', '.join(words[:_SHOWN]) or 'none'}{more}"
