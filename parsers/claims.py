"""Claims of a sentence that a mention is the answer: in words, or by leaving it alone.

the answer is B · I choose B · B is correct · so B · B fits best · B: yes
B · B, because it is lit · In short: B
"""

from __future__ import annotations

from collections.abc import Sequence

from parsers.lexicon import (
    ANSWERING,
    APPROVING,
    BEING,
    BEST,
    CHOOSING,
    CONCLUDING,
    CONDITIONING,
    CONSEQUENT,
    CONTRASTING,
    DOUBTING,
    FILLING,
    HELPING,
    JOINING,
    LEADING,
    MATCHING,
    MISTAKEN,
    NAMING,
    NEGATING,
    NOT_ASSERTED,
    OPEN_SCRIPT,
    REASONING,
    SAME,
    SPEAKERS,
    UNASSERTED,
)
from parsers.wording import QUOTES, Token, is_correction, name_parts

PARTING = frozenset(",:()|/\u3001") | {"\u2014", "\u2013", "-", "\uff0c"}
_LINKING = frozenset(":=-|>\u2014\u2013\u2192\uff1a") | {"->", "=>", "-->", "==", "--"}
LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LISTED = frozenset((",", "and", "or", "among", "between", "from", "of"))
_LEADING_MARKS = (PARTING | _LINKING) - {"("}
TURNING_AWAY = CONTRASTING | CONSEQUENT
_PLURAL = frozenset(("apply", "match", "fit", "describe", "hold"))
_SURE = frozenset(("the", "on", "a", "la", "el", "le"))
_DEEMING = frozenset(("consider", "find", "rate", "call", "deem", "rating"))
_FUNCTION = REASONING | JOINING | NEGATING | CONTRASTING | CONDITIONING | HELPING | CHOOSING
_FUNCTION |= BEST | MATCHING | APPROVING | DOUBTING | {"as", "over"}
_ECHOING = frozenset(("is", "are", "does", "do"))
_ORDERING = (SAME | {"first", "alternative"}) - {"second"}
_OBLIGING = frozenset(("should", "must", "needs", "has", "can"))
"""Words behind "the user" that say what is to be done."""
_APOSTROPHES = frozenset("'\u2018\u2019")
_BACK = 14


WORDS, ALONE = 2, 1
"""Assertion of a mention by a clause: in words, or by leaving it alone."""


def claim(tokens: Sequence[Token], place: int, first: int, last: int) -> tuple[int, int, int]:
    """Return how a sentence asserts the mention at a place, by words or by leaving it alone, and
    the span of what does; 0 if nothing does. The sentence spans `first` to `last`."""
    found = _in_words(tokens, place, first, last)
    return found if found[0] else _alone(tokens, place, first, last)


def _in_words(tokens: Sequence[Token], place: int, first: int, last: int) -> tuple[int, int, int]:
    """Return `WORDS` and the span of what asserts a mention; 0 if no words do."""
    if not _may_follow(tokens, place):
        return _called_best(tokens, place, first, last)
    linked = best = False
    for at in range(place - 1, max(first, place - _BACK) - 1, -1):
        low = tokens[at].low
        if linked and (low in _LISTED or low.isdecimal() or tokens[at].text in LETTERS):
            continue
        if low in ("about", "by"):
            linked = linked or low == "by"
            continue
        noun = low.removesuffix("'s")
        linked = linked or (noun != low and noun in ANSWERING)
        if noun in ANSWERING and (linked or at >= place - 3 or low.startswith("\\")):
            return WORDS, at, place + 1
        if low in ("it", "that", "this") and at + 1 < place and tokens[at + 1].low in BEING:
            if _is_direct(tokens, at + 2, place):
                return WORDS, at, place + 1
            break
        if low in CHOOSING:
            if "'" in low or _is_own_choice(tokens, first, at):
                return WORDS, at, place + 1
            break
        if (
            low in LEADING
            or (low in MATCHING and linked and low != "it")
            or is_correction(tokens, at)
        ):
            return WORDS, at, place + 1
        if low in TURNING_AWAY:
            return (0 if is_echo(tokens, place) else WORDS), at + 1, place + 1
        if low in NAMING and tokens[at + 1].low in _LINKING:
            return WORDS, at, place + 1
        if low in BEING or low in _LINKING:
            linked = True
        elif low in BEST:
            best = True
        elif (
            not linked
            and (low in (",", ")") or not _is_filler(tokens[at]))
            and (tokens[at].word or low in (",", ")"))
        ):
            break
        if best and linked:
            return WORDS, at, place + 1
    return _called_best(tokens, place, first, last)


