"""Where a mention stands: its sentence and clause, their conditions, and the alternatives to it."""

from __future__ import annotations

from collections.abc import Sequence

from parsers.lexicon import APPROVING, BEING, CONDITIONING, CONTRASTING, NAMING, OFFERING, UNSURE
from parsers.wording import ENDING, Token

LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
CLOSING = frozenset("\"'`*_)]}>\u201d\u2019")
SPEAKERS = frozenset(("i", "i'd", "i'll", "we", "we'll", "let's", "i'm", "we're", "i've"))
CONSEQUENT = frozenset(("so", "therefore", "thus", "hence"))
_IF = frozenset(("if", "unless", "provided", "wenn", "falls"))
_ASKING = frozenset(("is", "what", "how", "could", "should", "would", "was", "or", "and"))
_LISTING = frozenset(("plus", ",", "and", "&", "+", "und", "et", "y", "e"))
_REPEATED = frozenset(("it's", "it", "is", "maybe", "perhaps", "possibly", "even", "that's"))
_LONGEST_SENTENCE = 80


def sentence_at(tokens: Sequence[Token], place: int) -> tuple[int, int]:
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
    return tokens[place].low in CONSEQUENT and further != "that" and further not in BEING


def clause_before(tokens: Sequence[Token], first: int, place: int) -> set[str]:
    """Return the words of a clause up to a place."""
    words: set[str] = set()
    for token in reversed(tokens[first:place]):
        if token.low in CONTRASTING or token.low in (",", ":", "so"):
            break
        words.add(token.low)
    return words


def is_all_said(tokens: Sequence[Token], place: int) -> bool:
    """Return True if a mention is the only word of its sentence."""
    return sum(token.word for token in tokens[slice(*sentence_at(tokens, place))]) == 1


def alike(tokens: Sequence[Token], place: int, other: int) -> bool:
    """Return True if the sentences around two mentions have the same words otherwise."""
    first, second = sentence_at(tokens, place), sentence_at(tokens, other)
    if first == second:
        return False
    one, two = tokens[slice(*first)], tokens[slice(*second)]
    said, again = (
        [token.low for token in part if token.text not in LETTERS and token.word]
        for part in (one, two)
    )
    return len(said) == len(again) and said[:1] == again[:1]


def is_conditional(tokens: Sequence[Token], place: int) -> bool:
    """Return True if words of a condition follow a mention or begin its sentence: "B if it is red",
    "when it is red, B"."""
    at = place + 1
    while at < len(tokens) and tokens[at].low in CLOSING | {",", "but", "only"}:
        at += 1
    if at < len(tokens) and tokens[at].low == "used":
        return True
    first, last = sentence_at(tokens, place)
    for one in range(at, min(last, len(tokens) - 1)):
        if tokens[one].low in (CONDITIONING if one == at else _IF):
            return tokens[one - 1].low != "even" and tokens[one + 1].low not in SPEAKERS
    asks = tokens[last - 1].low == "?" and tokens[min(last, len(tokens) - 1)].low not in APPROVING
    if (asks and tokens[first].low in _ASKING) or not UNSURE.isdisjoint(
        clause_before(tokens, first, place)
    ):
        return True
    if tokens[first].low == "then" and first and tokens[first - 1].low == ";":
        return True
    return tokens[first].low in CONDITIONING and tokens[first + 1].low not in SPEAKERS


def joins_another(tokens: Sequence[Token], place: int) -> bool:
    """Return True if a mention is one of several that are offered: "B or C", "B, C"."""
    for step in (1, -1):
        beside = True
        for at in range(place + step, place + 8 * step, step):
            if not 0 <= at < len(tokens):
                break
            if tokens[at].low in ENDING:
                if tokens[at].low == ";" and beside:
                    continue
                below = tokens[at + 1].low if at + 1 < len(tokens) else ""
                if step > 0 and tokens[at].low == "\n" and below in OFFERING:
                    return True
                break
            text = tokens[at].text
            if beside and len(text) == 1 and "A" <= text <= "Z" and text != tokens[place].text:
                article = at + 1 < len(tokens) and tokens[at + 1].text.islower() and step > 0
                return not (article and text in ("A", "I"))
            beside = beside and not tokens[at].word
            if tokens[at].low in OFFERING:
                return True
            if tokens[at].low in _LISTING:
                beyond = range(at + step, at + 8 * step, step)
                named = (
                    tokens[one] for one in beyond if 0 <= one < len(tokens) and tokens[one].word
                )
                further = next((one for one in named if one.low not in NAMING | {"the"}), None)
                name = further.text if further is not None else ""
                return len(name) == 1 and name.isupper() and name != "I"
            if tokens[at].word and tokens[at].low not in NAMING | _REPEATED:
                break
    return False
