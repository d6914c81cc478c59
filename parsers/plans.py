"""Choose among several answers in one reply: the first of a plan, or the last correction.

A model that was asked for the next action may write several answers. Answers in a row, or joined by
words of sequence ("then", "Step 2:"), are a plan, and its first action is the next one. Any other
text between two answers makes the earlier one a draft, and the later one counts.

Patterns take one alternative per character or word: reading takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Protocol, Self, TypeVar

from parsers.lexicon import (
    ANSWERING,
    BEFOREHAND,
    BEING,
    BEST,
    CHOOSING,
    CONTRASTING,
    FILLING,
    FINAL,
    HEDGING,
    NAMING,
    WEIGHED,
)
from parsers.reply_text import Reply
from parsers.wording import ENDING, Mention, Token, joins_another


class Between(IntEnum):
    """Relation of two answers, by the text between them."""

    PLAN = 0
    """Nothing, marks, numbers or words of sequence: two steps of a plan."""
    DRAFT = 1
    """Any other text: the earlier answer is a draft."""
    CORRECTION = 2
    """Words that take the earlier answer back."""


_CORRECTION = re.compile(
    r"\b(?:actually|oops|whoops|hmm+|nope|typo|instead|rather|better|sorry|apolog\w+"
    r"|wrong|incorrect\w*|mist(?:ak|ook)\w*|misread|correct(?:ion|ed|ing)"
    r"|(?:correct|fix|change)\s(?:that|this|it|my)|revis(?:ed?|ing|ion)|reconsider\w*"
    r"|re-?(?:think|examin|evaluat|check|read)\w*|try\sagain|hold\son"
    r"|(?:not|\w{2,6}n['\u2019]t)\s(?:\w{1,9}\s)?(?:it|right|correct|the\s(?:right|correct))"
    r"|the\s(?:right|correct)\s\w{1,9}\s?(?::|(?:is|was|should|would)\b)"
    r"|(?:second|further|closer)\s(?:thought|reflection|inspection|look)s?|on\sreflection"
    r"|chang\w+\smy\s(?:mind|answer)|i\smeant|should\s(?:be|read|have\sbeen)|my\s(?:bad|error)"
    r"|(?:scratch|strike|forget|ignore|disregard)\s(?:that|this|the)|never\s?mind"
    r"|(?:final|updated)\s(?:answer|choice|decision)|final(?=\W{0,9}$)|(?:edit|updated?)(?=\s?:)"
    r"|no(?=\s{0,3}[,.!:;\u2026\u2013\u2014-])(?!\.\s{0,2}\d)"
    r"|wait(?!\s{1,3}(?:for|until|till|times?|to|a)\b))(?!\w)",
    re.IGNORECASE,
)
_TAGS = re.compile(r"```\w*|</?\|?\w{1,30}\|?>")
_COUNT = "one|two|three|four|five|six|seven|eight|nine|ten"
_THING = "actions?|parts?|blocks?|moves?"
_ORDER = (
    r"steps?|next|then|after(?:wards?)?|thereafter|finally|last(?:ly)?|later|subsequent(?:ly)?"
    r"|follow(?:ing|ed)|once|and|also|plus|now|continue|proceed"
    r"|(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)(?:ly)?"
    rf"|(?:{_THING})\s(?:{_COUNT})|another\s(?:{_THING})"
    r"|i{2,3}|iv|vi{0,3}|ix|x|\d{1,3}(?:st|nd|rd|th)?"
)
_FILLER = (
    r"a|an|the|that|this|it|here|is|are|has|have|been|was|will|would|can|must|needs?|we|i|you|user"
    r"|to|of|in|on|up|for|with|by|from|as|my|our|your|done|complete|completed|finished|page|menu"
    rf"|loads?|loaded|opens?|opened|appears?|appeared|task|{_THING}|{_COUNT}"
)
_WORD_ENDS = r"(?![^\W\d_])"
_ORDERED = re.compile(rf"(?<![^\W_])(?:{_ORDER}){_WORD_ENDS}", re.IGNORECASE)
# Crosses count as words: a model puts them next to a wrong answer.
_LEAD = re.compile(
    rf"(?:[^\w?!\u274c\u2717\u2718]|_|(?:{_ORDER}|{_FILLER}){_WORD_ENDS})*+", re.IGNORECASE
)
_ACTS = re.compile(
    r"(?:click|tap|press|hit|typ|enter|input|fill|writ|select|choos|pick|search|submit|open|set"
    r"|confirm|hover|scroll|go\b|navigat)",
    re.IGNORECASE,
)
_NUMBERED_STEP = re.compile(r"(?:step|action)\W{0,3}\d", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_ENOUGH = 400


def between(text: str) -> Between:
    """Classify two answers by the text between them.

    >>> [between(text).name for text in ("\\n---\\n", "Step 2: type the city", "Wait, no.", "So:")]
    ['PLAN', 'PLAN', 'CORRECTION', 'DRAFT']
    """
    if _CORRECTION.search(text):
        return Between.CORRECTION
    plain = _TAGS.sub(" ", text)
    if _LEAD.fullmatch(plain) and (_ORDERED.search(plain) or not _LETTER.search(plain)):
        return Between.PLAN
    # Words of sequence right before the later answer, whatever was said about the earlier one.
    heading = plain.rstrip("\n #*_`>-").rpartition("\n")[2]
    return Between.PLAN if _announces_step(heading) else Between.DRAFT


def _announces_step(line: str) -> bool:
    """Return True if a line begins with words of sequence and goes on with an action, if at all."""
    if len(line) > _ENOUGH or not _LETTER.search(line):
        return False
    lead = _LEAD.match(line).end()  # type: ignore[union-attr]
    if not _ORDERED.search(line, 0, lead):
        return False
    return (
        lead == len(line)
        or _ACTS.match(line, lead) is not None
        or _NUMBERED_STEP.search(line, 0, lead) is not None
    )


class Part(Protocol):
    """An answer, or a part of one, with its span in the reply."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def call(self) -> bool:
        """Whether it is a call: of several with other words between, the first is the next
        action."""
        ...

    def corrected(self, later: Self) -> Self:
        """This answer with what `later` says otherwise."""
        ...


