"""Prepare reply text for parsing: line ends, hidden reasoning, letters of other scripts.

Also detects replies that have nothing to parse and replies that decline to answer.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from parsers.records import Status

_LINE_ENDS = re.compile("\r\n|[\r\u2028\u2029]")
_HALVES = re.compile("[\ud800-\udfff]")
# As written by DeepSeek, Qwen and others, by Kimi-VL, and by Magistral.
_THINK = re.compile(r"<(/?)think(?:ing)?>|\u25c1(/?)think\u25b7|\[(/?)THINK\]", re.IGNORECASE)
# MAI-UI's; known to the forms that came with it (see `parsers.points.forms.FIRST`).
_GROUNDING_THINK = re.compile(rf"{_THINK.pattern}|<(/?)grounding_think>", re.IGNORECASE)
_INVISIBLE = "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\ufeff"

ENDED: dict[str, Status] = {
    "refusal": Status.REFUSAL,
    "content_filter": Status.CONTENT_FILTER,
    "provider_refused": Status.PROVIDER_REFUSED,
    "too_long": Status.TOO_LONG,
}
FINISHES = frozenset({"stop", "length", *ENDED})
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able)|(?:sorry|apologi[sz]e)\b[^.\n]{0,40}\bbut\b"
    r"|i (?:cannot|can't|can not|won't|will not|must decline|am not permitted|do not feel)\b"
    r"|i(?:'m| am) not (?:comfortable|allowed)|as an ai\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Source:
    """A text and its normalised shadow, aligned character by character.

    text: the text as written; values are cut from it.
    shadow: full-width and styled letters are plain ones and invisible characters are blanks; keys
        and letters are searched in it.
    """

    text: str
    shadow: str

    def part(self, start: int, end: int) -> Source:
        """Return the piece from `start` up to `end`."""
        return Source(self.text[start:end], self.shadow[start:end])


def source(text: str) -> Source:
    """`text` with its shadow."""
    return Source(text, _shadow(text))


def tidy(text: str) -> str:
    """Convert every kind of line end to a line feed, and replace lone surrogates.

    A lone surrogate can come out of JSON and could not be written to a file.
    """
    if text.isascii():
        return text.replace("\r\n", "\n").replace("\r", "\n")
    return _HALVES.sub("\ufffd", _LINE_ENDS.sub("\n", text))


def _shadow(text: str) -> str:
    if text.isascii():
        return text
    table: dict[int, str] = {}
    for char in set(text):
        if char.isascii():
            continue
        if char in _INVISIBLE:
            table[ord(char)] = " "
            continue
        plain = unicodedata.normalize("NFKC", char)
        # Only one-to-one: positions in the shadow are positions in the text.
        if len(plain) == 1 and plain.isascii():
            table[ord(char)] = plain
    table[ord("\u2236")] = ":"
    return text.translate(table)


def without_thinking(text: str) -> str:
    """Remove what is between think tags.

    An opening tag counts at the start of a line; if it is not closed, all that follows is thinking.
    A closing tag without an opening one (some chat templates write the opening tag themselves) ends
    thinking that began with the text; it counts at the start or end of its line and only if
    something follows: a typed value may contain the tag.

    >>> without_thinking("<think>ELEMENT: C</think>ELEMENT: H")
    'ELEMENT: H'
    """
    return _outside_thinking(text)[0]


def ends_in_thought(text: str) -> bool:
    """Return True if a thought of the reply is never closed."""
    return _outside_thinking(text)[1]


def _outside_thinking(text: str, tags: re.Pattern[str] = _THINK) -> tuple[str, bool]:
    """Return the text without its thinking, and whether it ends in the middle of a thought."""
    if "think" not in text.lower():
        return text, False
    kept: list[str] = []
    position = 0
    open_at: int | None = None
    end = len(text.rstrip())
    for tag in tags.finditer(text):
        if not any(tag.groups()):
            if open_at is None and _starts_line(text, tag.start(), position):
                open_at = tag.start()
                kept.append(text[position:open_at])
        elif open_at is not None:
            open_at, position = None, tag.end()
        elif tag.end() < end and (
            _starts_line(text, tag.start(), position) or _ends_line(text, tag.end())
        ):
            kept, position = [], tag.end()
    if open_at is None:
        kept.append(text[position:])
    return "".join(kept), open_at is not None


def _starts_line(text: str, place: int, floor: int) -> bool:
    # Looking back a bounded distance keeps this linear; no tag is indented by more.
    floor = max(floor, place - 80)
    start = text.rfind("\n", floor, place) + 1
    return (start > 0 or floor + 80 > place) and not text[max(start, floor) : place].strip()


def _ends_line(text: str, place: int) -> bool:
    return not text[place : place + 80].partition("\n")[0].strip()


@dataclass(frozen=True, slots=True)
class Nothing:
    """Why a reply has nothing to parse."""

    status: Status
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply(Source):
    """The part of a reply to parse.

    cut: whether the reply is incomplete: it ran into the output limit, or ends inside a thought.
    """

    cut: bool = False


def open_reply(text: str, finish: str, *, grounding: bool = False) -> Reply | Nothing:
    """Return the part of a reply to parse: everything except its thinking.

    A thought that is never closed means that the reply was cut off, whatever the provider says:
    servers that count the thought as part of the reply may report `stop`.

    `finish` is as in `read_answer`. `grounding` says whether `<grounding_think>` is a tag of
    thinking as well. Raises `ValueError` for an unknown finish.
    """
    if finish not in FINISHES:
        raise ValueError(f"unknown finish {finish!r}: expected one of {sorted(FINISHES)}")
    if finish in ENDED:
        return Nothing(ENDED[finish])
    whole = tidy(text)
    kept, thinking = _outside_thinking(whole, _GROUNDING_THINK if grounding else _THINK)
    reply = Reply(kept, _shadow(kept), cut=thinking or finish == "length")
    if reply.shadow.strip():
        return reply
    if reply.cut:
        return Nothing(Status.TRUNCATED)
    return Nothing(Status.EMPTY, ("only_thinking",) if kept != whole else ())


def refuses(shadow: str) -> bool:
    """Return True if the reply begins with a refusal."""
    return _REFUSAL.search(shadow[:400].replace("\u2019", "'")) is not None
