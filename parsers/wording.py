"""Words of a reply, and what they say about the things it mentions.

A model that answers in a sentence denies some things ("not C", "anything but B", "A is wrong") and
takes others back ("C? No, D"). `standing` finds out which mentions are left.

Tokens are made in one pass, and each rule looks a bounded number of tokens around:
everything here takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from parsers.lexicon import (
    ANY,
    BEING,
    CHOOSING,
    CONTRASTING,
    CORRECTING,
    FAILING,
    FILLING,
    HELPING,
    INTRODUCING,
    JOINING,
    LABELLING,
    MISTAKEN,
    NAMING,
    NEGATED_BEHIND,
    NEGATING,
    NEGATING_ENDS,
    SOFTENING,
    WRONG,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number, a phrase of the lexicon, or a mark.

    low: the text in lower case, with plain apostrophes and single blanks, less an elided article.
    """

    text: str
    low: str
    start: int
    end: int
    word: bool

    @property
    def latin(self) -> bool:
        """Return True if this is a word in Latin script, or a number."""
        return self.word and self.text[0] < "\u0250"


_LATIN = "0-9A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_TOKEN = re.compile(
    rf"""
    (?P<word>
        (?i:(?:instead|in\s{{1,3}}place)\s{{1,3}}of|(?:rather|other|better|more)\s{{1,3}}than
        |(?:apart|aside)\s{{1,3}}from|as\s{{1,3}}opposed\s{{1,3}}to|(?:rul(?:e[sd]?|ing)|cross(?:ed)?)\s{{1,3}}out
        |compared\s{{1,3}}(?:with|to)|preferable\s{{1,3}}to|i\s{{1,3}}doubt|by\s{{1,3}}no\s{{1,3}}means|under\s{{1,3}}no\s{{1,3}}circumstances|any\s?more|doubt\s{{1,3}}it|just\s{{1,3}}as|hold\s{{1,3}}on|that(?:'s|\s{{1,3}}is|\s{{1,3}}was)\s{{1,3}}(?:wrong|incorrect|a\s{{1,3}}mistake)|not\s{{1,3}}(?:only|just|sure|certain)|on\s{{1,3}}second\s{{1,3}}thoughts?
        |i\s{{1,3}}meant?|make\s{{1,3}}it|changed\s{{1,3}}my\s{{1,3}}mind|on\s{{1,3}}reflection
        |a(?:t\s{{1,3}}first|s\s{{1,3}}for)|was\s{{1,3}}going\s{{1,3}}to|would\s{{1,3}}have
        |(?:but\s{{1,3}}also|failing\s{{1,3}}that)|if\s{{1,3}}not|(?:make|scratch|strike)\s{{1,3}}that|followed\s{{1,3}}by|as\s{{1,3}}well\s{{1,3}}as
        )(?![{_LATIN}])
        |[Nn]/[Aa](?![{_LATIN}])|e\.g\.
        |[{_LATIN}]+(?:[_'\u2019][{_LATIN}]+)*
        |(?:(?![{_LATIN}_])\w)+
    )
    |\[[x ]\](?=[ ])|\\[a-z]{{1,12}}|\.\.\.*|[-=]+>|<[-=]+|[\u2010-\u2015-]+
    |</?(?i:b|i|u|em|strong|code|answer|choice|letter|final)>(?=\W{{0,4}}[A-Z]\b)
    |(?<=[A-Z])</(?i:b|i|u|em|strong|code|answer|choice|letter|final)>
    |\n|\S
    """,
    re.VERBOSE,
)


_NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def name_parts(name: str) -> set[str]:
    """Return the words of the name of a key or function: `not_answer`, `wrongOption`."""
    return {part.lower() for part in _NAME_PART.findall(name)}


