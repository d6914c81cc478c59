"""Prepare reply text for parsing: line ends, control and answer tokens, other scripts.

Also detects replies that have nothing to parse and replies that decline to answer.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass, replace
from typing import NamedTuple

from parsers.records import Status

# The `other` tags may hold the answer itself.
_THOUGHT = re.compile(
    r"<(?P<close>/?)(?:(?:\w{1,9}[:_])?think(?:ing)?"
    r"|(?P<other>thoughts?|reasoning|analysis|scratchpad|reflection|inner_monologue))>"
    r"|\u25c1(?P<kimi>/?)think\u25b7|\[(?P<magistral>/?)THINK\]"
    r"|<\|(?:begin|(?P<sky>end))_of_thought\|>|<\|channel>thought\b|(?P<gemma><channel\|>)",
    re.IGNORECASE,
)
_THOUGHTS = re.compile("think|thought|reasoning|analysis|scratchpad|reflection|inner_mono", re.I)
# The channels of gpt-oss, with their tokens and without.
_TURN = r"(?:<\|start\|>assistant)?<\|channel\|>"
_ANALYSIS = re.compile(
    rf"{_TURN}analysis<\|message\|>(.*?)(?:<\|end\|>|(?=<\|start\|>|<\|channel\|>)|(\Z))", re.DOTALL
)
_CHANNEL = re.compile(rf"{_TURN}[^<>\n]{{1,80}}(?:<\|constrain\|>[^<>\n]{{1,40}})?<\|message\|>")
_BARE_CHANNEL = re.compile(r"\s*+analysis(?![a-z:*])")
_BARE_FINAL = "assistantfinal"


def without_thinking(text: str) -> str:
    """Remove what is between tags of thinking.

    An opening tag counts at the start of a line; if it is not closed, all that follows is thinking.
    A closing tag without an opening one (some chat templates write the opening tag themselves) ends
    thinking that began with the text; it counts at the start or end of its line and only if
    something follows: a typed value may contain the tag.

    >>> without_thinking("<think>ELEMENT: C</think>ELEMENT: H")
    'ELEMENT: H'
    """
    return outside_thinking(text).said


def ends_in_thought(text: str) -> bool:
    """Return True if a thought of the reply is never closed."""
    return outside_thinking(text).cut


class Outside(NamedTuple):
    """A text without its thinking, whether it ends in the middle of a thought, and the last thought
    that may hold the answer if nothing else does."""

    said: str
    cut: bool = False
    thought: str = ""


def outside_thinking(text: str) -> Outside:
    if _BARE_CHANNEL.match(text) and (_BARE_FINAL in text or text.lstrip()[8:9].isupper()):
        thought, final, said = text.rpartition(_BARE_FINAL)
        thought = thought or said
        return Outside(said if final else "", not final, thought.lstrip()[len("analysis") :])
    if "<|channel|>" in text:
        found = [match.group(1, 2) for match in _ANALYSIS.finditer(text)]
        said = _CHANNEL.sub("\n", _ANALYSIS.sub("\n", text))
        thought, end = found[-1] if found else ("", None)
        return Outside(said, end is not None, thought)
    if not _THOUGHTS.search(text):
        return Outside(text)
    kept: list[str] = []
    position = 0
    opened: re.Match[str] | None = None
    thought = ""
    end = len(text.rstrip())
    for tag in _THOUGHT.finditer(text):
        if not any(tag.group("close", "kimi", "magistral", "sky", "gemma")):
            if opened is None and _starts_line(text, tag.start(), position):
                opened = tag
                kept.append(text[position : tag.start()])
        elif opened is not None and (opened["other"] or "").lower() == (tag["other"] or "").lower():
            thought = text[opened.end() : tag.start()] if opened["other"] else ""
            opened, position = None, tag.end()
        elif (not tag["other"] or opened is None) and (
            tag.end() < end
            and (_starts_line(text, tag.start(), position) or _ends_line(text, tag.end()))
        ):
            opened, kept, position = None, [], tag.end()
    if opened is None:
        kept.append(text[position:])
    return Outside("".join(kept), opened is not None, thought)


def _starts_line(text: str, place: int, floor: int) -> bool:
    # Looking back a bounded distance keeps this linear; no tag is indented by more.
    floor = max(floor, place - 80)
    start = text.rfind("\n", floor, place) + 1
    return (start > 0 or floor + 80 > place) and not text[max(start, floor) : place].strip()


def _ends_line(text: str, place: int) -> bool:
    return not text[place : place + 80].partition("\n")[0].strip()


_LINE_ENDS = re.compile("\r\n|[\r\u2028\u2029]")
# Invisible characters; a joiner is part of its letter or emoji.
_UNSEEN = "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_HALVES = re.compile("[\ud800-\udfff]")
_HIDDEN = re.compile(f"[{_UNSEEN}]")
# Tokens that chat templates put around turns and texts; places in pictures have theirs, too.
_CONTROL = (
    r"<[|\uff5c](?!(?:box|point|quad|object_ref)_|(?:begin|end)_of_box)[^\s<>|\uff5c]{1,40}[|\uff5c]>"
    r"|</?(?:s|eos|bos|pad|unk|eot)>|<(?:start|end)_of_(?:turn|utterance|text)>|\[(?:EOS|/?INST)\]"
    r"|<\|?turn\|?>|\[e~\["
)
_CONTROL_AHEAD = re.compile(rf"^[ \t]*+(?:(?:{_CONTROL})[ \t]*+)++", re.MULTILINE)
_CONTROL_END = re.compile(rf"(?:{_CONTROL})\Z")
_ENDS_LINE = re.compile(
    rf"(?:{_CONTROL}|<(?i:br) ?/?>|</(?P<tag>[A-Za-z][\w-]{{0,30}})>"
    r"|(?P<mark>(?<!\*)\*\*|(?<!`)`|(?<=\S)(?<!`)```))\Z"
)
_LONGEST_TOKEN = 64
_OPENED = re.compile(r"<([A-Za-z][\w-]{0,30})")
# Closing tags of markup go even where another line has the opening one.
_MARKUP = frozenset(("answer", "b", "body", "code", "div", "em", "font", "html", "i", "li", "p"))
_MARKUP |= {"response", "span", "strong", "td", "tr", "u", "ul"}
_BOX_TAG = re.compile(
    r"<\|(?:begin(?P<begin>)|end)_of_box\|>|<(?:(?P<open>)|/)(?:final_?)?answer>", re.IGNORECASE
)
_LATEX_BOX = re.compile(r"\\boxed\{")
_BRACE = re.compile(r"[{}]")
_LONGEST_BOX = 2_000
_MOST_BOXES = 100
_STRUCK = re.compile(r"~~(?=\S)[^~\n]{1,300}~~|<del>[^<\n]{0,300}</del>")
_JOINERS = "\u200c\u200d"

# Circled, parenthesised and squared letters, by the code of their A.
_ENCLOSED = {
    first + place: chr(ord("A") + place)
    for first in (0x249C, 0x24B6, 0x24D0, 0x1F110, 0x1F130, 0x1F150, 0x1F170)
    for place in range(26)
}

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
_OFFERING = ("or", "nor", "/", "")
"""What offers the box behind it next to the one before."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text and its normalised shadow, aligned character by character.

    text: the text as written; values are cut from it.
    shadow: full-width and styled letters are plain ones, joiners are blanks, and what is struck out
        is `~`; keys and letters are searched in it.
    cut: whether it is incomplete: the reply ran into the output limit, or ends inside a thought.
    """

    text: str
    shadow: str
    cut: bool = False

    def part(self, start: int, end: int) -> Source:
        """Return the piece from `start` up to `end`."""
        return Source(self.text[start:end], self.shadow[start:end], self.cut)


def source(text: str) -> Source:
    """`text` with its shadow."""
    return Source(text, _shadow(text))


def tidy(text: str) -> str:
    """Convert every kind of line end to a line feed, remove invisible characters, and replace lone
    surrogates.

    A lone surrogate can come out of JSON and could not be written to a file.
    """
    if text.isascii():
        return text.replace("\r\n", "\n").replace("\r", "\n")
    return _HALVES.sub("\ufffd", _HIDDEN.sub("", _LINE_ENDS.sub("\n", text)))


_WIDE = {code: code - 0xFEE0 for code in range(0xFF10, 0xFF5B) if chr(code).isalnum()}


def plain_width(text: str) -> str:
    """Replace full-width letters and digits by plain ones."""
    return text if text.isascii() else text.translate(_WIDE)


def _shadow(text: str) -> str:
    if "~~" in text or "<del>" in text:
        text = _STRUCK.sub(lambda struck: "~" * len(struck[0]), text)
    if text.isascii():
        return text
    table: dict[int, str] = {}
    for char in set(text):
        if char.isascii():
            continue
        if char in _JOINERS:
            table[ord(char)] = " "
            continue
        if (enclosed := _ENCLOSED.get(ord(char))) is not None:
            table[ord(char)] = enclosed
            continue
        plain = unicodedata.normalize("NFKC", char)
        # Only one-to-one: positions in the shadow are positions in the text.
        if len(plain) == 1 and plain.isascii():
            table[ord(char)] = plain
    table[ord("\u2236")] = ":"
    return text.translate(table)


def rewritten(reply: ReplyText, text: str) -> ReplyText:
    """Return the reply with another text."""
    return replace(reply, text=text, shadow=_shadow(text))


def without_tokens(text: str, *, boxes: bool = False) -> str:
    """Remove answer tokens (unless `boxes`), control tokens that begin or end a line, and what else
    is left at the ends of lines: breaks, closing tags, unpaired marks.

    >>> without_tokens("VALUE: <|begin_of_box|>Ohio<|end_of_box|></s>"), without_tokens("a </s> b")
    ('VALUE: Ohio', 'a </s> b')
    """
    if "<" in text:
        text = _CONTROL_AHEAD.sub("", text if boxes else _unboxed(text))
    if not any(mark in text for mark in ("<", "[", "**", "`")):
        return text
    opened = {name.lower() for name in _OPENED.findall(text)}
    return "\n".join(_without_ending(line, opened) for line in text.split("\n"))


def without_control(text: str) -> str:
    """Remove control tokens at the end of a text."""
    end = len(text.rstrip())
    while found := _CONTROL_END.search(text, max(0, end - _LONGEST_TOKEN), end):
        text = text[: found.start()]
        end = len(text.rstrip())
        text = text[:end]
    return text


def _boxes(text: str) -> list[tuple[int, int, int, int]]:
    """Return the start, inner start, inner end and end of each pair of answer tokens."""
    found: list[tuple[int, int, int, int]] = []
    opening: re.Match[str] | None = None
    for tag in _BOX_TAG.finditer(text):
        if tag["begin"] is not None or tag["open"] is not None:
            opening = tag
        elif opening is not None:
            found.append((*opening.span(), *tag.span()))
            opening = None
    return found


def _unboxed(text: str) -> str:
    pieces, done = [], 0
    for start, inside, end, over in _boxes(text):
        joint = "\n" if text[start - 1 : start] in (".", "!", "?") else ""
        pieces += [text[done:start], joint, text[inside:end]]
        done = over
    return "".join([*pieces, text[done:]])


def _without_ending(line: str, opened: set[str]) -> str:
    """Return a line without the tokens at its end; `opened` are the tags of the whole text."""
    end = len(line.rstrip())
    kept = len(line)
    here: set[str] | None = None
    while found := _ENDS_LINE.search(line, max(0, end - _LONGEST_TOKEN), end):
        if mark := found["mark"]:
            if line.count(mark, 0, end) % 2 == 0:
                break
        elif found["tag"]:
            here = {name.lower() for name in _OPENED.findall(line)} if here is None else here
            name = found["tag"].lower()
            if name in here or (name in opened and name not in _MARKUP):
                break
        end = found.start()
        while end and line[end - 1].isspace():
            end -= 1
        kept = end
    return line[:kept]


@dataclass(frozen=True, slots=True)
class Nothing:
    """Why a reply has nothing to parse."""

    status: Status
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplyText(Source):
    """The part of a reply to parse.

    boxed: what stands between the last answer tokens of a family, such as `<answer>`.
    flags: what had to be done to find it: `in_thought` if all of the reply was a thought.
    """

    boxed: Source | None = None
    flags: tuple[str, ...] = ()

    @property
    def inside(self) -> ReplyText | None:
        """Return the text between the last answer tokens; None without any."""
        if (box := self.boxed) is None:
            return None
        return ReplyText(box.text, box.shadow, self.cut, None, self.flags)

    def behind(self, start: int) -> ReplyText:
        """Return the reply from a position on."""
        rest = self.part(start, len(self.shadow))
        return replace(self, text=rest.text, shadow=rest.shadow)


def open_reply(text: str, finish: str, *, boxes: bool = False) -> ReplyText | Nothing:
    """Return the part of a reply to parse: everything except its thinking and control tokens.

    A thought that is never closed means that the reply was cut off, whatever the provider says:
    servers that count the thought as part of the reply may report `stop`. A reply that is nothing
    but an analysis, a reflection or the like, is that text, flagged `in_thought`.

    `finish` is as in `read_answer`. `boxes` says whether answer tokens stay. Raises `ValueError`
    for an unknown finish.
    """
    if finish not in FINISHES:
        raise ValueError(f"unknown finish {finish!r}: expected one of {sorted(FINISHES)}")
    if finish in ENDED:
        return Nothing(ENDED[finish])
    whole = tidy(text)
    kept, thinking, thought = outside_thinking(whole)
    flags: tuple[str, ...] = ()
    if not thinking and thought.strip() and not without_tokens(kept).strip():
        kept, flags = thought, ("in_thought",)
    kept = _unquoted(kept)
    found = [] if boxes else _boxes(kept)
    inside = (without_tokens(kept[start:end]) for _, start, end, _ in reversed(found))
    boxed = next((source(said) for said in inside if said.strip()), None)
    if len(found) > 1 and kept[found[-2][3] : found[-1][0]].strip(" \n,/;").lower() in _OFFERING:
        boxed = None
    if "\\boxed{" in kept and not boxes:
        kept, said_boxed = _without_latex(kept)
        boxed = boxed or (source(said_boxed) if said_boxed.strip() else None)
    said = without_tokens(kept, boxes=boxes)
    reply = ReplyText(said, _shadow(said), thinking or finish == "length", boxed, flags)
    if reply.shadow.strip():
        return reply
    if reply.cut:
        return Nothing(Status.TRUNCATED)
    return Nothing(Status.EMPTY, ("only_thinking",) if kept != whole else ())


def _without_latex(text: str) -> tuple[str, str]:
    r"""Return a text without the frame of a `\boxed{...}` of several parts, and what is in the
    only box there is."""
    pieces, done, inside = [], 0, set()
    openings = list(_LATEX_BOX.finditer(text))
    for opening in openings[: _MOST_BOXES // 2] + openings[_MOST_BOXES // 2 :][-_MOST_BOXES // 2 :]:
        depth, end = 1, opening.end()
        for brace in _BRACE.finditer(text, opening.end(), opening.end() + _LONGEST_BOX):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                end = brace.start()
                break
        if depth or opening.start() < done:
            continue
        content = text[opening.end() : end]
        inside.add(content.strip())
        if ":" in content or "\n" in content:
            pieces += [text[done : opening.start()], content]
            done = end + 1
    return "".join([*pieces, text[done:]]), inside.pop() if len(inside) == 1 else ""


def _unquoted(text: str) -> str:
    """Return the text that a reply is as a JSON text with escapes; any other unchanged."""
    plain = text.strip()
    if len(plain) > 1 and plain[0] == plain[-1] == '"' and "\\" in plain:
        try:
            return tidy(json.loads(plain, strict=False))
        except (ValueError, RecursionError):
            pass
    return text


def refuses(shadow: str) -> bool:
    """Return True if the reply begins with a refusal."""
    return _REFUSAL.search(shadow[:400].replace("\u2019", "'")) is not None
