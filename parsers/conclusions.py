"""Find out which of several mentions a text comes to, where it weighs them."""

from __future__ import annotations

from collections.abc import Sequence

from parsers.lexicon import BEING, BEST, CHOOSING, HEDGING, WEIGHED
from parsers.wording import ENDING, Mention, Token

_LONGEST_SENTENCE = 80
_SPEAKERS = frozenset(("i", "i'd", "i'll", "we", "we'll", "let's"))
_CONSEQUENT = frozenset(("so", "therefore", "thus", "hence"))
_AFTERWARDS = frozenset(("then", "next", "afterwards", "later", "second", "secondly"))


def concluded(tokens: Sequence[Token], mentions: Sequence[Mention]) -> int | None:
    """Return which of several mentions a text comes to; None if it
    leaves them open.

    The last sentence with words of conclusion counts if it names one thing, and if no later
    sentence with another mention hedges.

    >>> from parsers.wording import tokens_of
    >>> tokens = tokens_of("C is a menu. The best match is H.")
    >>> concluded(tokens, [Mention(0, "C"), Mention(8, "H")])
    1
    """
    end = len(mentions)
    while end:
        place = mentions[end - 1].place
        first, last = _sentence(tokens, place)
        begin = end
        while begin and mentions[begin - 1].place >= first:
            begin -= 1
        words = [token.low for token in tokens[first:last]]
        hedges = not HEDGING.isdisjoint(words) or words[-1] == "?"
        if hedges or words[0] in _AFTERWARDS:
            return None
        if _concludes(words):
            return end - 1 if len({mention.name for mention in mentions[begin:end]}) == 1 else None
        end = begin
    return None


def _sentence(tokens: Sequence[Token], place: int) -> tuple[int, int]:
    """Return the span of the sentence around a place, bounded on both sides."""
    first, last = place, place + 1
    while first and not _begins(tokens, first) and place - first < _LONGEST_SENTENCE:
        first -= 1
    while not _begins(tokens, last) and last - place < _LONGEST_SENTENCE:
        last += 1
    return first, last


def _begins(tokens: Sequence[Token], place: int) -> bool:
    """Return True if a sentence, or a clause that concludes, begins at a place."""
    if place >= len(tokens) or tokens[place - 1].low in ENDING:
        return True
    further = tokens[place + 1].low if place + 1 < len(tokens) else ""
    return tokens[place].low in _CONSEQUENT and further != "that"


def _concludes(words: Sequence[str]) -> bool:
    if not WEIGHED.isdisjoint(words):
        return True
    if not _SPEAKERS.isdisjoint(words) and not CHOOSING.isdisjoint(words):
        return True
    return any(word in BEST for word in words) and not BEING.isdisjoint(words)