P = TypeVar("P", bound=Part)


def choose_answer(
    parts: Sequence[P], reply: Reply, complete: Callable[[P], bool], *, last: bool = False
) -> tuple[P | None, set[str]]:
    """Return the answer that counts, None if there is none, with flags (`multiple`, `truncated`).

    Args:
        parts: answers and parts of answers, in order of appearance.
        reply: where they were read. If it was cut off, an answer that it takes back or goes on to
            replace does not count, because the correction is missing.
        complete: whether a part is an answer by itself. One that is not changes the answer before
            it if words of correction stand between, and is passed over otherwise.
        last: True if plans are impossible and the last of several answers counts.
    """
    flags = {*reply.flags, *(("truncated",) if reply.cut else ())}
    plan: list[P] = []
    gap = Between.PLAN
    end = 0
    for part in parts:
        if plan:
            gap = max(gap, between(reply.shadow[end : part.start]))
        end = max(end, part.end)
        if complete(part):
            if plan:
                flags.add("multiple")
            if gap is Between.CORRECTION or (gap is Between.DRAFT and not part.call):
                plan.clear()
            plan.append(part)
            gap = Between.PLAN
        elif plan and gap is Between.CORRECTION and not reply.cut:
            plan[-1] = plan[-1].corrected(part)
            flags.add("multiple")
            gap = Between.PLAN
    calls = bool(plan) and plan[0].call
    taken_back = (
        gap is Between.CORRECTION
        or (gap is Between.DRAFT and not calls)
        or _CORRECTION.search(reply.shadow, end)
    )
    if reply.cut and taken_back:
        plan.clear()
    return (plan[-1 if last and not calls else 0] if plan else None), flags


