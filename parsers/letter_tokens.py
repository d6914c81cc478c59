"""Find the tokens of a text that can be option letters, by their context.

Most single capitals are not letters of options: an article ("A button"), a pronoun
("I agree"), part of a name ("Q&A", "T-shirt", "K Street"). What comes before a letter is judged in
`named_letters`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from parsers.assertions import asserts
from parsers.claims import LETTERS
from parsers.lexicon import (
    APPROVING,
    BEING,
    CONCLUDING,
    CONTRASTING,
    FILLING,
    INTRODUCING,
    JOINING,
    MATCHING,
    NAMING,
    NEGATING,
    NONE_WORDS,
    PRONOUNCED,
    REASONING,
    SPECIES,
)
from parsers.option_text import NONE, Named, OptionText, begins_with_text
from parsers.wording import (
    ENDING,
    QUOTES,
    Mention,
    Token,
    before,
    is_correction,
    rejected,
    tokens_of,
)

# Letters that only look like the offered ones; accepted if nothing else is on the line.
_LOOKALIKES = str.maketrans(
    "\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u041e\u0420\u0422\u0425\u0391\u0392"
    "\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7",
    "ABCEHIJKMOPTXABEZHIKMNOPTX",
)
# Marks that make a letter part of a name: Q&A, A+, A$790, C#, 30 °C.
_GLUE = frozenset("&$+#%@\u00b0\u2122\u00ae\u00a9\u00a3\u20ac^\\")
_GLUE_BEFORE = _GLUE - frozenset("#\\")
_GRADES = frozenset("ABCDEF")
_HYPHENS = frozenset("-\u2010\u2011\u2013")
_LINKS = _HYPHENS | frozenset(".'\u2019")
_CLOSING = frozenset("\"'`*_~$)]}>\u201d\u2019\u00bb\u300d\u300f\u3011")
_PAIRS = {"(": ")", "[": "]", "<": ">", "\u201c": "\u201d", "\u2018": "\u2019", "*": "*"}
_PAIRS |= {mark: mark for mark in "\"'`"}
_PLURAL = frozenset(("be", "been", "being", "are", "were"))
_AFTER_I = frozenset(("was", "would", "should", "must", "may", "might", "could", "then", "also"))
_AFTER_I |= {"first", "even", "before", "after", "plus", "next", "finally", "perhaps"}
_AFTER_I |= {"maybe", "too"}
TURNING = NEGATING | CONTRASTING | {"instead", "over"}
"""Words behind a letter that set another against it."""
_AFTER_REMARK = BEING | JOINING | REASONING | NEGATING
_BEHIND_A = (
    BEING | JOINING | REASONING | NEGATING | MATCHING | APPROVING | CONTRASTING | CONCLUDING
) | {"best", "has", "makes", "gets", "beats", "over", "indeed", "will"}
_BEHIND_I = frozenset(("is", "fits", "matches", "describes", "remains", "wins"))
_BEFORE = INTRODUCING | FILLING | NEGATING | REASONING | JOINING | CONTRASTING
OPENING = QUOTES | frozenset("([*_")
_LONGEST_WORD = 7
_LONGEST_REMARK = 40
_LONGEST_LIST = 6


@dataclass(frozen=True, slots=True)
class LetterTokens:
    """The tokens of a text, and what the rules ask about one of their places.

    long: whether letters of two characters were offered.
    asked: whether the text answers a question, so it does not describe an element by its name.
    """

    text: str
    option_text: OptionText
    long: bool
    asked: bool = False
    tokens: list[Token] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", tokens_of(self.text))

    def at(self, place: int) -> Token | None:
        """Return the token at a place, None beyond the ends."""
        return self.tokens[place] if 0 <= place < len(self.tokens) else None

    def low(self, place: int) -> str:
        """Return the text of the token at a place in lower case, "" beyond the ends."""
        token = self.at(place)
        return token.low if token is not None else ""

    def behind(self, place: int) -> int:
        """Return the place of what follows a letter, behind closing quotes, brackets and
        emphasis."""
        token = self.tokens[place]
        place += 1
        while (following := self.at(place)) and following.start == token.end:
            if following.low not in _CLOSING and not following.low.startswith("</"):
                break
            token, place = following, place + 1
        return place

    def closing(self, place: int) -> set[str]:
        """Return the marks that close around a letter."""
        return {token.low for token in self.tokens[place + 1 : self.behind(place)]}

    def is_alone(self, place: int) -> bool:
        """Return True if nothing but marks follows on the line."""
        for token in self.tokens[place + 1 : place + 1 + _LONGEST_REMARK]:
            if token.word or token.low == "\n":
                return not token.word
        return True

    def line_end(self, place: int) -> int:
        """Return the place of the line break behind a token, or of the end of the text."""
        while (token := self.at(place)) and token.low != "\n":
            place += 1
        return place

    def is_letters(self, text: str) -> bool:
        """Return True if a text has the form of an option letter."""
        return 0 < len(text) <= 1 + self.long and all("A" <= capital <= "Z" for capital in text)

    def named(self, mention: Mention, *, in_text: bool = False) -> Named:
        """Return a mention as a letter of the text."""
        return Named(mention.name, in_text, self.tokens[self.behind(mention.place) - 1].end)

    def mentions(self) -> list[Mention]:
        """Return the letters of a reply to a question, whatever is said of them."""
        found: list[Mention] = []
        at_start = True
        for place, token in enumerate(self.tokens):
            name = self.name(place, at_start=at_start)
            if name is not None and self._is_no_word(place, name):
                found.append(Mention(place, name))
            at_start = token.low == "\n" or (at_start and not token.word)
        return found

    def _is_no_word(self, place: int, name: str) -> bool:
        """Return False for an article, a pronoun, and the first word of a name."""
        following = self.at(self.behind(place))
        if place > 1 and self._is_capitalised(place - 1) and self.low(place - 2) not in ENDING:
            return False
        if following is None or not following.latin or name == NONE or self.closing(place):
            return True
        text = following.text
        if not text[0].isalpha() or text in LETTERS or text[-1].isdigit():
            return True
        if name == "I" and self.tokens[place].text == name:
            parted = following.low in _AFTER_I and self.low(self.behind(place) + 1) == ","
            return parted or following.low in REASONING | APPROVING | _BEHIND_I
        opens = place == 0 or self.low(place - 1) in ENDING
        if name == "A" and self.tokens[place].text == name and opens:
            return following.low in _BEHIND_A or following.low.endswith("ly")
        return text.islower() or following.low in NAMING or self.begins_text(place)

    def _is_capitalised(self, place: int) -> bool:
        """Return True for a word that makes a name of itself and a letter behind it: "Plan B"."""
        token = self.tokens[place]
        known = token.low in _BEFORE or self.is_letters(token.text)
        return token.latin and token.text.istitle() and not known

    # What a token is

    def name(self, place: int, *, at_start: bool) -> str | None:
        """Return the letter that the token may be, or `NONE`; None if it is another word or a
        mark."""
        token = self.tokens[place]
        if not token.word or len(token.text) > _LONGEST_WORD:
            return None
        if token.low in NONE_WORDS:
            beside = (self.low(place - 1), self.low(place + 1))
            return NONE if any(low in ("or", "nor", "/", "|") for low in beside) else None
        if self._is_glued(place):
            return None
        plain = token.text.translate(_LOOKALIKES) if self.is_alone(place) else token.text
        name = plain.upper()
        if not self.is_letters(name):
            return None
        pronoun = name == "I" and self.asked and self.option_text(name) is None
        if pronoun and not self.is_alone(place):
            return None
        if at_start and self.is_alone(place):
            # A tag (`<a>`) is not a letter.
            return name if token.text == name or self.low(place - 1) != "<" else None
        # Short words (OK, TV, to) are common.
        if len(name) > 1 and self.option_text(name) is None:
            return None
        return name if token.text == name or self._is_small_letter(place, at_start) else None

    def _is_small_letter(self, place: int, at_start: bool) -> bool:
        """Return True if a letter in lower case is marked as one: `h.` or `option h`."""
        following = self.at(place + 1)
        if at_start:
            touches = following is not None and following.start == self.tokens[place].end
            return touches and self.low(place + 1) in ".):]},;\"'*`"
        last = self.at(self.behind(place))
        if last is not None and last.word and last.low not in BEING:
            return False
        return before(self.tokens, place).named or bool(asserts(self.tokens, place))

    def _is_glued(self, place: int) -> bool:
        """Return True if marks make one word or name of the token and its neighbours."""
        token, left, right = self.tokens[place], self.at(place - 1), self.at(place + 1)
        left = left if left and left.end == token.start else None
        right = right if right and right.start == token.end else None
        if left and right and left.low == right.low == "$":
            return False
        if self._is_in_name(place, left, right):
            return not self.begins_text(place)
        if right and right.low == "$":
            further = self.at(place + 2)
            right = right if further and further.start == right.end else None
        if (left and left.low in _GLUE_BEFORE) or (right and right.low in _GLUE):
            return True
        if left and left.low in _LINKS:
            further = self.at(place - 2)
            if further and further.word and further.end == left.start:
                return True
        if right and right.low in _LINKS:
            further = self.at(place + 2)
            if further and further.latin and further.start == right.end:
                return not self.begins_text(place)
        return False

    def _is_in_name(self, place: int, left: Token | None, right: Token | None) -> bool:
        """Return True for `E*TRADE`, `A- rating`, `E. coli` and `$ A`."""
        before, after = self.at(place - 2), self.at(place + 2)
        touched = after is not None and right is not None and after.start == right.end
        if right and right.low == "*" and not (left and left.low == "*"):
            return touched and after is not None and after.latin
        if left and left.low == "*" and before and before.latin and before.end == left.start:
            return True
        if right and right.low == "-" and self.tokens[place].text in _GRADES:
            return not touched
        if right and right.low == "." and after:
            return after.text in SPECIES
        return self.low(place - 1) == "$" != self.low(place + 1)

    # What follows a letter

    def begins_text(self, place: int) -> bool:
        """Return True if the text of the letter's option follows it."""
        text = self.option_text(self.tokens[place].text)
        if not text:
            return False
        place = self.behind(place)
        while (following := self.at(place)) and not following.word and following.low not in "\n<":
            place += 1
        if following is None:
            return False
        rest = self.text[following.start : following.start + 400].partition("\n")[0]
        return begins_with_text(rest, text)

    def may_be_letter(self, place: int, name: str, listed: int = 0) -> bool:
        """Return True if the token can be the letter `name`, judging by what follows it.

        `listed` is the number of letters before it in a list.
        """
        if name == NONE or self.begins_text(place):
            return True
        at = self.behind(place)
        following = self.at(at)
        if following is None or following.low == "\n":
            return True
        if not following.word:
            return self._may_follow(at, name, listed)
        if not following.latin:
            return True
        low = following.low
        if name == "I" and low in _AFTER_I | PRONOUNCED:
            return False
        if low == "both" and self.low(place - 1) in JOINING:
            return True
        if low in BEING and not following.text.istitle():
            return not (name in ("A", "I") and low in _PLURAL)
        if low in JOINING:
            further = self.at(at + 1)
            ends = low in ("next", "first") and (further is None or not further.word)
            return ends or self._goes_on(at, listed)
        if low in ("if", "unless"):
            return True
        if low in REASONING:
            further = self.at(at + 1)
            lone = further is not None and self.is_letters(further.text)
            return not lone and not self.closing(place) & QUOTES
        if self.is_letters(following.text) and not self._is_glued(at):
            return True
        return low in TURNING or (name != "I" and rejected(self.tokens, place))

    def _may_follow(self, at: int, name: str, listed: int) -> bool:
        """Return True if the mark at a place can follow the letter `name`."""
        mark, further = self.tokens[at], self.at(at + 1)
        touches = further is not None and further.latin and further.start == mark.end
        if mark.low in ("&", "+") or (mark.low == "/" and touches):
            return self._goes_on(at, listed)
        if mark.low in _HYPHENS and touches and self.tokens[at - 1].end == mark.start:
            return False
        if further and self.is_letters(further.text) and further.text not in ("A", "I"):
            return self._goes_on(at, listed)
        if mark.low == "!":
            return further is None or not further.latin or self._turns(at + 1)
        if mark.low == "(" or (name in ("A", "I") and mark.low in _PAIRS):
            # 'X (close) button' and 'A "Search" button' are phrases.
            further = self._behind_pair(at)
            return further is None or not further.latin or further.low in _AFTER_REMARK
        return True

    def _behind_pair(self, at: int) -> Token | None:
        """Return the place after the bracket or quotation that opens at a place."""
        closing = _PAIRS[self.tokens[at].low]
        for place in range(at + 1, min(len(self.tokens), at + _LONGEST_REMARK)):
            if self.low(place) == "\n":
                return None
            if self.low(place) == closing and place > at + 1:
                return self.at(place + 1)
        return None

    def _goes_on(self, at: int, listed: int) -> bool:
        """Return True if joining words and marks lead to another letter, to none, or to a
        denial."""
        for place in range(at, min(len(self.tokens), at + 5)):
            token = self.tokens[place]
            if self._turns(place) or token.low in NONE_WORDS:
                return True
            if self.is_letters(token.text) and not self._is_glued(place):
                return listed >= _LONGEST_LIST or self.may_be_letter(place, token.text, listed + 1)
            if token.word and token.low not in JOINING | NAMING and token.low != "the":
                return False
        return False

    def _turns(self, place: int) -> bool:
        """Return True if a word of denial or correction stands at a place."""
        return self.low(place) in NEGATING or is_correction(self.tokens, place)
