"""What a text comes to: the mention that it declares the answer, or concludes with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from parsers.lexicon import (
    ANSWERING,
    APPROVING,
    BEFOREHAND,
    BEING,
    BEST,
    CHOOSING,
    CONCEDING,
    CONDITIONING,
    CONTRASTING,
    EQUALLING,
    FILLING,
    FINAL,
    HEDGING,
    HELPING,
    MAKING,
    NAMING,
    OFFERING,
    SEEMING,
    SHARING,
    UNSURE,
    WEIGHED,
)
from parsers.wording import ENDING, Mention, Token, joins_another

_LONGEST_SENTENCE = 80
_LONGEST_LINE = 40
_BACK = 14
_SURE = NAMING | BEST | frozenset(("the", "with", "for", "on", "clearly", "definitely", "indeed", "it", "us", "me"))
_CLOSING = frozenset("\"'`*_)]}>\u201d\u2019")
_SPEAKERS = frozenset(("i", "i'd", "i'll", "we", "we'll", "let's", "i'm", "we're", "i've"))
_CONSEQUENT = frozenset(("so", "therefore", "thus", "hence"))
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LISTED = frozenset((",", "and", "or", "among", "between", "from", "out", "of", "und", "et", "y"))
_IF = frozenset(("if", "provided", "wenn", "falls"))
_ASKING = frozenset(("is", "what", "how", "could", "should", "would", "was", "or", "and"))
_BECAUSE = frozenset(("because", "since", "as", "which", "(", "over", ":"))
_NUMBERS = frozenset(("one", "two", "three"))
_COMPARING = frozenset(("between", "among", "of", "comparing"))
_AFTERWARDS = frozenset(("then", "next", "afterwards", "later", "second", "secondly"))


def concluded(tokens: Sequence[Token], mentions: Sequence[Mention]) -> int | None:
    """Return which of several mentions a text comes to; None if it leaves them open.

    A mention that is declared the answer counts, of several different ones the one that is called
    final. Without any, the last sentence with words of conclusion counts if it names one thing. In
    both cases no later sentence with another mention may hedge.

    >>> from parsers.wording import tokens_of
    >>> tokens = tokens_of("C is a menu. The best match is H.")
    >>> concluded(tokens, [Mention(0, "C"), Mention(8, "H")])
    1
    """
    said = [number for number, one in enumerate(mentions) if declares(tokens, one.place)]
    if len({mentions[number].name for number in said}) > 1:
        finals = [one for one in said if _is_final(tokens, mentions[one].place)]
        said = finals if len({mentions[one].name for one in finals}) == 1 else []
        if not said:
            return None
    end = len(mentions)
    while end:
        place = mentions[end - 1].place
        first, last = _sentence(tokens, place)
        begin = end
        while begin and mentions[begin - 1].place >= first:
            begin -= 1
        if any(begin <= one < end for one in said):
            rest = tokens[mentions[said[-1]].place : last]
            giving = (at for at, one in enumerate(rest) if one.low in CONCEDING | _BECAUSE)
            joined = SHARING - {"o", "e", "y", "of"}
            offered = any(one.low in OFFERING | EQUALLING for one in rest) or any(
                one.low in joined for one in rest[: next(giving, len(rest))]
            )
            other = any(one.name != mentions[said[-1]].name for one in mentions[said[-1] : end])
            return None if other and (offered or _hedges(_words(rest))) else said[-1]
        words = _words(tokens[first:last])
        hedges = _hedges(words) or words[-1] == "?"
        other = (
            any(one.name != mentions[said[-1]].name for one in mentions[begin:end])
            if said
            else True
        )
        hedges = hedges or (is_conditional(tokens, place) and SEEMING.isdisjoint(words))
        if other and (hedges or words[0] in _AFTERWARDS):
            return None
        if not said and _concludes(words):
            said_before = {one.place for one in mentions[:begin] if one.name != mentions[end - 1].name}
            if any(alike(tokens, one, place) for one in said_before):
                return None
            if words[0] in _COMPARING:
                begin = next((one for one in range(begin, end) if "," == tokens[mentions[one].place - 1].low), begin)
            return end - 1 if len({mention.name for mention in mentions[begin:end]}) == 1 else None
        if not said and (words[0] in OFFERING or is_all_said(tokens, place)):
            return None
        end = begin
    return None


def declares(tokens: Sequence[Token], place: int) -> bool:
    """Return True if the text declares the mention at a place the answer: "the answer is B", "I
    choose B", "B is correct", `\\boxed{B}`, or B alone on the first or the last line."""
    if _is_alone(tokens, place):
        return True
    first, last = _sentence(tokens, place)
    turns = CONTRASTING | ({","} if tokens[first].low in CONCEDING else set())
    first = next((at for at in range(place - 1, first, -1) if tokens[at].low in turns), first)
    ends = CONTRASTING | CONCEDING | {"because", "since", "even"}
    last = next((at for at in range(place + 1, last) if tokens[at].low in ends), last)
    words = _words(tokens[first:last])
    if not HEDGING.isdisjoint(words) or not BEFOREHAND.isdisjoint(_clause(tokens, first, place)):
        return False
    if {"left", "right"} <= set(words):
        return False
    if words[-1] == "?" or joins_another(tokens, place) or is_conditional(tokens, place):
        return False
    return _is_declared(tokens, place) or _is_called_best(tokens, place)


