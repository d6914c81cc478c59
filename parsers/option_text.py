"""Letters and texts of options: how choices are lettered, and what a reply says of their texts.

SeeAct letters its textual choices like the columns of a spreadsheet: A to Z, then AA, AB and so on,
with at most two letters. The None option is lettered too, after the last choice (SeeAct) or before
the first one (MindAct).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

NONE = ""
"""The name of a word for none that is offered next to a letter ("C or none")."""

OptionText = Callable[[str], str | None]
"""The text of the option with a letter; None if no such letter was offered."""

_BASE = 26
_LAST = _BASE + _BASE * _BASE - 1


@dataclass(frozen=True, slots=True)
class Named:
    """An option letter that a text names, or `NONE`.

    in_text: whether it may be a word, since it does not plainly start its line.
    end: where it ends in the text, with the marks that close around it.
    """

    letter: str
    in_text: bool
    end: int


def letter(index: int) -> str:
    """Return the letter of the option at `index`, counted from zero.

    Examples:
        >>> [letter(i) for i in (0, 25, 26, 27, 51, 52, 701)]
        ['A', 'Z', 'AA', 'AB', 'AZ', 'BA', 'ZZ']

    Raises `ValueError` for an index that is negative or beyond ZZ.
    """
    if not 0 <= index <= _LAST:
        raise ValueError(f"no option letter for index {index}: letters run from 0 (A) to 701 (ZZ)")
    if index < _BASE:
        return chr(ord("A") + index)
    first, second = divmod(index - _BASE, _BASE)
    return chr(ord("A") + first) + chr(ord("A") + second)


def index_of(letters: str) -> int:
    """Return the zero-based index of an option letter, the inverse of `letter`.

    Examples:
        >>> index_of("A"), index_of("AA"), index_of("BA")
        (0, 26, 52)

    Raises `ValueError` for anything but one or two capitals of the English alphabet.
    """
    if not is_letter(letters):
        raise ValueError(f"not an option letter: {letters!r} (expected A to Z or AA to ZZ)")
    index = 0
    for capital in letters:
        index = index * _BASE + ord(capital) - ord("A") + 1
    return index - 1


def is_letter(text: str) -> bool:
    """Return True if `text` is an option letter, A to ZZ."""
    return 1 <= len(text) <= 2 and all("A" <= capital <= "Z" for capital in text)


def letters_for(count: int, none_letter: str | None = None) -> tuple[str, ...]:
    """Return the letters of `count` choices in listed order, skipping the one that means None.

    Examples:
        >>> letters_for(3, "D"), letters_for(3, "A")
        (('A', 'B', 'C'), ('B', 'C', 'D'))

    Raises `ValueError` if the letters run out.
    """
    taken = -1 if none_letter is None else index_of(none_letter)
    return tuple(letter(i + 1 if 0 <= taken <= i else i) for i in range(count))


_WORD = re.compile(r"[^\W_]+")
_TAGS = re.compile(r"<[^<>]{0,400}>")
_HEAD = re.compile(r"<\w+(?:\s+\w*id=\S+)?([^<>]*)>")
_TAG = re.compile(r"<(\w+)(?:\s+id=(\d+))?")
_QUOTED = re.compile(r"[\"'`\u201c\u2018](.+?)[\"'`\u201d\u2019]\W*$")
_LEADING = re.compile(
    r"\W*(?:(?:whose|is|says|reads|shows|labell?ed|called|named|the|with|text)\b\W*)*"
)
_CLAUSE = re.compile(r"[^][(){}.,;:!?\u3002\uff0c]+")
_MOST_CLAUSES = 3
_ENOUGH = 600
_SHORT = 4
_LONGEST_SHOWN = 40_000
# Words of tags and attributes, which tell no option from another.
_COMMON = frozenset(("button", "link", "field", "text", "box", "input", "icon", "menu", "submit"))
_COMMON |= {"select", "the", "and", "for"}


def begins_with_text(said: str, option: str) -> bool:
    """Return True if `said` begins with the words of an option, or with enough of them to tell.

    The words are the visible text, with or without the name of the tag, or the attributes.

    >>> begins_with_text("Search flights", "<button id=7 submit> Search flights </button>")
    True
    """
    words = _words(said[:_ENOUGH])
    visible, attributes = _parts(option)
    tag = _words(option[:40])[:1] if option.startswith("<") else []
    return any(
        _agrees(words, own, least)
        for own, least in ((visible, 1), (attributes, 1), (tag + visible, 2))
    )


def _agrees(said: Sequence[str], own: Sequence[str], least: int) -> bool:
    common = 0
    for one, other in zip(said, own, strict=False):
        if one != other:
            break
        common += 1
    return common >= 2 or least <= common == min(len(said), len(own))


def shares_words(said: str, option: str) -> bool:
    """Return True if `said` and the text of an option have a telling word in common."""
    own = {word for part in _parts(option) for word in part if len(word) > 2} - _COMMON
    return not own.isdisjoint(_words(said[-_ENOUGH:]))


def _parts(option: str) -> tuple[list[str], list[str]]:
    """Return the words that an option shows, and those of its first tag's attributes."""
    option = option[:_ENOUGH]
    head = _HEAD.match(option)
    return _words(_TAGS.sub(" ", option)), _words(head[1]) if head else []


