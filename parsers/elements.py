"""Find the option that a piece of text names by letter, by quoted text, or by a word for none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from parsers.answer_blocks import answer_in
from parsers.named_letters import Names, asserted_letters, named_letters
from parsers.option_text import (
    NONE,
    Named,
    disagrees,
    is_another,
    option_shown,
    option_with_text,
    texts_as_letters,
)
from parsers.records import Status
from parsers.reply_text import Source

_OPEN = "\\s*_`\"'\u201c\u201d\u2018\u2019\u00ab(\\[{#:\\-\u2013\u2014>\u300c"
_LEAD = re.compile(rf"[{_OPEN}]*+(?:<(?=[A-Za-z]{{1,2}}>))?[{_OPEN}]*+")
_NONE = re.compile(
    r"(?:none|null|nil|nothing|n/a|n\.a\.|not (?:applicable|available)"
    r"|no (?:option|element|match|choice|answer)\w*)(?![\w-])",
    re.I,
)
_NONE_SHORT = re.compile(r"(?:na|no)\W*$|NA(?=\W)", re.I)
_NONE_OF = re.compile(
    r"\bnone of (?:the |these|those|them|above)|\bno option (?:matches|fits|is)", re.I
)

_TAGS = re.compile(r"<[^<>]{0,400}>")
# Words for the frame around an element, right before its letter.
_MARKED = re.compile(
    r"(?i:\b(?:(?:red|bounding|marked|highlighted)\s){0,2}(?:bounding\sbox|box|frame|rectangle|marker|mark))"
    r"(?=\s(?i:(?:labell?ed|marked|named|with|(?:the\s)?(?:letter|label))\s){0,4}[\"'(*\u201c]{0,2}[A-Z]{1,2}\b)"
)

_LINK = re.compile(
    r"(?:[\s,:;=>\u2013\u2014\u2192(\[-]|\b(?:so|therefore|thus|hence|option|is|i\.e\.)(?!\w)){1,8}\Z"
)
_DRESS = re.compile(
    r"</?(?![A-Z]>|[^<>\n]{0,80}=[\"'][A-Z][\"'])[A-Za-z][^<>\n]{0,80}>|\\(?:[()\[\],;!]|(?:text|math|underline|emph|textbf)[a-z]{0,6})"
)
_DENYING = re.compile(r"\s*(?:no|not|nein|non)\b", re.I)
# Longer lines name no option, and what counts of a long reply is at its end.
_LONGEST_LINE = 4_000
_LONGEST_PROSE = 40_000
_LONE = re.compile(r"(?<!\w)[B-HJ-Zb-z](?!\w)|(?<!\w)[AI](?!\w)")
_FIRST_LETTERS = 60
_LAST_LETTERS = 140


@dataclass(frozen=True, slots=True)
class Labels:
    """The offered letters: option index by letter, the letter of None, and the choice texts."""

    index: Mapping[str, int]
    none_letter: str | None
    options: Sequence[str]

    @property
    def long(self) -> bool:
        """Return True if any letter has two characters."""
        return any(len(known) > 1 for known in (*self.index, self.none_letter or ""))

    def lettered(self, text: str) -> str:
        """Return a text with the boxes of a marked picture as options, if no texts were listed."""
        return text if any(self.options) else _MARKED.sub("option", text)

    def text(self, letter: str) -> str | None:
        """Return the text of the option with a letter, "" for None; None if the letter was not
        offered."""
        if letter in self.index:
            return self.options[self.index[letter]]
        return "" if letter == self.none_letter else None


@dataclass(frozen=True, slots=True)
class ElementReading:
    """The element that a text names; `option` is set only with `Status.ANSWERED`.

    denied: whether the text only says which options are not meant.
    """

    status: Status
    option: int | None = None
    flags: tuple[str, ...] = ()
    denied: bool = False


def read_element(content: Source, labels: Labels, *, first_of_many: bool = False) -> ElementReading:
    """Return the option that the content of an ELEMENT line names.

    Tried in this order: a word for none at its start; a whole choice text; letters (see
    `named_letters`). A letter that was read from running text is flagged `in_text`, one next to a
    choice text of another option `text_mismatch`.
    """
    shadow = _ends_of(labels.lettered(content.shadow[:_LONGEST_LINE]))
    names = named_letters(shadow, labels.text, long=labels.long)
    if says_none(shadow) and not (names.letters and names.letters[0].letter == NONE):
        return ElementReading(Status.NONE)
    if (option := option_with_text(content.text, labels.options)) is not None:
        return ElementReading(Status.ANSWERED, option, ("by_text",))
    if len(letters := _distinct(names)) > 1:
        return _many(letters, labels, first_of_many)
    if not letters and (option := option_shown(content.text, labels.options)) is not None:
        return ElementReading(Status.ANSWERED, option, ("by_text",))
    return _beside(letters[0], shadow, labels) if letters else _no_letter(shadow, names.denied)


def _ends_of(text: str) -> str:
    """Return a text without what stands between its first and its last lone letters, which bounds
    the time that reading takes."""
    letters = [found.start() for found in _LONE.finditer(text)]
    if len(letters) <= _FIRST_LETTERS + _LAST_LETTERS:
        return text
    return f"{text[: letters[_FIRST_LETTERS]]}\n{text[letters[-_LAST_LETTERS] :]}"


def says_none(content: str) -> bool:
    """Return True if the content of an ELEMENT line begins with a word for none (None, NA, N/A,
    ...)."""
    body = content[_LEAD.match(content).end() :]  # type: ignore[union-attr]
    return bool(_NONE.match(body) or _NONE_SHORT.match(body[:40]))


def read_prose(shadow: str, labels: Labels) -> ElementReading:
    """Return the option that a reply without any ELEMENT line asserts."""
    shadow = _ends_of(labels.lettered(shadow[-_LONGEST_PROSE:]))
    names = named_letters(shadow, labels.text, long=labels.long)
    letters = _distinct(names)
    if letters and names.asserted is None:
        return ElementReading(Status.AMBIGUOUS)
    if not letters and (option := option_shown(shadow, labels.options)) is not None:
        return ElementReading(Status.ANSWERED, option, ("by_text",))
    return _beside(letters[0], shadow, labels) if letters else _no_letter(shadow, names.denied)


def read_choice(said: Source, labels: Labels) -> ElementReading:
    """Return the option that a reply to a question names: by its letter, else by its text.

    A letter next to the text of another option is not read. Texts of options represent their
    letters where no letter is named, so they can be denied, listed and concluded with as well.
    """
    shadow = _ends_of(said.shadow[-_LONGEST_PROSE:])
    shadow = _DRESS.sub(lambda mark: " " * len(mark[0]), shadow)
    if (option := option_with_text(shadow.strip(" \n.*_"), labels.options, least=1)) is not None:
        return ElementReading(Status.ANSWERED, option, ("by_text",))
    if (answer := answer_in(said, labels.index)) is not None and answer.text != said.text:
        found = read_choice(answer, labels)
        if found.status is not Status.PARSE_ERROR:
            return found
    lettered = _ends_of(texts_as_letters(shadow, labels.options, list(labels.index)))
    denying = {one for one, at in labels.index.items() if _DENYING.match(labels.options[at])}
    names = asserted_letters(lettered, labels.text, long=labels.long, denying=denying)
    by_text: tuple[str, ...] = ()
    if names.asserted is None and lettered != shadow:
        own = asserted_letters(shadow, labels.text, long=labels.long)
        if not (own.letters or own.denied):
            names = asserted_letters(
                lettered, labels.text, long=labels.long, implied=True, denying=denying
            )
            by_text = ("by_text",)
    if names.asserted is None:
        return ElementReading(
            Status.AMBIGUOUS if names.letters else Status.PARSE_ERROR, denied=names.denied
        )
    found = _resolve(names.asserted, labels)
    if found.status in (Status.NONE, Status.NO_ELEMENT):
        return ElementReading(Status.PARSE_ERROR)
    return replace(found, flags=by_text or found.flags)


def _distinct(names: Names) -> list[Named]:
    """Return the letters that a text leaves: of several the one that it asserts, or all of them."""
    if names.asserted is not None and len({one.letter for one in names.letters}) > 1:
        return [replace(names.asserted, in_text=True)]
    first: dict[str, Named] = {}
    for one in names.letters:
        first.setdefault(one.letter, one)
    return list(first.values())


def _beside(named: Named, shadow: str, labels: Labels) -> ElementReading:
    """Return the reading of a letter, flagged if the text behind it is not its option's."""
    reading = _resolve(named, labels)
    if reading.option is None:
        return reading
    rest = shadow[named.end : named.end + _LONGEST_LINE]
    own = _TAGS.sub(" ", labels.options[reading.option][:_LONGEST_LINE])
    paraphrase = says_none(rest.lstrip(" .)]:")) and not says_none(own.strip())
    before = shadow[: named.end].rpartition("\n")[2].rpartition(named.letter)[0]
    before = _LINK.sub("", before[-_LONGEST_LINE:])
    if (
        paraphrase
        or disagrees(rest, reading.option, labels.options)
        or is_another(before, reading.option, labels.options)
    ):
        return replace(reading, flags=(*reading.flags, "text_mismatch"))
    return reading


def _no_letter(shadow: str, denied: bool) -> ElementReading:
    if _NONE_OF.search(shadow):
        return ElementReading(Status.NONE)
    return ElementReading(Status.NO_ELEMENT, denied=denied)


def _many(letters: Sequence[Named], labels: Labels, first_of_many: bool) -> ElementReading:
    if not first_of_many:
        return ElementReading(Status.AMBIGUOUS)
    first = _resolve(letters[0], labels)
    return ElementReading(first.status, first.option, (*first.flags, "first_of_many"))


def _resolve(named: Named, labels: Labels) -> ElementReading:
    if named.letter in (NONE, labels.none_letter):
        return ElementReading(Status.NONE)
    if named.letter not in labels.index:
        return ElementReading(Status.OUT_OF_RANGE)
    flags = ("in_text",) if named.in_text else ()
    return ElementReading(Status.ANSWERED, labels.index[named.letter], flags)
