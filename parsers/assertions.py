"""Choose the mention that a text asserts to be the answer.

A mention counts if its own clause asserts it: in words ("the answer is B", "I choose B", "B is
correct"), or by standing alone ("B", "B, because it is lit", "In short: B"). A clause that denies,
hedges, asks, sets a condition, or tells of the past or of others asserts nothing. Only assertions
are described here; whatever is said otherwise is left open.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from parsers.claims import (
    ALONE,
    LETTERS,
    PARTING,
    TURNING_AWAY,
    WORDS,
    claim,
    is_echo,
    is_quoted,
    is_unasserted,
)
from parsers.lexicon import (
    ANSWERING,
    APPROVING,
    CONDITIONING,
    CONSEQUENT,
    CONTRASTING,
    DOUBTING,
    FINAL,
    HEDGING,
    JOINING,
    NAMING,
    NEGATING,
    PRONOUNCED,
    SAME,
    SEEMING,
    UNASSERTED,
)
from parsers.wording import ENDING, Mention, Token, is_correction, joint, standing

_BREAKING = (
    CONTRASTING | CONSEQUENT | {"because", "since", "while", "although", "though", "whereas"}
)
_BREAKING |= {"which", "even", "over"}
_MODEST = ("i had to", "i have to", "i must", "i'm not", "i am")
"""What follows "if" where it sets no condition: "if I had to choose, B"."""
_SETTING = frozenset(("only", "with", "without", "in", "for", "under", "at"))
"""Words behind a claim with "would be" that set a condition: "B would be right in the dark"."""
_TRAILING = frozenset(("too", "also", "says", "said", "according"))
"""Words behind a comma that belong to the claim before it: "The answer is B, says the hint"."""
_PREFACING = frozenset(("in", "according", "for", "per", "under"))
_GLOSSING = frozenset(("whose", "text", "says", "reads", "shows", "labelled", "called", "named"))
_GLOSSING |= {"it", "the", "with"} | CONSEQUENT
_ABOUT = frozenset(("i", "i'd", "i'm", "it", "it's", "that", "that's", "this", "or"))
"""First words of a clause about an assertion."""
_OTHERS = frozenset(("other", "others", "rest", "remaining"))
_LINKING_WORDS = CONTRASTING | CONSEQUENT | {"and", "though", "please"}
_LONGEST = 80


def concluded(
    tokens: Sequence[Token],
    mentions: Sequence[Mention],
    *,
    implied: bool = False,
    denying: Container[str] = (),
) -> Mention | None:
    """Return the mention that the text asserts; None if it asserts none, or several.

    An assertion in words beats mentions that are alone, and of several the one that is called
    final counts. Nothing counts that the text doubts afterwards. `implied` says whether any mention
    counts that its clause does not keep from it; a denial behind one of `denying` ("No") agrees.

    >>> from parsers.wording import tokens_of
    >>> tokens = tokens_of("C is a menu. The best match is H.")
    >>> concluded(tokens, [Mention(0, "C"), Mention(9, "H")])
    Mention(place=9, name='H')
    """
    left = standing(tokens, mentions)
    ways = [asserts(tokens, one.place, left, implied=implied) for one in left]
    said = [one for one, way in zip(left, ways, strict=True) if way == WORDS]
    if len({one.name for one in said}) > 1:
        said = [one for one in said if _is_final(tokens, one.place)]
    if not said:
        said = [one for one, way in zip(left, ways, strict=True) if way == ALONE]
        if any(one.place < said[0].place and one.name != said[0].name for one in left if said):
            return None
    if len({one.name for one in said}) != 1:
        return None
    others = [one for one in mentions if one.name != said[-1].name]
    denies = said[-1].name in denying
    return None if _is_doubted(tokens, said[-1].place, others, left, denies) else said[-1]


def asserts(
    tokens: Sequence[Token], place: int, mentions: Sequence[Mention] = (), *, implied: bool = False
) -> int:
    """Return how the clause of a mention asserts it: `WORDS`, `ALONE`, or 0 if it does not."""
    first, last = sentence_at(tokens, place)
    way, begin, end = claim(tokens, place, first, last)
    if is_quoted(tokens, place, begin, first):
        return 0
    if not way and implied:
        way, begin, end = ALONE, place, place + 1
    aim = [token.low for token in tokens[place + 1 : place + 3]]
    if aim[:1] == ["to"] and aim[1:] and aim[1] not in NAMING | {"me", "us", "my", "be"}:
        return 0
    if (
        not way
        or _is_open(tokens, place, first, last)
        or _is_joined(tokens, place, begin, mentions)
    ):
        return 0
    while begin > first and (
        not _breaks(tokens[begin - 1], PARTING - {":"}) or _is_adverb(tokens, begin - 2, first)
    ):
        if tokens[begin - 1].text in LETTERS and not tokens[begin].latin and tokens[begin].word:
            begin = place
            break
        begin -= 1
    while end < last and (
        not _breaks(tokens[end], PARTING) or tokens[min(end + 1, last - 1)].low in _TRAILING
    ):
        end += 1
    before, behind = tokens[begin:place], tokens[place + 1 : end]
    turned = next((at for at, token in enumerate(behind) if token.low in NEGATING), len(behind))
    if any(token.text in LETTERS for token in behind[turned:]):
        behind = behind[:turned]
    open_words = any(
        is_unasserted(part, at) for part in (before, behind) for at in range(len(part))
    )
    return 0 if open_words else way


def sentence_at(tokens: Sequence[Token], place: int) -> tuple[int, int]:
    """Return the span of the sentence around a place, bounded on both sides."""
    first, last = place, place + 1
    while first and tokens[first - 1].low not in ENDING and place - first < _LONGEST:
        first -= 1
    while last < len(tokens) and tokens[last].low not in ENDING and last - place < _LONGEST:
        last += 1
    return first, last


def _breaks(token: Token, marks: frozenset[str]) -> bool:
    return token.low in marks or token.low in _BREAKING


def _is_adverb(tokens: Sequence[Token], at: int, first: int) -> bool:
    """Return True for an adverb or a preface before the first comma of a sentence: "Perhaps, B",
    "In the example, B"."""
    words = tokens[first : at + 1]
    if words and words[0].low in _PREFACING:
        return not any(token.text in LETTERS or token.low in PARTING for token in words)
    return 0 < len(words) <= 2 and all(
        token.word and token.text not in LETTERS and not is_correction(tokens, place)
        for place, token in enumerate(words, first)
    )


def _is_open(tokens: Sequence[Token], place: int, first: int, last: int) -> bool:
    """Return True if a sentence asks, or says something under a condition."""
    if tokens[min(last, len(tokens) - 1)].low == "?":
        return tokens[min(last + 1, len(tokens) - 1)].low not in APPROVING
    while first and tokens[first - 1].low == ";":
        first = sentence_at(tokens, first - 1)[0]
    aimed = tokens[first].low in ("to", "for") and tokens[first + 1].low != "me"
    aimed = aimed and not any(token.low in PARTING for token in tokens[first:place])
    would = {"would", "be"} <= {token.low for token in tokens[first : place + 4]}
    clause = next((at for at in range(place, last) if tokens[at].low in PARTING), last)
    supposed = would and any(token.low in _SETTING for token in tokens[place + 1 : clause])
    if aimed or supposed or tokens[first].low in ("were", "had", "should", "say"):
        return True
    if tokens[first].low in ("yes", "no") and tokens[min(first + 1, last)].low == ":":
        return True
    begin = next((at for at in range(place, first, -1) if tokens[at].low in TURNING_AWAY), first)
    for at in range(begin, last):
        low = tokens[at].low
        if (
            low in CONDITIONING
            or low.startswith("if ")
            or (low == "case" and tokens[at - 1].low == "in")
        ):
            even = at > begin and tokens[at - 1].low == "even"
            behind = " ".join(one.low for one in tokens[at + 1 : at + 4])
            return not even and not behind.startswith(_MODEST)
    return False


def _is_joined(
    tokens: Sequence[Token], place: int, begin: int, mentions: Sequence[Mention]
) -> bool:
    """Return True if another mention is offered next to this one: "B or C", "B, C", "partly B,
    partly C"."""
    at = next((number for number, one in enumerate(mentions) if one.place == place), 0)
    for other in (*mentions[max(0, at - 1) : at], *mentions[at + 1 : at + 2]):
        first, second = sorted((other.place, place))
        between = tokens[first + 1 : second]
        if other.name == mentions[at].name or any(token.low in ENDING - {";"} for token in between):
            continue
        if all(not token.latin for token in between) and any(token.word for token in between):
            return True
        led = tokens[first - 1].low if first else ""
        turned = any(token.low in CONTRASTING for token in between)
        if (
            not turned
            and led == tokens[second - 1].low
            and tokens[second - 1].word
            and led not in NAMING
        ):
            return True
        if any(token.low == "even" for token in between):
            continue
        subject = begin == place and first != place and tokens[first - 1].low in JOINING
        if not any(token.word for token in between) and not subject:
            return True
        listed = any(token.low in JOINING for token in between) or first == place or begin < place
        if listed and joint(tokens, first, second) is not None:
            return True
    return False