def _words(text: str) -> list[str]:
    return [match[0].lower() for match in _WORD.finditer(text)]


def plain(text: str) -> str:
    """Return the text in lower case with single blanks."""
    return " ".join(text.split()).lower()


def disagrees(rest: str, option: int, options: Sequence[str]) -> bool:
    """Return True if a choice text given behind the letter belongs to another option.

    Compared are a tag in angle brackets, a text in quotes, and the visible text of another option:
    all of the line, of its first clause, or of what is in brackets. Anything else behind the
    letter is a remark. An option without a text, as in a marked picture, cannot be contradicted.
    """
    if option >= len(options) or not options[option].strip():
        return False
    line = plain(rest[:_ENOUGH].partition("\n")[0])
    quotation = line.lstrip(" .):]*_-\u2013\u2014,=>").rstrip(" .*_)]")
    choice = plain(options[option])
    if head := _TAG.match(quotation):
        choice_head = _TAG.match(choice)
        if choice_head and head[2] and choice_head[2]:
            return head.groups() != choice_head.groups()
        cut = re.split(r"\u2026|\.\.\.", quotation)[0].strip()
        return not (choice.startswith(cut) or cut.startswith(choice))
    if quoted := _QUOTED.match(quotation):
        return " ".join(_words(quoted[1])) not in " ".join(_words(choice))
    own = _parts(options[option])[0]
    said = _words(quotation)
    if not said or said[: len(own)] == own:
        return False
    parts = (line[_past(_LEADING, line) :], *_CLAUSE.findall(line)[:_MOST_CLAUSES])
    return any(is_another(part, option, options) for part in parts)


def is_another(said: str, option: int, options: Sequence[str]) -> bool:
    """Return True if a text is the visible text of another option, and not of this one."""
    words = _words(said[-_ENOUGH:])
    own = _parts(options[option])[0]
    return bool(words) and words != own and any(words == _parts(text)[0] for text in options)


def _past(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0


def option_with_text(content: str, options: Sequence[str], *, least: int = 3) -> int | None:
    """Return the only option whose text equals the content, of at least `least` characters."""
    if len(content) > 4_000:
        return None
    words = plain(content).strip("`*\"' ")
    if len(words) < least:
        return None
    same = [index for index, option in enumerate(options) if plain(option) == words]
    return same[0] if len(same) == 1 else None


def option_shown(said: str, options: Sequence[str]) -> int | None:
    """Return the only option whose HTML a text holds, None if it holds that of none or several."""
    if "<" not in said or len(said) > _LONGEST_SHOWN:
        return None
    text = plain(said)
    held = {
        plain(one): at
        for at, one in enumerate(options)
        if one.startswith("<") and plain(one) in text
    }
    # An element that holds another is meant, not that one.
    outer = [one for one in held if not any(one != other and one in other for other in held)]
    alike = [plain(one) for one in options]
    return held[outer[0]] if len(outer) == 1 and alike.count(outer[0]) == 1 else None


def _bare(text: str) -> str:
    """Return a text of an option without its article and its final period."""
    return plain(text).removeprefix("the ").rstrip(".")


def texts_as_letters(said: str, options: Sequence[str], letters: Sequence[str]) -> str:
    """Return what is said with "option X" in place of the texts of options, the longest first.

    A text of a few letters (`No`), unless it is a number, is replaced only where a sentence begins
    or ends with it.

    >>> texts_as_letters("Not a red lamp. Yes, blue.", ("Yes", "red lamp"), "AB")
    'Not a option B. option A. blue.'
    """
    named = {_bare(text): letter for text, letter in zip(options, letters, strict=True)}
    named.pop("", None)
    if len(named) < len(options):
        return said
    pieces = []
    for text in sorted(named, key=len, reverse=True):
        words = r"\s{1,3}".join(map(re.escape, text.split()))
        if text.isdecimal():
            pieces.append(rf"(?<![\w.,]){words}")
        elif len(text) >= _SHORT:
            pieces.append(rf"(?<!\w){words}")
        elif len(text) > 1:
            pieces.append(rf"(?<![^\n.!?:*\"' (])(?<![^\W\d_] ){words},?")
            pieces.append(rf"(?<=\w ){words}(?=[.!*\"']{{0,2}}\s*$)")
            pieces.append(rf"(?:(?<=is )|(?<=be )|(?<=say )){words}(?=[.,;:!])")
    if not pieces:
        return said
    pattern = re.compile(rf"(?:{'|'.join(pieces)})(?!\w|[.,]\d)", re.IGNORECASE)

    def lettered(found: re.Match[str]) -> str:
        # "No, it isn't": its own clause.
        text = _bare(found[0])
        end = "." if text not in named and text.endswith(",") else ""
        return f"option {named[text.rstrip(',') if end else text]}{end}"

    return pattern.sub(lettered, said)
