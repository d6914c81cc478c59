"""Match the words of a task with the lines of a picture."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from harness.ocr.eyes import TextLine
from harness.policies.lexical import contains, phrases, words

LENGTH_POWER = 0.5
QUOTED = 4.0
"""Points of a line that says what the task has in quotes."""
PAIR = 0.5
"""Points of two words that follow each other in both, as a share of theirs."""
REPEATED = 0.25
"""Share that is left of a line's points where an earlier action has dealt with it."""


def best(task: str, lines: Sequence[TextLine], done: Iterable[str] = ()) -> TextLine | None:
    """Return the line that fits a task best, None if no word of the task was read.

    A word counts more the fewer lines have it, and a line less the longer it is. `done` are texts
    that earlier actions dealt with.
    """
    known = [words(line.text) for line in lines]
    frequent = Counter(word for line in known for word in set(line))
    wanted = words(task)
    quoted = [words(one.text) for one in phrases(task, ()) if one.kind == "quoted"]
    dealt = [found for one in done if (found := words(one))]
    pairs = set(pairwise(wanted))

    def points(number: int) -> float:
        inside = known[number]
        rare = {
            word: math.log(1 + len(lines) / frequent[word]) for word in set(inside) & set(wanted)
        }
        found = sum(rare.values())
        found += PAIR * sum(rare[a] + rare[b] for a, b in pairwise(inside) if (a, b) in pairs)
        found = found / math.pow(1 + len(inside), LENGTH_POWER)
        found += QUOTED * sum(bool(one) and one == inside for one in quoted)
        return found * REPEATED if any(contains(one, inside) for one in dealt) else found

    fit = {number: points(number) for number, inside in enumerate(known) if inside}
    chosen = max(fit, key=lambda number: fit[number], default=None)
    return None if chosen is None or fit[chosen] <= 0 else lines[chosen]


def words_read(lines: Iterable[TextLine]) -> set[str]:
    """Return all words of the lines."""
    return {word for line in lines for word in words(line.text)}