_LONGEST_SENTENCE = 80
_BACK = 14
_SURE = NAMING | BEST | frozenset(("the", "with", "for", "on", "clearly", "definitely", "indeed"))
_CLOSING = frozenset("\"'`*_)]}>\u201d\u2019")
_SPEAKERS = frozenset(("i", "i'd", "i'll", "we", "we'll", "let's"))
_CONSEQUENT = frozenset(("so", "therefore", "thus", "hence"))
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
            rest = tokens[mentions[said[-1]].place : place]
            return None if any(token.low == "or" for token in rest) else said[-1]
        words = _words(tokens[first:last])
        hedges = not HEDGING.isdisjoint(words) or words[-1] == "?"
        other = (
            any(one.name != mentions[said[-1]].name for one in mentions[begin:end])
            if said
            else True
        )
        if other and (hedges or words[0] in _AFTERWARDS):
            return None
        if not said and _concludes(words):
            return end - 1 if len({mention.name for mention in mentions[begin:end]}) == 1 else None
        end = begin
    return None


def declares(tokens: Sequence[Token], place: int) -> bool:
    """Return True if the text declares the mention at a place the answer: "the answer is B", "I
    choose B", "B is correct", `\\boxed{B}`, or B alone on the first or the last line."""
    if _is_alone(tokens, place):
        return True
    first, last = _sentence(tokens, place)
    words = _words(tokens[first:last])
    if not HEDGING.isdisjoint(words) or not BEFOREHAND.isdisjoint(_clause(tokens, first, place)):
        return False
    if words[-1] == "?" or joins_another(tokens, place):
        return False
    return _is_declared(tokens, place) or _is_called_best(tokens, place)


def _clause(tokens: Sequence[Token], first: int, place: int) -> set[str]:
    """Return the words of a clause up to a place."""
    words: set[str] = set()
    for token in reversed(tokens[first:place]):
        if token.low in CONTRASTING or token.low in (",", "so"):
            break
        words.add(token.low)
    return words


def _is_declared(tokens: Sequence[Token], place: int) -> bool:
    """Return True for words before a mention that declare it."""
    linked = spoken = False
    for at in range(place - 1, max(-1, place - 1 - _BACK), -1):
        low = tokens[at].low
        if tokens[at].text == "A" and at > place - 6:
            return False
        if spoken:
            if low in _SPEAKERS:
                return True
            if low not in FILLING:
                return False
        elif low in ANSWERING:
            return linked or low.startswith("\\") or not low.isascii()
        elif low in ("it's", "that's") or (low in ("it", "this") and linked):
            return True
        elif low in CHOOSING and tokens[at].word:
            spoken = True
        elif low in BEING or low in (":", "=", "\u2014", "-", "is"):
            linked = True
        elif low in BEST and linked:
            return True
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
        return False
    for token in tokens[at + 1 : at + 5]:
        if token.low in BEST | ANSWERING:
            _, last = _sentence(tokens, place)
            return not any(one.low in ("if", "unless") for one in tokens[at:last])
        if token.low not in FILLING:
            return False
    return False


def _is_alone(tokens: Sequence[Token], place: int) -> bool:
    """Return True if nothing else stands on the line of a mention, and no other line before it or
    none behind it."""
    begin, end = place, place + 1
    while begin and not tokens[begin - 1].word and place - begin < _BACK:
        begin -= 1
    while end < len(tokens) and not tokens[end].word and end - place < _BACK:
        end += 1
    before = begin == 0 or any(token.low == "\n" for token in tokens[begin:place])
    behind = end == len(tokens) or any(token.low == "\n" for token in tokens[place:end])
    return before and behind and (begin == 0 or end == len(tokens))


def _words(tokens: Sequence[Token]) -> list[str]:
    """Return tokens in lower case, but not the name of a month: "9 May"."""
    return [token.text if token.text == "May" else token.low for token in tokens]


def _is_final(tokens: Sequence[Token], place: int) -> bool:
    first, last = _sentence(tokens, place)
    words = {token.low for token in tokens[max(0, first - 3) : last]}
    return not words.isdisjoint(FINAL)


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
    return tokens[place].low in _CONSEQUENT and further != "that" and further not in BEING


def _concludes(words: Sequence[str]) -> bool:
    if not WEIGHED.isdisjoint(words):
        return True
    if not _SPEAKERS.isdisjoint(words) and not CHOOSING.isdisjoint(words):
        return True
    return any(word in BEST for word in words) and not BEING.isdisjoint(words)