def is_conditional(tokens: Sequence[Token], place: int) -> bool:
    """Return True if words of a condition follow a mention or begin its sentence: "B if it is red",
    "when it is red, B"."""
    at = place + 1
    while at < len(tokens) and tokens[at].low in _CLOSING | {",", "but", "only"}:
        at += 1
    if at < len(tokens) and tokens[at].low == "used":
        return True
    first, last = _sentence(tokens, place)
    for one in range(at, min(last, len(tokens) - 1)):
        if tokens[one].low in (CONDITIONING if one == at else _IF):
            return tokens[one - 1].low != "even" and tokens[one + 1].low not in _SPEAKERS
    asks = tokens[last - 1].low == "?" and tokens[min(last, len(tokens) - 1)].low not in APPROVING
    if (asks and tokens[first].low in _ASKING) or not UNSURE.isdisjoint(
        _clause(tokens, first, place)
    ):
        return True
    if tokens[first].low == "then" and first and tokens[first - 1].low == ";":
        return True
    return tokens[first].low in CONDITIONING and tokens[first + 1].low not in _SPEAKERS


def _clause(tokens: Sequence[Token], first: int, place: int) -> set[str]:
    """Return the words of a clause up to a place."""
    words: set[str] = set()
    for token in reversed(tokens[first:place]):
        if token.low in CONTRASTING or token.low in (",", ":", "so"):
            break
        words.add(token.low)
    return words


def _is_declared(tokens: Sequence[Token], place: int) -> bool:
    """Return True for words before a mention that declare it."""
    linked = spoken = False
    for at in range(place - 1, max(-1, place - 1 - _BACK), -1):
        low = tokens[at].low
        if linked and (low in _LISTED or tokens[at].text in _LETTERS):
            continue
        if spoken:
            if low in _SPEAKERS:
                return True
            if low not in FILLING:
                return False
        elif low in ANSWERING:
            return linked or low.startswith("\\") or not low.isascii()
        elif low in CONTRASTING:
            return not BEFOREHAND.isdisjoint(_clause(tokens, max(0, at - _BACK), at))
        elif low == "only" and at == place - 1:
            return True
        elif low in MAKING and (at + 1 == place or tokens[at + 1].word):
            return True
        elif low in ("it's", "that's") or (low in ("it", "this") and linked):
            return True
        elif low in CHOOSING and tokens[at].word:
            spoken = True
        elif low in BEING or low in (":", "=", "\u2014", "-", "is"):
            linked = True
        elif low in BEST and linked:
            return True
        elif linked and (low.isdecimal() or low in _NUMBERS):
            continue
        elif low in _CONSEQUENT:
            return tokens[at + 1].low not in BEING and (at == place - 1 or linked)
        elif (low in ENDING and low != "\n") or (
            tokens[at].word and low not in (FILLING | NAMING if linked else _SURE)
        ):
            return False
    return False


def _is_called_best(tokens: Sequence[Token], place: int) -> bool:
    """Return True for words behind a mention that declare it: "B is the right choice"."""
    at = place + 1
    while at < len(tokens) and tokens[at].low in _CLOSING:
        at += 1
    if at >= len(tokens) or tokens[at].low not in BEING:
        return _is_approved(tokens, place)
    if tokens[at].low == "would" and not {"the", "my"} & {one.low for one in tokens[at : at + 4]}:
        return False
    for token in tokens[at + 1 : at + 5]:
        if token.low in BEST | ANSWERING:
            first, last = _sentence(tokens, place)
            return not any(one.low in ("if", "unless", "left") for one in tokens[first:last])
        if token.low not in FILLING:
            return False
    return False


