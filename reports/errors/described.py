"""Whether round 1 described the target although round 2 picked another element.

The rule, in this order:

1. Of the first reply only what follows the last line that begins with "Next Action" counts (a
   heading that SeeAct's prompt asks for), all of it without such a line.
2. A quoted string ("...", “...”, '...', `...`) that is the target's wording or a part of it, and
   not of the chosen element's, speaks for the target; the other way round it speaks against it.
   If one side has more of such strings, it wins.
3. Otherwise words decide that only one of the two has. A word weighs 1/n when n choices have it;
   each side gets the share of its weight that the reply mentions. The target wins with the larger
   share, if one of its mentioned words is rare: in no more than a fifth of the choices, or in one.
   Names of actions ("select") do not count as mentioned.

Wording means the words of a choice without tag names and numbers of nodes. It is a rule about
words: a description in other words ("the magnifying glass") is not recognised.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from harness.runs import CallRecord, ChoiceRecord

FIRST_ROUND = "round-1"
ACTIONS = frozenset({"click", "type", "select", "press", "enter"})
RARE = 5
"""A word is rare when at most one in so many choices has it."""

_NEXT = re.compile(r"^[^a-z\n]*next\s+action\b", re.IGNORECASE | re.MULTILINE)
_TAG = re.compile(r"</?[\w:-]+|\b(?:bn)?id=[^\s<>)]+|/?>")
_WORD = re.compile(r"[^\W_]+")
_QUOTED = re.compile(
    r"\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|`([^`\n]{1,200})`|(?<!\w)'([^'\n]{1,200})'(?!\w)"
)
_LONGEST = 20_000


def described_target(
    calls: Sequence[CallRecord],
    target: ChoiceRecord,
    chosen: ChoiceRecord,
    choices: Sequence[ChoiceRecord],
) -> bool:
    """Whether the reply of round 1 is about `target` rather than `chosen`."""
    reply = first_reply(calls)
    if reply is None:
        return False
    right, wrong = wording(target.text), wording(chosen.text)
    if right == wrong:
        return False
    quotes = [words(quote) for quote in quoted(reply)]
    for_right = sum(_within(q, right) and not _within(q, wrong) for q in quotes)
    for_wrong = sum(_within(q, wrong) and not _within(q, right) for q in quotes)
    if for_right != for_wrong:
        return for_right > for_wrong
    listed = Counter(word for choice in choices for word in set(wording(choice.text)))
    said = set(words(reply)) - ACTIONS
    only_right, only_wrong = set(right) - set(wrong), set(wrong) - set(right)
    limit = max(1, len(choices) // RARE)
    if not any(listed[word] <= limit for word in only_right & said):
        return False
    return _share(only_right, said, listed) > _share(only_wrong, said, listed)


def first_reply(calls: Sequence[CallRecord]) -> str | None:
    """What round 1 says about the next action; None for protocols with one round only."""
    text = next((call.reply.text for call in calls if call.place == FIRST_ROUND), None)
    if text is None or len({call.place for call in calls}) < 2:
        return None
    heads = list(_NEXT.finditer(text))
    return text[heads[-1].end() if heads else 0 :][:_LONGEST]


def wording(choice_text: str) -> list[str]:
    """The words of a choice as listed, without markup.

    >>> wording("<button id=12 submit> Save address </button>")
    ['submit', 'save', 'address']
    """
    return words(_TAG.sub(" ", choice_text))


def words(text: str) -> list[str]:
    """Lower-cased words and numbers."""
    return _WORD.findall(text.casefold())


def quoted(text: str) -> list[str]:
    """The strings in quotation marks."""
    return [next(filter(None, match.groups()), "") for match in _QUOTED.finditer(text)]


def _within(part: list[str], whole: list[str]) -> bool:
    """Whether the words of `part` stand in `whole` side by side."""
    size = len(part)
    return size > 0 and any(whole[i : i + size] == part for i in range(len(whole) - size + 1))


def _share(own: set[str], said: set[str], listed: Counter[str]) -> Fraction:
    # Fractions, so that no order of summation decides a tie.
    weights = {word: Fraction(1, max(1, listed[word])) for word in own}
    total = sum(weights.values(), Fraction(0))
    said_of = sum((weight for word, weight in weights.items() if word in said), Fraction(0))
    return said_of / total if total else total
