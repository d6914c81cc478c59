"""Recognise option letters in replies to a question with lettered options.

Such a reply does not describe an element by its name, so a capital counts as a letter unless the
words around it make a name or an article of it, and a letter that starts a line hides the next ones
only where they are in a remark.
"""

from __future__ import annotations

from parsers.conclusions import declares
from parsers.letter_tokens import TURNING, LetterTokens
from parsers.lexicon import (
    APPROVING,
    BEING,
    CONCEDING,
    CONDITIONING,
    EQUALLING,
    JOINING,
    NAMES_BEFORE,
    NEGATING,
    OFFERING,
    REASONING,
)
from parsers.sentences import alike, is_all_said
from parsers.wording import ENDING, QUOTES, is_correction

OPENING = QUOTES | frozenset("([*_")
"""Marks that open around a letter."""
# What may follow the letter A, but neither the article nor a pronoun.
_BEHIND_A = (BEING - {"would", "should", "must", "could", "might", "may"}) | frozenset(
    (
        *("it", "best", "better", "wins", "describes", "makes", "captures", "reflects", "applies"),
        *("suits", "shows", "says", "reads", "mentions", "my", "equals", "please", "thanks", "imo"),
        *("gets", "will", "again", "indeed", "all", "only", "alone", "here", "has", "does", "can"),
    )
)
_BEHIND_A |= JOINING | CONDITIONING | REASONING | APPROVING | NEGATING | OFFERING
_BRACKETS = frozenset(")]}>")
_IN_DATA = frozenset("{[,:=")
_UNQUOTED = frozenset("([{*_$")
_PARTING = ENDING | REASONING | CONCEDING | TURNING | frozenset(":(\u2013\u2014-")
_SHORT = 6
_LONGEST_GAP = 40


def is_mentioned(seen: LetterTokens, place: int, name: str) -> bool:
    """Return True if the words around a capital leave no reading but an option's letter.

    Not "vitamin C", "Plan B", "A button", "B Corp", 'a "C"'.
    """
    if seen.tokens[place].text != name or not seen.option_text(name):
        return False
    at = place - 1
    if seen.closing(place) & QUOTES and seen.low(place - 2) not in _IN_DATA:
        opening, function = seen.at(place - 2), seen.at(place - 3)
        called = opening and function and opening.low == "(" and function.end == opening.start
        if not called:
            return False
    while seen.low(at) in _UNQUOTED:
        at -= 1
    leading, following = seen.at(at), seen.at(seen.behind(place))
    if leading is not None and leading.low in ("a", "an"):
        return False
    if leading is not None and leading.word and leading.latin:
        opens = at == 0 or seen.low(at - 1) in ENDING or not seen.tokens[at - 1].word
        if leading.low in NAMES_BEFORE or not (leading.text.islower() or opens):
            return False
    if following is None or not following.word or not following.latin:
        return True
    if seen.closing(place) & _BRACKETS or following.text[-1].isdigit():
        return True
    if name == "I" or (name == "A" and not (leading and leading.text.islower())):
        return following.low in _BEHIND_A or following.low.endswith("ly")
    return following.text.islower() or following.low in ("i", "i'm", "i'd")


def is_remark(seen: LetterTokens, first: int, second: int) -> bool:
    """Return True if a letter is in a remark on the one that starts the line: behind the end of its
    sentence or a word of reasoning, and neither declared, offered, nor said to be as good."""
    if declares(seen.tokens, second):
        return False
    # "B: 50 %, D: 50 %" is one statement twice.
    behind = (seen.at(seen.behind(place)) for place in (first, second))
    one, other = (token.low if token else "" for token in behind)
    sentence = seen.tokens[first : second + _SHORT]
    if (one == other and one not in ENDING | {""}) or not EQUALLING.isdisjoint(
        token.low for token in sentence
    ):
        return False
    offered = {seen.low(at) for at in (*range(second - 4, second), seen.behind(second))}
    if (
        not offered.isdisjoint(OFFERING)
        or alike(seen.tokens, first, second)
        or is_all_said(seen.tokens, second)
    ):
        return False
    return any(token.low in _PARTING for token in seen.tokens[first:second])


def may_be_one_of_several(seen: LetterTokens, place: int) -> bool:
    """Return True if a letter that starts a line of a reply to a question may be one of several."""
    quoted = bool(seen.closing(place) & QUOTES) and not seen.is_alone(place)
    at = seen.behind(place)
    while seen.low(at) in OPENING:
        at += 1
    listed = (following := seen.at(at)) is not None and seen.is_letters(following.text)
    return quoted or listed


def is_taken_back(seen: LetterTokens, place: int) -> bool:
    """Return True if words of correction follow the last letter: "I said B; that was a mistake"."""
    end = min(len(seen.tokens), place + _LONGEST_GAP)
    return any(is_correction(seen.tokens, at) for at in range(place + 1, end))