def _is_final(tokens: Sequence[Token], place: int) -> bool:
    first, last = sentence_at(tokens, place)
    return not FINAL.isdisjoint(token.low for token in tokens[max(0, first - 3) : last])


def _is_doubted(
    tokens: Sequence[Token],
    place: int,
    others: Sequence[Mention],
    left: Sequence[Mention],
    denies: bool,
) -> bool:
    """Return True if the text takes a mention back, or offers another one next to it or behind.

    Behind an assertion each clause repeats it, denies or describes something else, or is open. A
    clause about the assertion itself ("that is not it", "or maybe not", "I cannot tell") may not be
    open, nor one about another mention that stands.
    """
    if any(_is_beside(tokens, place, other.place) for other in left if other in others):
        return True
    at, end = place + 1, min(len(tokens), place + _LONGEST)
    while at < end:
        last = at
        while last < end and not _breaks(tokens[last], ENDING | PARTING):
            last += 1
        named = [one for one in left if one in others and at <= one.place < last]
        if named and _offers(tokens, at, last, place, named):
            return True
        first, ending = sentence_at(tokens, at)
        alone = not any(max(first, place + 1) <= one.place < ending for one in (*others, *left))
        if alone and _takes_back(tokens, at, last, denies):
            return True
        at = max(last, at) + 1
    return False


