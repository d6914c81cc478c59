"""Option letters: the only place that defines how choices are lettered.

SeeAct letters its textual choices like the columns of a spreadsheet: A to Z, then AA, AB and so on,
with at most two letters. The None option is lettered too, after the last choice (SeeAct) or before
the first one (MindAct).
"""

from __future__ import annotations

_BASE = 26
_LAST = _BASE + _BASE * _BASE - 1


def letter(index: int) -> str:
    """Return the letter of the option at `index`, counted from zero.

    Examples:
        >>> [letter(i) for i in (0, 25, 26, 27, 51, 52, 701)]
        ['A', 'Z', 'AA', 'AB', 'AZ', 'BA', 'ZZ']

    Raises `ValueError` for an index that is negative or beyond ZZ.
    """
    if not 0 <= index <= _LAST:
        raise ValueError(f"no option letter for index {index}: letters run from 0 (A) to 701 (ZZ)")
    if index < _BASE:
        return chr(ord("A") + index)
    first, second = divmod(index - _BASE, _BASE)
    return chr(ord("A") + first) + chr(ord("A") + second)


def index_of(letters: str) -> int:
    """Return the zero-based index of an option letter, the inverse of `letter`.

    Examples:
        >>> index_of("A"), index_of("AA"), index_of("BA")
        (0, 26, 52)

    Raises `ValueError` for anything but one or two capitals of the English alphabet.
    """
    if not is_letter(letters):
        raise ValueError(f"not an option letter: {letters!r} (expected A to Z or AA to ZZ)")
    index = 0
    for capital in letters:
        index = index * _BASE + ord(capital) - ord("A") + 1
    return index - 1


def is_letter(text: str) -> bool:
    """Return True if `text` is an option letter, A to ZZ."""
    return 1 <= len(text) <= 2 and all("A" <= capital <= "Z" for capital in text)


def letters_for(count: int, none_letter: str | None = None) -> tuple[str, ...]:
    """Return the letters of `count` choices in listed order, skipping the one that means None.

    Examples:
        >>> letters_for(3, "D"), letters_for(3, "A")
        (('A', 'B', 'C'), ('B', 'C', 'D'))

    Raises `ValueError` if the letters run out.
    """
    taken = -1 if none_letter is None else index_of(none_letter)
    return tuple(letter(i + 1 if 0 <= taken <= i else i) for i in range(count))
