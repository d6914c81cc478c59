"""Find the option that a piece of text names by letter, by quoted text, or by a word for none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from parsers.records import Status
from parsers.reply_text import Source

# A letter is isolated if no letter or digit of a cased script and no apostrophe touches it;
# ideographs may. Dotted abbreviations ("D.C.") and hyphenated words ("X-ray") do not count.
_WORD = r"0-9A-Za-z_\u00c0-\u024f\u0370-\u052f"
_BEFORE = rf"(?<![{_WORD}])(?<![A-Za-z]\.)(?<![{_WORD}]['\u2019&-])"
_AFTER = rf"(?![{_WORD}])(?!['\u2019][a-z])(?!-[a-z])(?!\.[A-Za-z](?![A-Za-z]))"
_ONE = re.compile(rf"{_BEFORE}[A-Z]{_AFTER}")
_TWO = re.compile(rf"{_BEFORE}[A-Z]{{1,2}}{_AFTER}")
_ARTICLE = re.compile(r"[ \t\n]+[a-z]")
_NAMED = re.compile(r"\b(?:option|choice|letter|answer|element)\s{1,3}[(\[\"'*`]{0,3}$", re.I)

_OPEN = "\\s*_`\"'\u201c\u201d\u2018\u2019\u00ab(\\[{#:\\-\u2013\u2014>\u300c"
_LEAD = re.compile(rf"[{_OPEN}]*+(?:<(?=[A-Za-z]{{1,2}}>))?[{_OPEN}]*+")
_DIRECT_REST = re.compile(r"$|[^\sA-Za-z]|\s+[^A-Za-z\s]")
_LOWER = re.compile(r"([a-z]{1,2})(?=[^a-z\s'\u2019-]|\s*$)(?!\.[a-z])")
_LOWER_NAMED = re.compile(r"\b(?:option|choice|letter)\s{1,3}\W{0,3}([a-z])\W{0,5}$", re.I)
_JOINT = re.compile(
    rf"[\s\"'*`_)\]\u201d\u2019>.]*+(?:[,;/&+|\u3001]|(?i:or|and)\b)[{_OPEN}]*+(?:(?i:or|and)\b[{_OPEN}]*+)?"
)
_DASHED = re.compile(r"\s*[\-\u2013\u2014]\s*[A-Z]{1,2}\W*$")

_NONE = re.compile(
    r"(?:none|null|nil|nothing|n/a|n\.a\.|not (?:applicable|available)"
    r"|no (?:option|element|match|choice|answer)\w*)(?![\w-])",
    re.I,
)
_NONE_SHORT = re.compile(r"(?:na|no)\W*$|NA(?=\W)", re.I)
_NONE_OF = re.compile(
    r"\bnone of (?:the |these|those|them|above)|\bno option (?:matches|fits|is)", re.I
)
# Letters that only look like the offered ones; accepted if nothing else is on the line.
_LOOKALIKES = str.maketrans(
    "\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u041e\u0420\u0422\u0425\u0391\u0392"
    "\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7",
    "ABCEHIJKMOPTXABEZHIKMNOPTX",
)


@dataclass(frozen=True, slots=True)
class Labels:
    """The offered letters: option index by letter, the letter of None, and the choice texts."""

    index: Mapping[str, int]
    none_letter: str | None
    options: Sequence[str]

    @property
    def long(self) -> bool:
        """Whether any letter has two characters."""
        return any(len(known) > 1 for known in (*self.index, self.none_letter or ""))

    def known(self, letter: str) -> bool:
        """Whether the letter was offered."""
        return letter in self.index or letter == self.none_letter


@dataclass(frozen=True, slots=True)
class ElementReading:
    """The element that a text names; `option` is set only with `Status.ANSWERED`."""

    status: Status
    option: int | None = None
    flags: tuple[str, ...] = ()


def read_element(content: Source, labels: Labels, *, first_of_many: bool = False) -> ElementReading:
    """The option that the content of an ELEMENT line names.

    Tried in this order: a word for none; a leading letter followed by punctuation or nothing; a
    quoted choice text; one isolated letter anywhere in the line.
    """
    shadow = content.shadow
    start = _LEAD.match(shadow).end()  # type: ignore[union-attr]
    body = shadow[start:]
    if says_none(body):
        return ElementReading(Status.NONE)
    if direct := _direct(body, labels):
        letter, end = direct
        letters = [letter, *_joined(body, end, labels)]
        if len(set(letters)) > 1:
            return _many(letters, labels, first_of_many)
        reading = _resolve(letter, labels)
        if reading.option is not None and _disagrees(body[end:], reading.option, labels.options):
            return ElementReading(reading.status, reading.option, ("text_mismatch",))
        return reading
    if (option := _by_text(content.text, labels.options)) is not None:
        return ElementReading(Status.ANSWERED, option, ("by_text",))
    return _isolated(shadow, labels, first_of_many)


def says_none(content: str) -> bool:
    """Whether the content of an ELEMENT line begins with a word for none (None, NA, N/A, ...)."""
    body = content[_LEAD.match(content).end() :]  # type: ignore[union-attr]
    return bool(_NONE.match(body) or _NONE_SHORT.match(body[:40]))


def read_prose(shadow: str, labels: Labels) -> ElementReading:
    """The option that a reply without any ELEMENT line names: its only isolated letter."""
    return _isolated(shadow, labels, first_of_many=False)


def names_option(text: str) -> bool:
    """Whether prose explicitly names a letter as the answer (`option H`, `answer: H`)."""
    return any(
        _NAMED.search(text[max(0, m.start() - 16) : m.start()].replace(":", " "))
        for m in _ONE.finditer(text[:4_000])
    )


def _direct(body: str, labels: Labels) -> tuple[str, int] | None:
    """The letter at the start of the line, and its end."""
    match = (_TWO if labels.long else _ONE).match(body)
    if match and _DIRECT_REST.match(body, match.end()):
        return match[0], match.end()
    lower = _LOWER.match(body)
    if lower and (len(lower[1]) == 1 or labels.long):
        return lower[1].upper(), lower.end()
    alone = body[:4].strip(" .)*\"'`]").translate(_LOOKALIKES)
    if len(alone) == 1 and not body[0].isascii() and len(body.strip()) <= 4 and "A" <= alone <= "Z":
        return alone, 1
    return None


def _joined(body: str, end: int, labels: Labels) -> Iterator[str]:
    """Further letters joined to the first by commas, slashes, "or" and the like."""
    pattern = _TWO if labels.long else _ONE
    if dashed := _DASHED.match(body, end):
        yield from (m[0] for m in pattern.finditer(body, end, dashed.end()))
        return
    while joint := _JOINT.match(body, end):
        match = pattern.match(body, joint.end())
        if match is None or _is_article(body, match):
            return
        yield match[0]
        end = match.end()


def _is_article(text: str, match: re.Match[str]) -> bool:
    """Whether an A or I is a word: it precedes a lower-case word and does not follow "option"."""
    if match[0] not in ("A", "I") or not _ARTICLE.match(text, match.end()):
        return False
    return not _NAMED.search(text[max(0, match.start() - 16) : match.start()])


def _isolated(shadow: str, labels: Labels, first_of_many: bool) -> ElementReading:
    letters: list[str] = []
    for match in (_TWO if labels.long else _ONE).finditer(shadow):
        letter = match[0]
        if letter in letters or _is_article(shadow, match):
            continue
        # Short words in capitals (OK, TV) are common: two letters count only if offered.
        if len(letter) > 1 and not labels.known(letter):
            continue
        letters.append(letter)
        if len(letters) > 1:
            return _many(letters, labels, first_of_many)
    if letters:
        return _resolve(letters[0], labels)
    if lower := _LOWER_NAMED.search(shadow[-200:]):
        return _resolve(lower[1].upper(), labels)
    if _NONE_OF.search(shadow):
        return ElementReading(Status.NONE)
    return ElementReading(Status.NO_ELEMENT)


def _many(letters: Sequence[str], labels: Labels, first_of_many: bool) -> ElementReading:
    if not first_of_many:
        return ElementReading(Status.AMBIGUOUS)
    first = _resolve(letters[0], labels)
    return ElementReading(first.status, first.option, ("first_of_many",))


def _resolve(letter: str, labels: Labels) -> ElementReading:
    if letter == labels.none_letter:
        return ElementReading(Status.NONE)
    if letter in labels.index:
        return ElementReading(Status.ANSWERED, labels.index[letter])
    return ElementReading(Status.OUT_OF_RANGE)


_TAG = re.compile(r"<(\w+)(?:\s+id=(\d+))?")
_QUOTED = re.compile(r"[\"'`\u201c\u2018](.+?)[\"'`\u201d\u2019]\W*$")


def _plain(text: str) -> str:
    return " ".join(text.split()).lower()


def _disagrees(rest: str, option: int, options: Sequence[str]) -> bool:
    """Whether a choice text quoted after the letter belongs to another option.

    A quotation is text in angle brackets, text in quotes, or the exact text of another option;
    anything else after the letter is a remark. Quotations may be cut short or end in dots.
    """
    if option >= len(options):
        return False
    quotation = _plain(rest[:600]).lstrip(" .):]*_-\u2013\u2014,=>").rstrip(" .*_)]")
    choice = _plain(options[option])
    if quotation.startswith("<"):
        head, choice_head = _TAG.match(quotation), _TAG.match(choice)
        if head and choice_head and head[2] and choice_head[2]:
            return head.groups() != choice_head.groups()
        cut = re.split(r"\u2026|\.\.\.", quotation)[0].strip()
        return not (choice.startswith(cut) or cut.startswith(choice))
    if quoted := _QUOTED.match(quotation):
        return quoted[1] not in choice
    if not quotation or quotation == choice:
        return False
    return any(quotation == _plain(text) for text in options)


def _by_text(content: str, options: Sequence[str]) -> int | None:
    """The option whose text equals the content, if exactly one does."""
    if len(content) > 4_000:
        return None
    plain = _plain(content).strip("`*\"' ")
    if len(plain) < 3:
        return None
    same = [index for index, option in enumerate(options) if _plain(option) == plain]
    return same[0] if len(same) == 1 else None
