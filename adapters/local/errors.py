"""Turns errors of other libraries into one line for the user."""

from __future__ import annotations

import re

LONGEST = 300
"""Characters of an error of another library that are shown."""
_SENTENCE = re.compile(r"[.!?](?=\s)")


def line(error: BaseException) -> str:
    """Return an error in one line: its first sentences, as many as fit into `LONGEST` characters.

    >>> line(ValueError("No such backend. See\\nhttps://example.org. " + 300 * "x"))
    'No such backend. See https://example.org.'
    """
    text = " ".join(str(error).split()) or type(error).__name__
    if len(text) <= LONGEST:
        return text
    ends = [match.end() for match in _SENTENCE.finditer(text[:LONGEST])]
    return text[: ends[-1]].rstrip() if ends else text[: LONGEST - 4].rpartition(" ")[0] + " ..."


def model_failed(device: str, error: BaseException) -> str:
    """Explain an error that a model raised when it was called."""
    return f"the model failed on {device}: {type(error).__name__}: {line(error)}"
