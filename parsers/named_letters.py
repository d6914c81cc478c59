"""Find the option letters that a text names.

A letter names an option

1. alone on its line, or at its start before a mark, a verb of being, or the option's own text;
2. in running text behind a word that introduces it ("option H", "click on H", "the answer is H"),
   as the subject of a clause ("so H is right"), alone in a sentence, or behind its option's text;
3. joined to such a letter ("H or K").

`letter_tokens` finds the tokens that can be letters; of those that name an option, the
ones that are denied or taken back do not count (`wording`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Literal

from parsers.assertions import asserts, concluded
from parsers.claims import WORDS
from parsers.letter_tokens import OPENING, TURNING, LetterTokens
from parsers.lexicon import BEING, CLAUSING, CONDITIONING, FILLING, JOINING, NAMING
from parsers.option_text import NONE, Named, OptionText, shares_words
from parsers.wording import ENDING, QUOTES, Mention, before, joint, rejected, standing

_BRACKETS = frozenset(")]}>")
_EMPHASIS = frozenset("*_")
# Before these a letter that ends a line may stand behind its option's text: "Search (H)".
_SETTING_OFF = frozenset("([{:,*-\u2013\u2014\u2192") | {"->", "=>", "--"}
_BEFORE_NOUN = frozenset(("the", "my", "final", "correct", "best", "right"))
# Words of a name that are not capitalised.
_SMALL = frozenset(("of", "the", "and", "de", "for", "in", "to"))
_LONGEST_NAME = 6
_LONGEST_GLOSS = 3
_LONGEST_GAP = 40

Place = Literal["start", "doubtful start", "text"]
"""Where a letter stands: at the start of its line, there but perhaps as part of a name, or in
running text."""


@dataclass(frozen=True, slots=True)
class Names:
    """The letters that a text names, in order.

    denied: whether it denies every letter that it names.
    asserted: the letter that the text asserts to be the answer (`assertions`), if any.
    """

    letters: tuple[Named, ...]
    denied: bool
    asserted: Named | None = None


def named_letters(text: str, option_text: OptionText, *, long: bool) -> Names:
    """Return the letters that `text` names. `long` says whether letters of two characters were
    offered.

    A letter at the start of a line hides those of the remark behind it ("H. It is below option C"),
    unless they are joined to it or it is struck out. A sentence about a letter is not a remark.

    >>> names = named_letters("C is wrong, so the answer is D", lambda letter: "", long=False)
    >>> [named.letter for named in names.letters]
    ['D']
    """
    seen = LetterTokens(text, option_text, long)
    found = dict(_mentions(seen))
    counted: dict[Mention, Named] = {}
    left = standing(seen.tokens, list(found))
    hidden_to = 0
    last: Mention | None = None
    for mention in left:
        place = mention.place
        if place < hidden_to and asserts(seen.tokens, place) != WORDS:
            if last is None or not _joined(seen, last.place, place):
                continue
        elif _is_subject(seen, place) or seen.low(seen.behind(place)) in CONDITIONING:
            hidden_to = 0
        elif found[mention] != "text":
            hidden_to = seen.line_end(place)
        counted[mention] = seen.named(mention, in_text=found[mention] != "start")
        last = mention
    hidden = set(left) - counted.keys()
    asserted = concluded(seen.tokens, [one for one in found if one not in hidden])
    return Names(
        tuple(counted.values()),
        bool(found) and not counted,
        counted.get(asserted) if asserted else None,
    )


def asserted_letters(
    text: str,
    option_text: OptionText,
    *,
    long: bool,
    implied: bool = False,
    denying: Container[str] = (),
) -> Names:
    """Return the letters of a reply to a question, whatever it says of them, and the asserted one.

    `implied` and `denying` are as in `concluded`.
    """
    seen = LetterTokens(text, option_text, long, asked=True)
    mentions = seen.mentions()
    asserted = concluded(seen.tokens, mentions, implied=implied, denying=denying)
    letters = tuple(seen.named(one) for one in standing(seen.tokens, mentions))
    denied = bool(mentions) and not letters
    return Names(letters, denied, seen.named(asserted) if asserted else None)


def _mentions(seen: LetterTokens) -> Iterator[tuple[Mention, Place]]:
    """Yield the letters that are named or denied, and where each of them stands."""
    last: int | None = None
    at_start = True
    for place, token in enumerate(seen.tokens):
        name = seen.name(place, at_start=at_start)
        if name is not None and (where := _place(seen, place, name, last, at_start)):
            yield Mention(place, name), where
            last = place
        at_start = token.low == "\n" or (at_start and (name == NONE or _is_label(seen, place)))


def _is_label(seen: LetterTokens, place: int) -> bool:
    """Return True if a letter behind the token still starts its line: quotes, "1.", "the
    option"."""
    token, following = seen.tokens[place], seen.low(place + 1)
    if not token.word or token.low in NAMING:
        return True
    if token.text.isdecimal():
        return following in (".", ")", ":")
    return token.low in _BEFORE_NOUN and following in NAMING | _BEFORE_NOUN


