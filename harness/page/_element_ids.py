"""Short ids of capitals for the elements of a page.

AutoWebGLM (Lai et al. 2024) assigns them in order, or at random to keep a model from learning the
element of an id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from itertools import count

_LETTERS = 26
_MOST_OF_TWO = 280


def ordered_id(index: int) -> str:
    """Return the id of the element at `index`, counted from zero.

    >>> [ordered_id(index) for index in (0, 25, 26, 701, 702, 18277, 18278)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA', 'ZZZ', 'AAAA']
    """
    letters, number = "", index + 1
    while number > 0:
        number, place = divmod(number - 1, _LETTERS)
        letters = chr(ord("A") + place) + letters
    return letters


def random_ids(seed: int | str, taken: Collection[str] = ()) -> Iterator[str]:
    """Yield ids by hash of `seed`, without end and without repetition; none of them is `taken`.

    They have two letters, and three as soon as more than 280 are in use. More letters follow before
    half of all ids of a length are used up, which keeps the search for the next one short.
    """
    used = set(taken)
    for number in count():
        length = 2 if len(used) <= _MOST_OF_TWO else 3
        while 2 * len(used) > _LETTERS**length:
            length += 1
        digest = hashlib.sha256(f"{seed}/{number}".encode("utf-8", "surrogatepass")).digest()
        drawn, letters = int.from_bytes(digest, "big"), ""
        for _ in range(length):
            drawn, place = divmod(drawn, _LETTERS)
            letters += chr(ord("A") + place)
        if letters not in used:
            used.add(letters)
            yield letters