_ELISION = re.compile(r"(?:[cdjlns]|qu)'(?=\w\w)")


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a text in order; a line break is a token, other blanks are not.

    >>> [token.text for token in tokens_of("It isn't C, rather than D.")]
    ['It', "isn't", 'C', ',', 'rather than', 'D', '.']
    """
    return [
        Token(match[0], _lowered(match[0]), match.start(), match.end(), match["word"] is not None)
        for match in _TOKEN.finditer(text)
    ]


def _lowered(text: str) -> str:
    low = text.lower().replace("\u2019", "'")
    low = _ELISION.sub("", low, count=1) if low[1:3].find("'") >= 0 else low
    return " ".join(low.split()) or "\n"


ENDING = frozenset(".!?\u2026\u3002\n;") | {"...", ".."}
"""Marks that end a sentence or a part of one."""
QUOTES = frozenset("\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb\u300c\u300d")
_SURROUNDING = QUOTES | frozenset("*_~()[]{}<:=#$-\u2013\u2014\u2192") | {"->", "=>"}
"""Marks around a mention, or between it and the word that introduces it."""
_JOINTS = frozenset(",;/|&+:.?>\u2192\u3001\uff0f\u2026") | {"->", "=>", "...", "-", "--"}
_JOINTS |= {"\u2013", "\u2014"}
"""Marks that join two mentions."""
_BETWEEN = frozenset(("the", "if", "another"))
_BEFORE_MARK = frozenset("\n,;|-*")
_BACK = 14
_AHEAD = 8


@dataclass(frozen=True, slots=True)
class Before:
    """Return the words before a mention, back to the first word that is not about it.

    introduced: whether a word that introduces mentions is among it, or one of correction.
    named: whether the nearest such word is a noun for an option.
    labelled: whether one of `LABELLING` is, without such a noun before it.
    denied: whether a word of denial is.
    """

    introduced: bool = False
    named: bool = False
    labelled: bool = False
    denied: bool = False


def before(tokens: Sequence[Token], index: int) -> Before:
    """Return the words before the token at `index`."""
    found = Before()
    passed = ""
    for place in range(index - 1, max(-1, index - 1 - _BACK), -1):
        low = tokens[place].low
        if not tokens[place].word:
            if low in ENDING or low == ",":
                if passed:
                    break
                passed = low
            elif low in NEGATING and (place == 0 or tokens[place - 1].low in _BEFORE_MARK):
                return replace(
                    found, denied="\n" not in (token.low for token in tokens[place:index])
                )
            elif low not in _SURROUNDING and low[0] not in "\\<":
                break
            if low in CHOOSING:
                found = replace(found, introduced=True)
        elif is_correction(tokens, place):
            return replace(found, introduced=True)
        elif passed in ENDING:
            break
        elif low in CONTRASTING:
            # "anything but C", and "not C but D".
            but = any(token.low in ANY for token in tokens[max(0, place - 4) : place])
            return replace(found, denied=True) if but else replace(found, introduced=True)
        elif low in NEGATING or low.endswith(NEGATING_ENDS):
            # Not a denial: "I can't rule out C".
            twice = place > 0 and tokens[place - 1].low in NEGATING
            return found if passed or twice else replace(found, denied=True)
        elif (
            low in MISTAKEN
            and not passed
            and (":" in {token.low for token in tokens[place:index]} or found.introduced)
            and (place == 0 or tokens[place - 1].low not in BEING)
        ):
            return replace(found, denied=True)
        elif low in INTRODUCING:
            named = found.named or (low in NAMING and not found.introduced)
            found = replace(found, introduced=True, named=named)
        elif low in LABELLING:
            # "the option labelled H", but not "the button labelled H".
            if place == 0 or tokens[place - 1].low not in NAMING | {"one"}:
                return replace(found, labelled=True)
            found = replace(found, introduced=True)
        elif low not in FILLING:
            break
    return found


def is_correction(tokens: Sequence[Token], place: int) -> bool:
    """Return True if the token at `place` is a word that takes back what was mentioned before
    it."""
    low = tokens[place].low
    if low == "no":
        # "C? No, D", but not "no other option".
        after = tokens[place + 1] if place + 1 < len(tokens) else None
        return after is not None and not after.word and after.low not in ("\n", ":")
    if low in ("better", "rather"):
        # "or better D", but not "a better choice".
        return place > 0 and tokens[place - 1].low in ("or", "but", ",", "-", "\u2013", "\u2014")
    return low in CORRECTING


def rejected(tokens: Sequence[Token], index: int) -> bool:
    """Return True if words behind the mention at `index` deny it: "C is wrong", "C (incorrect)"."""
    verb = marked = asked = dashed = False
    beside = tokens[index + 1 : index + 3]
    if any(
        low in token.low for token in beside if not token.low.isascii() for low in NEGATED_BEHIND
    ):
        return True
    for place in range(index + 1, min(len(tokens), index + 1 + _AHEAD)):
        low = tokens[place].low
        if not tokens[place].word:
            if low in WRONG:
                return True
            if verb or (low in ENDING and low != "?"):
                return False
            marked, asked = marked or low == ",", asked or low == "?"
            dashed = low in (":", "-", "\u2013", "\u2014", "|")
        elif low in FAILING:
            # Not a denial: "C can't be excluded".
            twice = not WRONG.isdisjoint(token.low for token in tokens[place + 1 : place + 4])
            return not marked and not twice
        elif low in WRONG:
            ends = place + 1 == len(tokens) or not tokens[place + 1].word
            sure = asked or dashed or low not in ("no", "not")
            return verb or (ends and sure)
        elif low in BEING | HELPING:
            verb = True
        elif low not in SOFTENING:
            return False
    return False


Joint = Literal["listed", "shared"]
"""The link of a mention to the one before: a denial of one reaches both if it is `shared`."""


def joint(tokens: Sequence[Token], first: int, second: int) -> Joint | None:
    """Return the link of the mentions at two places; None unless by marks and joining words."""
    if second - first > _AHEAD + 1:
        return None
    between = tokens[first + 1 : second]
    joins = not between
    shared = False
    for token in between:
        if token.word:
            if token.low not in JOINING | NAMING | _BETWEEN:
                return None
            joins = joins or token.low in JOINING
            shared = shared or token.low in ("and", "or", "nor")
        elif token.low not in _JOINTS | _SURROUNDING and token.low[0] != "\\":
            return None
        else:
            joins = joins or token.low in _JOINTS
    if not joins:
        return None
    return "shared" if shared else "listed"


class Mention(NamedTuple):
    """Something that a text mentions: the place of its token, and its name."""

    place: int
    name: str


def standing(tokens: Sequence[Token], mentions: Sequence[Mention]) -> list[Mention]:
    """Return the mentions that are neither denied nor taken back, in order.

    Denied mentions are struck out everywhere. A denial of one of several mentions that
    are joined by "or" or "and" holds of all ("neither A nor B", "A and B are wrong").

    >>> tokens = tokens_of("not C but D")
    >>> standing(tokens, [Mention(1, "C"), Mention(3, "D")])
    [Mention(place=3, name='D')]
    """
    denied = [before(tokens, m.place).denied or rejected(tokens, m.place) for m in mentions]
    for start, end in _chains(tokens, mentions):
        if any(denied[start:end]):
            denied[start:end] = [True] * (end - start)
    first = _taken_back(tokens, mentions, denied)
    judged = list(zip(mentions, denied, strict=True))[first:]
    struck = {mention.name for mention, is_denied in judged if is_denied}
    return [mention for mention, _ in judged if mention.name not in struck]


def _chains(tokens: Sequence[Token], mentions: Sequence[Mention]) -> list[tuple[int, int]]:
    """Group the consecutive mentions with the same statement."""
    chains: list[tuple[int, int]] = []
    start, shared = 0, False
    for number in range(1, len(mentions) + 1):
        link: Joint | None = None
        if number < len(mentions):
            first, second = mentions[number - 1].place, mentions[number].place
            ended = any(token.low in ENDING for token in tokens[first:second])
            link = None if ended else joint(tokens, first, second)
        # "Compared with B and C, A ...": the last of a list stands behind "and".
        if link is not None and not (shared and link == "listed"):
            shared = link == "shared"
            continue
        # A label is about all that follows it: "Wrong: B, C".
        opening = mentions[start].place - 1
        while opening > 0 and tokens[opening].low in QUOTES | {"[", "("}:
            opening -= 1
        ending = tokens[mentions[number - 1].place + 1 : mentions[number - 1].place + 2]
        plural = bool(ending) and ending[0].low in ("are", "were")
        if shared or plural or (opening >= 0 and tokens[opening].low == ":"):
            chains.append((start, number))
        start, shared = number, False
    return chains


def _taken_back(
    tokens: Sequence[Token], mentions: Sequence[Mention], denied: Sequence[bool]
) -> int:
    """Count the first mentions that later words of correction take back."""
    taken = 0
    for number in range(1, len(mentions)):
        place = mentions[number].place
        between = range(mentions[number - 1].place + 1, place)
        instead = place + 1 < len(tokens) and tokens[place + 1].low == "instead"
        if not denied[number] and (instead or any(is_correction(tokens, at) for at in between)):
            taken = number
    return taken