def _place(
    seen: LetterTokens, place: int, name: str, last: int | None, at_start: bool
) -> Place | None:
    """Where a letter stands by the first rule that applies; None if it is a word."""
    if at_start and (start := _starts_line(seen, place, name)):
        return start
    if seen.may_be_letter(place, name):
        named = (
            _is_introduced(seen, place, name)
            or (last is not None and _follows(seen, last, place))
            or before(seen.tokens, place).denied
            or rejected(seen.tokens, place)
        )
    else:
        named = _is_called_option(seen, place, name)
    return "text" if named else None


def _starts_line(seen: LetterTokens, place: int, name: str) -> Place | None:
    """Rule 1."""
    if name == NONE or seen.begins_text(place):
        return "start"
    following = seen.at(seen.behind(place))
    if following is not None and following.latin:
        closing = seen.closing(place)
        if closing & _BRACKETS:
            # "L) the button", but "[X] button".
            number = seen.low(place - 1) not in OPENING or following.text[0].isupper()
            return "start" if number else "doubtful start"
        if closing & _EMPHASIS and following.text[0].isupper():
            return "start"
    if not seen.may_be_letter(place, name):
        return None
    if following is None or not following.word:
        doubt = _begins_name(seen, place) or _quotes_page(seen, place, name)
        return "doubtful start" if doubt else "start"
    return "start" if following.low in BEING | JOINING | TURNING else "doubtful start"


def _begins_name(seen: LetterTokens, place: int) -> bool:
    """Return True if capitalised words follow that are not the option's: "J. Crew", "I, Robot"."""
    at = seen.behind(place)
    if seen.low(at) not in (".", ",", "!"):
        return False
    words: list[str] = []
    for token in seen.tokens[at : at + 2 * _LONGEST_NAME]:
        if token.low == "\n":
            break
        if token.low in QUOTES or token.low == "<":
            return False
        if token.word:
            words.append(token.text)
    capital = all(word[0].isupper() or word[0].isdigit() or word in _SMALL for word in words)
    return capital and len(words) <= _LONGEST_NAME and any(len(word) > 2 for word in words)


def _quotes_page(seen: LetterTokens, place: int, name: str) -> bool:
    """Return True if the letter may be a text on the page: `"X" (close)`, `Option "M"`, `A
    "Search"`."""
    quoted = bool(seen.closing(place) & QUOTES)
    if seen.is_alone(place):
        return quoted and seen.low(place - 2) in NAMING
    text, at = seen.option_text(name) or "", seen.behind(place)
    phrase = seen.low(at) in OPENING and name in ("A", "I")
    if not (quoted or phrase or _begins_gloss(seen, at)):
        return False
    remark = seen.text[seen.tokens[at].start : seen.tokens[at].start + 400].partition("\n")[0]
    return seen.low(at + 1) not in TURNING | JOINING and not shares_words(remark, text)


def _begins_gloss(seen: LetterTokens, at: int) -> bool:
    """Return True if a few words in brackets follow, but no sentence: `X (close icon)`."""
    if seen.low(at) != "(":
        return False
    words = [token.low for token in seen.tokens[at : at + _LONGEST_GLOSS + 3] if token.word]
    return len(words) <= _LONGEST_GLOSS and not FILLING.intersection(words)


