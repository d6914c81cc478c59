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
    WEIGHED,
)
from parsers.sentences import (
    CLOSING,
    CONSEQUENT,
    LETTERS,
    SPEAKERS,
    alike,
    clause_before,
    is_all_said,
    is_conditional,
    joins_another,
    sentence_at,
)
from parsers.wording import ENDING, Mention, Token

_LONGEST_LINE = 40
_BACK = 14
_SURE = (
    NAMING
    | BEST
    | frozenset(("the", "with", "for", "on", "clearly", "definitely", "indeed", "it", "us", "me"))
)
_LISTED = frozenset((",", "and", "or", "among", "between", "from", "out", "of", "und", "et", "y"))
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
        first, last = sentence_at(tokens, place)
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
            said_before = {
                one.place for one in mentions[:begin] if one.name != mentions[end - 1].name
            }
            if any(alike(tokens, one, place) for one in said_before):
                return None
            if words[0] in _COMPARING:
                # "Between B and C, the better one is B": the clause behind the comma concludes.
                commas = (one for one in range(begin, end) if _follows_comma(tokens, mentions[one]))
                begin = next(commas, begin)
            return end - 1 if len({mention.name for mention in mentions[begin:end]}) == 1 else None
        if not said and (words[0] in OFFERING or is_all_said(tokens, place)):
            return None
        end = begin
    return None


def _follows_comma(tokens: Sequence[Token], mention: Mention) -> bool:
    return tokens[mention.place - 1].low == ","


def declares(tokens: Sequence[Token], place: int) -> bool:
    """Return True if the text declares the mention at a place the answer: "the answer is B", "I
    choose B", "B is correct", `\\boxed{B}`, or B alone on the first or the last line."""
    if _is_alone(tokens, place):
        return True
    first, last = sentence_at(tokens, place)
    turns = CONTRASTING | ({","} if tokens[first].low in CONCEDING else set())
    first = next((at for at in range(place - 1, first, -1) if tokens[at].low in turns), first)
    ends = CONTRASTING | CONCEDING | {"because", "since", "even"}
    last = next((at for at in range(place + 1, last) if tokens[at].low in ends), last)
    words = _words(tokens[first:last])
    if not HEDGING.isdisjoint(words) or not BEFOREHAND.isdisjoint(
        clause_before(tokens, first, place)
    ):
        return False
    if {"left", "right"} <= set(words):
        return False
    if words[-1] == "?" or joins_another(tokens, place) or is_conditional(tokens, place):
        return False
    return _is_declared(tokens, place) or _is_called_best(tokens, place)


def _is_declared(tokens: Sequence[Token], place: int) -> bool:
    """Return True for words before a mention that declare it."""
    linked = spoken = False
    for at in range(place - 1, max(-1, place - 1 - _BACK), -1):
        low = tokens[at].low
        if linked and (low in _LISTED or tokens[at].text in LETTERS):
            continue
        if spoken:
            if low in SPEAKERS:
                return True
            if low not in FILLING:
                return False
        elif low in ANSWERING:
            return linked or low.startswith("\\") or not low.isascii()
        elif low in CONTRASTING:
            return not BEFOREHAND.isdisjoint(clause_before(tokens, max(0, at - _BACK), at))
        elif (
            (low == "only" and at == place - 1)
            or (low in MAKING and (at + 1 == place or tokens[at + 1].word))
            or low in ("it's", "that's")
            or (low in ("it", "this") and linked)
        ):
            return True
        elif low in CHOOSING and tokens[at].word:
            spoken = True
        elif low in BEING or low in (":", "=", "\u2014", "-", "is"):
            linked = True
        elif low in BEST and linked:
            return True
        elif linked and (low.isdecimal() or low in _NUMBERS):
            continue
        elif low in CONSEQUENT:
            return tokens[at + 1].low not in BEING and (at == place - 1 or linked)
        elif (low in ENDING and low != "\n") or (
            tokens[at].word and low not in (FILLING | NAMING if linked else _SURE)
        ):
            return False
    return False


def _is_called_best(tokens: Sequence[Token], place: int) -> bool:
    """Return True for words behind a mention that declare it: "B is the right choice"."""
    at = place + 1
    while at < len(tokens) and tokens[at].low in CLOSING:
        at += 1
    if at >= len(tokens) or tokens[at].low not in BEING:
        return _is_approved(tokens, place)
    if tokens[at].low == "would" and not {"the", "my"} & {one.low for one in tokens[at : at + 4]}:
        return False
    for token in tokens[at + 1 : at + 5]:
        if token.low in BEST | ANSWERING:
            first, last = sentence_at(tokens, place)
            return not any(one.low in ("if", "unless", "left") for one in tokens[first:last])
        if token.low not in FILLING:
            return False
    # "B was tempting, but A is it."
    behind = [one.low for one in tokens[at + 1 : at + 3]]
    return behind[:1] == ["it"] and (len(behind) == 1 or behind[1] in ENDING)


def _is_approved(tokens: Sequence[Token], place: int) -> bool:
    """Return True if a mark or word at the end of a mention's line approves of it, or a mark before
    it: "B: yes", "B. red lamp - correct", "[x] B"."""
    if place and tokens[place - 1].low in APPROVING:
        return True
    end = last = place + 1
    while end < min(len(tokens), place + _LONGEST_LINE) and tokens[end].low != "\n":
        if tokens[end].text in LETTERS:
            break
        end += 1
        last = end if tokens[end - 1].word or tokens[end - 1].low in APPROVING else last
    return tokens[last - 1].low in APPROVING and (
        last - 1 == place + 1 or not tokens[last - 2].word
    )


def _is_alone(tokens: Sequence[Token], place: int) -> bool:
    """Return True if nothing else stands on the line of a mention, and no other line before it or
    none behind it."""
    begin, end = place, place + 1
    while begin and not tokens[begin - 1].word and place - begin < _BACK:
        begin -= 1
    while end < len(tokens) and not tokens[end].word and end - place < _BACK:
        end += 1
    if any(
        one.text in LETTERS - {tokens[place].text} and further
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
    first, last = sentence_at(tokens, place)
    words = {token.low for token in tokens[max(0, first - 3) : last]}
    return not words.isdisjoint(FINAL)


def _concludes(words: Sequence[str]) -> bool:
    if any(one == "so" and other in BEING | HELPING for one, other in pairwise(words)):
        return False
    if not WEIGHED.isdisjoint(words):
        return True
    if not SPEAKERS.isdisjoint(words) and not CHOOSING.isdisjoint(words):
        return True
    return any(word in BEST for word in words) and not BEING.isdisjoint(words)