def _may_follow(tokens: Sequence[Token], place: int) -> bool:
    """Return False if a noun behind a letter makes a name of both: "type B chairs"."""
    token = tokens[place + 1] if place + 1 < len(tokens) else None
    if token is None or not token.latin or token.text in LETTERS or token.low[-2:] == "ly":
        return True
    return token.low in _FUNCTION or _is_filler(token)


def _is_direct(tokens: Sequence[Token], at: int, place: int) -> bool:
    """Return True if nothing but a noun for an option, and how sure it is, is in between."""
    return all(
        not one.word
        or one.low in NAMING
        or one.low in CONCLUDING
        or one.low in _SURE
        or one.low[-2:] == "ly"
        for one in tokens[at:place]
    )


def _is_own_choice(tokens: Sequence[Token], first: int, at: int) -> bool:
    """Return True unless a noun stands before a verb of choosing: "my colleague picked B"."""
    while (
        at > first
        and tokens[at - 1].word
        and tokens[at - 1].low in FILLING | BEING | HELPING | {"am", "ended", "up"}
    ):
        at -= 1
        if tokens[at].low in SPEAKERS:
            return True
    before = tokens[at - 1]
    known = SPEAKERS | NAMING | CONCLUDING | CONSEQUENT | CONTRASTING | REASONING | BEST | CHOOSING
    return at == first or not before.word or before.low in known or not before.low.isascii()


def _called_best(
    tokens: Sequence[Token], place: int, first: int, last: int
) -> tuple[int, int, int]:
    """The same for words behind a mention: "B is correct", "B fits best", "B: yes"."""
    if place and tokens[place - 1].low in APPROVING:
        return WORDS, place, place + 1
    sides = {"left", "right"} <= {token.low for token in tokens[first:last]}
    linked = bool(place) and (tokens[place - 1].low in BEING or tokens[place - 1].low in _DEEMING)
    for at in range(place + 1, min(len(tokens), place + 8)):
        low = tokens[at].low
        if (
            low in APPROVING
            and (not linked or not sides)
            and (at == place + 1 or not tokens[at - 1].word)
        ):
            return WORDS, place, at + 1
        if at >= last and low != "?":
            break
        said = low in ANSWERING or (low in BEST and not sides) or low in CHOOSING
        if (
            low in MATCHING
            and (low not in _PLURAL or linked or tokens[at - 1].low in ("the", "best"))
        ) or (linked and (said or (low == "one" and tokens[at - 1].low == "the"))):
            return WORDS, place, at + 1
        if linked and low in NAMING and tokens[at - 1].low == "my":
            return WORDS, place, at + 1
        if low in BEING:
            linked = True
        elif tokens[at].word and not _is_filler(tokens[at]):
            named = linked and at + 1 < last and tokens[at + 1].low in ANSWERING
            return (WORDS if named else 0), place, at + 1
    return 0, place, place + 1