def _is_approved(tokens: Sequence[Token], place: int) -> bool:
    """Return True if a mark or word at the end of a mention's line approves of it, or a mark before
    it: "B: yes", "B. red lamp - correct", "[x] B"."""
    if place and tokens[place - 1].low in APPROVING:
        return True
    end = last = place + 1
    while end < min(len(tokens), place + _LONGEST_LINE) and tokens[end].low != "\n":
        if tokens[end].text in _LETTERS:
            break
        end += 1
        last = end if tokens[end - 1].word or tokens[end - 1].low in APPROVING else last
    return tokens[last - 1].low in APPROVING and (last - 1 == place + 1 or not tokens[last - 2].word)


def _is_alone(tokens: Sequence[Token], place: int) -> bool:
    """Return True if nothing else stands on the line of a mention, and no other line before it or
    none behind it."""
    begin, end = place, place + 1
    while begin and not tokens[begin - 1].word and place - begin < _BACK:
        begin -= 1
    while end < len(tokens) and not tokens[end].word and end - place < _BACK:
        end += 1
    if any(
        one.text in _LETTERS - {tokens[place].text} and further
        for one, further in (
            (tokens[begin - 1] if begin else tokens[place], _fills_line(tokens, begin - 1)),
            (tokens[end] if end < len(tokens) else tokens[place], _fills_line(tokens, end)),
        )
    ):
        return False
    before = begin == 0 or any(token.low == "\n" for token in tokens[begin:place])
    behind = end == len(tokens) or any(token.low == "\n" for token in tokens[place:end])
    return before and behind and (begin == 0 or end == len(tokens))


def _hedges(words: Sequence[str]) -> bool:
    return not HEDGING.isdisjoint(words) and SEEMING.isdisjoint(words)


def _fills_line(tokens: Sequence[Token], place: int) -> bool:
    """Return True if no other word stands on the line of a token."""
    before = reversed(tokens[max(0, place - _BACK) : max(0, place)])
    return all(
        next((token.low == "\n" for token in line if token.word or token.low == "\n"), True)
        for line in (before, tokens[place + 1 : place + 1 + _BACK])
    )


def _words(tokens: Sequence[Token]) -> list[str]:
    """Return tokens in lower case, but not the name of a month: "9 May"."""
    return [token.text if token.text == "May" else token.low for token in tokens]


def _is_final(tokens: Sequence[Token], place: int) -> bool:
    first, last = _sentence(tokens, place)
    words = {token.low for token in tokens[max(0, first - 3) : last]}
    return not words.isdisjoint(FINAL)


def is_all_said(tokens: Sequence[Token], place: int) -> bool:
    """Return True if a mention is the only word of its sentence."""
    return sum(token.word for token in tokens[slice(*_sentence(tokens, place))]) == 1


def _sentence(tokens: Sequence[Token], place: int) -> tuple[int, int]:
    """Return the span of the sentence around a place, bounded on both sides."""
    first, last = place, place + 1
    while first and not _begins(tokens, first) and place - first < _LONGEST_SENTENCE:
        first -= 1
    while not _begins(tokens, last) and last - place < _LONGEST_SENTENCE:
        last += 1
    return first, last


def alike(tokens: Sequence[Token], place: int, other: int) -> bool:
    """Return True if the sentences around two mentions have the same words otherwise."""
    first, second = _sentence(tokens, place), _sentence(tokens, other)
    if first == second:
        return False
    one, two = tokens[slice(*first)], tokens[slice(*second)]
    said, again = (
        [token.low for token in part if token.text not in _LETTERS and token.word]
        for part in (one, two)
    )
    return len(said) == len(again) and said[:1] == again[:1]


def _begins(tokens: Sequence[Token], place: int) -> bool:
    """Return True if a sentence, or a clause that concludes, begins at a place."""
    if place >= len(tokens) or tokens[place - 1].low in ENDING:
        return True
    further = tokens[place + 1].low if place + 1 < len(tokens) else ""
    return tokens[place].low in _CONSEQUENT and further != "that" and further not in BEING


def _concludes(words: Sequence[str]) -> bool:
    if any(one == "so" and other in BEING | HELPING for one, other in pairwise(words)):
        return False
    if not WEIGHED.isdisjoint(words):
        return True
    if not _SPEAKERS.isdisjoint(words) and not CHOOSING.isdisjoint(words):
        return True
    return any(word in BEST for word in words) and not BEING.isdisjoint(words)