def _is_introduced(seen: LetterTokens, place: int, name: str) -> bool:
    """Rule 2."""
    if name == NONE:
        return False
    led = before(seen.tokens, place)
    return (
        led.introduced
        or (led.labelled and not seen.closing(place) & QUOTES)
        or (_is_subject(seen, place) and _begins_clause(seen, place))
        or _is_sentence(seen, place)
        or seen.low(seen.behind(place)) in ("if", "unless")
        or _is_foreign(seen, place)
        or _follows_text(seen, place, name)
    )


def _is_called_option(seen: LetterTokens, place: int, name: str) -> bool:
    """Return True if a noun makes an option of the letter: "option H search", "the H option"."""
    following = seen.at(seen.behind(place))
    led = before(seen.tokens, place)
    if following is not None and following.low in NAMING:
        further = seen.at(seen.behind(place) + 1)
        called = led.introduced or seen.low(place - 1) in ("", "\n", "the", "an")
        return called and (further is None or not further.word)
    pronoun = name == "I" and following is not None and following.text.islower()
    pronoun = pronoun and seen.low(seen.behind(place)) not in JOINING
    # 'Option "K Street"' quotes a text of the page.
    quotes = seen.low(place - 1) in QUOTES and not seen.closing(place) & QUOTES
    return led.named and not pronoun and not quotes


def _is_subject(seen: LetterTokens, place: int) -> bool:
    """Return True if a verb of being follows the letter."""
    return seen.low(seen.behind(place)) in BEING


def _begins_clause(seen: LetterTokens, place: int) -> bool:
    low = seen.low(place - 1)
    return low in CLAUSING or low in ENDING or low in (",", ":")


def _is_sentence(seen: LetterTokens, place: int) -> bool:
    """Return True if the letter is a sentence by itself."""
    following, end, last = (seen.at(at) for at in (seen.behind(place), place - 1, place - 2))
    if following is not None and following.low not in ENDING:
        return False
    if end is None or end.low not in ENDING or last is None:
        return False
    # Not behind an abbreviation: "Apt. B".
    return not last.word or (last.text.islower() and len(last.text) > 3)


def _is_foreign(seen: LetterTokens, place: int) -> bool:
    """Return True if the word before or behind the letter is of another script."""
    for step in (-1, 1):
        for neighbour in range(place + step, place + 5 * step, step):
            token = seen.at(neighbour)
            if token is None or token.low == "\n":
                break
            if token.word:
                if not token.latin:
                    return True
                break
    return False


def _follows_text(seen: LetterTokens, place: int, name: str) -> bool:
    """Return True if the letter ends its line behind the text of its option: "Search flights
    (H)"."""
    behind, text = seen.at(place - 1), seen.option_text(name)
    if not text or behind is None or behind.low not in _SETTING_OFF:
        return False
    said = seen.text[max(0, behind.start - 400) : behind.start].rpartition("\n")[2]
    return seen.is_alone(place) and shares_words(said, text)


def _follows(seen: LetterTokens, last: int, place: int) -> bool:
    """Return True if a letter is joined to the last one, or alone behind one that is denied."""
    alone = seen.low(place - 1) == "," and seen.is_alone(place)
    return _joined(seen, last, place) or (alone and rejected(seen.tokens, last))


def _joined(seen: LetterTokens, first: int, second: int) -> bool:
    """Rule 3: whether joining words or marks connect two letters, or a letter's remark and the
    next letter ("H (Search) or K (Find)")."""
    if second - first > _LONGEST_GAP:
        return False
    between = seen.tokens[first + 1 : second]
    if joint(seen.tokens, first, second) is not None:
        if any(token.low in JOINING for token in between):
            return True
        # 'H: "L"' quotes the option's text.
        quoted = bool(seen.closing(second) & QUOTES) and not seen.closing(first) & QUOTES
        return not quoted and not seen.begins_text(first)
    listed = False
    for token in reversed(between):
        if token.low in JOINING or token.low == ",":
            listed = True
        elif listed or token.low not in OPENING:
            return listed and token.low in _BRACKETS | QUOTES
    return False
