"""Match the words of a task or question with the lines of a picture."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from harness.ocr.eyes import TextLine
from harness.policies.words import contains, phrases, words

LENGTH_POWER = 0.5
QUOTED = 4.0
"""Points of a line that says what the task has in quotes."""
PAIR = 0.5
"""Points of two words that follow each other in both, as a share of theirs."""
REPEATED = 0.25
"""Share that is left of a line's points where an earlier action has dealt with it."""
ENOUGH = 0.34
"""Least share of a question's words on a line for an answer on it or next to it."""


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


def option(question: str, options: Sequence[str], lines: Sequence[TextLine]) -> int:
    """Return the number of the option that was read most completely; of several, the first."""
    read = words_read(lines)
    asked = set(words(question))

    def share(text: str) -> tuple[float, float]:
        inside = words(text)
        if not inside:
            return 0.0, 0.0
        return sum(one in read for one in inside) / len(inside), sum(one in asked for one in inside)

    return max(range(len(options)), key=lambda number: share(options[number]))


def nearest_letter(question: str, lines: Sequence[TextLine], letters: str) -> str:
    """Return the letter drawn nearest to the line that fits a question; "" if none was read."""
    tags = [line for line in lines if len(line.text) == 1 and line.text in letters]
    target = best(question, [line for line in lines if len(line.text) > 1])
    if not tags:
        return ""
    if target is None:
        return tags[0].text

    def away(tag: TextLine) -> float:
        x, y = tag.middle
        across = max(target.left - x, 0, x - target.right)
        return math.hypot(across, max(target.top - y, 0, y - target.bottom))

    return min(tags, key=away).text


def answer(question: str, lines: Sequence[TextLine], fits: Callable[[str], bool] = bool) -> str:
    """Return the text next to what a question asks for; "" where too little of it was read.

    A line `Opening hours: 9 to 5` answers with what follows its colon, any other with the line
    nearest to its right, or else below. A question for a heading gets the tallest line; one that
    quotes two lines what is next to the first and below the second; one that quotes a line what
    is next to it. `fits` says which lines may be next to one.
    """
    quoted = [one.text for one in phrases(question, ()) if one.kind == "quoted"]
    if quoted:
        named = [_saying(text, lines) for text in quoted[:2]]
        row, column = named[0], named[-1]
        if row is None or column is None:
            return ""
        if row is not column:
            return _crossing(row, column, lines)
        return _next_to(row, [row, *(one for one in lines if fits(one.text))]).text
    wanted = [word for word in words(question) if word not in ASKING]
    if not lines:
        return ""
    if not wanted or HEADING & set(words(question)):
        return max(lines, key=lambda line: line.bottom - line.top).text
    target = best(" ".join(wanted), lines)
    shared = set(wanted) & set(words(target.text)) if target is not None else ()
    if target is None or len(shared) < ENOUGH * len(set(wanted)):
        return ""
    _, colon, value = target.text.partition(":")
    if colon and value.strip():
        return value.strip()
    if set(words(target.text)) - set(wanted):
        rest = [word for word in target.text.split() if not set(words(word)) & set(wanted)]
        if any(re.search(r"\d", word) for word in rest):
            return " ".join(rest)
    return _next_to(target, lines).text


def _saying(text: str, lines: Sequence[TextLine]) -> TextLine | None:
    """Return the shortest line with the words of a text; None if none has them."""
    found = [line for line in lines if contains(words(line.text), words(text))]
    return min(found, key=lambda line: len(line.text), default=None)


def _crossing(row: TextLine, column: TextLine, lines: Sequence[TextLine]) -> str:
    """Return the line of a row that lies below the heading of a column; "" if none does."""
    beside = [
        one for one in lines if one not in (row, column) and row.top <= one.middle[1] <= row.bottom
    ]
    nearest = min(beside, key=lambda one: abs(one.left - column.left), default=None)
    return "" if nearest is None else nearest.text


ASKING = frozenset(words("what which who when where how does do page say show text name given"))
HEADING = frozenset(words("heading title headline"))


def _next_to(line: TextLine, lines: Sequence[TextLine]) -> TextLine:
    tall = line.bottom - line.top

    def away(other: TextLine) -> float:
        right = other.left - line.right
        if right >= -tall and abs(other.middle[1] - line.middle[1]) < tall / 2:
            return max(0.0, right)
        below = other.top - line.bottom
        if below >= -tall / 2 and other.left < line.right and other.right > line.left:
            return 2 * max(0.0, below) + tall
        return math.inf

    others = [one for one in lines if one is not line]
    nearest = min(others, key=away, default=line)
    return line if away(nearest) == math.inf else nearest