def _offers(
    tokens: Sequence[Token], at: int, end: int, place: int, named: Sequence[Mention]
) -> bool:
    """Return True if a clause behind an assertion, from `at` to `end`, offers others, too."""
    first, last = sentence_at(tokens, at)
    words = {token.low for token in tokens[max(first, place + 1) : last]}
    if not words.isdisjoint(SAME) or any(is_echo(tokens, other.place) for other in named):
        return True
    if first <= place and any(tokens[other.place - 1].low in JOINING | {","} for other in named):
        return True
    if any(token.low in NEGATING for token in tokens[at:end]):
        return True
    return words.isdisjoint(SEEMING) and not words.isdisjoint(
        UNASSERTED | CONDITIONING | {"or", "between", "if not"}
    )


def _takes_back(tokens: Sequence[Token], first: int, last: int, denies: bool) -> bool:
    """Return True if a clause behind an assertion, which names no other, doubts it."""
    if any(is_correction(tokens, at) for at in range(first, last)):
        return True
    clause = tokens[first:last]
    opening = tokens[first - 1].low in ENDING and tokens[first].low in CONDITIONING
    if opening and tokens[min(last, len(tokens) - 1)].low != ",":
        return True
    if not _OTHERS.isdisjoint(token.low for token in clause):
        return False
    if any(
        token.low in DOUBTING and tokens[first + at - 1].low not in NEGATING | {"a", "any"}
        for at, token in enumerate(clause)
    ):
        return True
    words = [token for token in clause if token.word and token.low[-2:] != "ly"]
    words = [token for token in words if token.low not in _LINKING_WORDS]
    if words and words[-1].low == "hope":
        return True
    if not words or words[0].low not in _ABOUT | PRONOUNCED:
        return False
    if any(token.low == "guess" and words[at - 1].low == "a" for at, token in enumerate(words)):
        return True
    if denies or words[0].low in ("it", "it's"):
        return not HEDGING.isdisjoint(token.low for token in words)
    return any(is_unasserted(words, at) for at in range(len(words)))


def _is_beside(tokens: Sequence[Token], place: int, other: int) -> bool:
    """Return True if nothing but a mention of something else is next to a mention: "B (red
    lamp)"."""
    first, second = sorted((place, other))
    between = [token for token in tokens[first + 1 : second] if token.word]
    behind = tokens[second + 1 : second + 2]
    return (
        second - first < 8
        and all(token.low in NAMING - ANSWERING or token.low in _GLOSSING for token in between)
        and not {token.low for token in tokens[first + 1 : second]} & {"\n", ";", "!", "?"}
        and not {".", ":"} <= {token.low for token in tokens[first + 1 : second]}
        and (not behind or not behind[0].word)
    )