def _alone(tokens: Sequence[Token], place: int, first: int, last: int) -> tuple[int, int, int]:
    """Return `ALONE` and the span if a mention is all that its part of a sentence says, `WORDS` if
    it is all of a line."""
    begin, end = place, place + 1
    own = tokens[place].text
    while begin > first and (
        not tokens[begin - 1].word or _is_filler(tokens[begin - 1]) or tokens[begin - 1].text == own
    ):
        begin -= 1
    while end < last and (
        not tokens[end].word
        or tokens[end].text == own
        or (_is_filler(tokens[end]) and tokens[end].low not in BEING)
    ):
        end += 1
    if any(
        tokens[at].low == "for" and _is_direct(tokens, at + 1, place) for at in range(begin, place)
    ):
        return 0, place, end
    if begin == first and end == last and not any(one.word for one in tokens[place + 1 : end]):
        lined = not first or tokens[first - 1].low == "\n"
        rest = tokens[last : last + 2]
        lined = lined and own not in (one.text for one in tokens[first:place])
        lined = (
            lined
            and all(not token.word for token in rest[:1])
            and (len(rest) < 2 or any(token.low == "\n" for token in rest))
        )
        return (WORDS if lined else ALONE), place, end
    parted = end == last or any(token.low in PARTING for token in tokens[place + 1 : end + 1])
    follower = next(
        (token.low for token in tokens[place + 1 : last] if token.low not in QUOTES), ""
    )
    parted = parted or follower in (REASONING | NEGATING) - {"to"} or follower in ("over", "as")
    turned = begin > first and tokens[begin - 1].low in TURNING_AWAY and not is_echo(tokens, place)
    led = any(
        tokens[at].low in _LEADING_MARKS
        or (tokens[at].word and not tokens[at].latin)
        or (tokens[at].low in BEING - {"would"} and _is_direct(tokens, at + 1, place))
        for at in range(begin, place)
    )
    if not parted or not (begin == first or led or turned):
        return 0, place, end
    return (WORDS if turned else ALONE), place, place + 1


def _is_filler(token: Token) -> bool:
    low = token.low
    if not token.latin or low.isdecimal() or low in ("ii", "iii", "iv"):
        return True
    if token.text in LETTERS:
        return token.text == "I"
    return low in FILLING or low in NAMING or low in BEING or low in CONCLUDING or low[-2:] == "ly"


def is_echo(tokens: Sequence[Token], place: int) -> bool:
    """Return True for "so is B"."""
    at = place - 1
    if at > 1 and tokens[at].low not in _ECHOING:
        at -= 1
    return tokens[at].low in _ECHOING and tokens[at - 1].low == "so"


def is_quoted(tokens: Sequence[Token], place: int, begin: int, first: int) -> bool:
    """Return True for a claim inside of a quotation: 'It reads "The answer is B"'."""
    marks = [at for at in range(first, begin) if tokens[at].low in QUOTES - _APOSTROPHES]
    letter = bool(marks) and all(one.low in NAMING for one in tokens[marks[-1] + 1 : place])
    return len(marks) % 2 > letter and any(token.word for token in tokens[first : marks[-1]])


def is_unasserted(clause: Sequence[Token], at: int) -> bool:
    """Return True for a word that keeps a clause from asserting anything."""
    low = clause[at].low
    behind = clause[at + 1].low if at + 1 < len(clause) else ""
    if low == "without":
        return False
    if low == "to" and at and behind == "be":
        return clause[at - 1].low.endswith("ed") or clause[at - 1].low in ("thought", "said")
    if low in ("nothing", "nobody"):
        return behind not in ("but", "except", "other than")
    if low in NEGATING or low in DOUBTING or low in MISTAKEN or low.endswith("n't"):
        return all(token.low != "doubt" for token in clause[at : at + 4])
    if not low.isascii() and any(part in low for part in OPEN_SCRIPT):
        return True
    if len(parts := name_parts(clause[at].text)) > 1 and not NOT_ASSERTED.isdisjoint(parts):
        return True
    if low == "second" and behind in BEST | NAMING:
        return True
    if low in ("suppose", "assume") and at and clause[at - 1].low == "i":
        return False
    if low == "user":
        return bool(behind) and behind not in _OBLIGING
    return (low in UNASSERTED or (at > 0 and low in _ORDERING)) and clause[at].text != "May"
