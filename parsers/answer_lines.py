"""Keyed lines of a reply: ELEMENT, ACTION, VALUE and others, as models bend them.

One pass over the lines; all patterns are anchored or bounded, so reading takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from parsers.plans import Between, between
from parsers.reply_text import Source

Key = Literal["ELEMENT", "ELEMENT TYPE", "ELEMENT TEXT", "ACTION", "VALUE", "ANSWER"]

NAMES: Mapping[Key, str] = {
    "ELEMENT": "ELEMENT|ELEMENTO|ÉLÉMENT|ЭЛЕМЕНТ|元素|要素|요소",
    "ACTION": "ACTION|AKTION|ACCIÓN|AÇÃO|AZIONE|ACTIE|ДЕЙСТВИЕ|操作|动作|動作|작업|동작",
    "VALUE": "VALUE|WERT|VALOR|VALEUR|VALORE|WAARDE|ЗНАЧЕНИЕ|值|値|값",
    "ANSWER": "ANSWER",
    "ELEMENT TYPE": "ELEMENT[ _]?TYPE",
    "ELEMENT TEXT": "ELEMENT[ _]?TEXT",
}
"""The keys in the languages of replies, as patterns."""


def _any_of(*keys: Key) -> str:
    return "|".join(NAMES[key] for key in keys)


_KEYS: dict[str, Key] = {
    re.sub(r"\[ _\]\?", "", name): key for key, names in NAMES.items() for name in names.split("|")
}
_NUMBER = r"(?:\s?#?\d{1,2})?"
_QUOTES = r"(?P<post>[\"'*_`)\]\u201d\u2019\u3011]*+)"
_MARKUP = r"</?(?:b|i|u|em|strong|p|li|ul|ol|span|div|code|font|h[1-6])\b[^<>\n]{0,60}>"
# Text that may precede a key: marks of any kind, numbers, markup, a few words.
_LINE = (
    rf"(?P<pre>(?:[^\w<\n]|[\d_]|{_MARKUP})*+)"
    r"(?:(?:the|my|selected|chosen|final|correct|best|target|input)\s{1,3}){0,3}"
    rf"(?P<key>%s)(?:\s{{1,2}}to\s\w{{1,10}})?{_NUMBER}{_QUOTES}(?:</[a-zA-Z]\w{{0,7}}>)?"
    r"(?:(?:\s*+(?::=?|==?(?!>)|[-=]+>|[\u2192\u21d2\u27a1\u279c])|\s{1,3}[-\u2013\u2014]{1,2}(?=\s))"
    r"\ufe0f?(?:\s?</[a-zA-Z]\w{0,7}>)?|(?<=[\]\u3011])(?=\s\S)|(?P<alone>\s*+)$)"
)
# Inside a line only capitals count, because prose may well mention an action, and no condition
# does ("if ACTION == TYPE"); behind a key that is not in capitals, others in its style.
_INSIDE = (
    r"(?<![A-Za-z])(?<![Ii]f )(?<!IF )(?<![Ww]hen )(?P<pre>[*_`\"']{0,3})(?P<key>%s)"
    + _NUMBER
    + _QUOTES
    + r"\s*+(?::=?|=(?!=))"
)
_ANY_INSIDE = re.compile(_INSIDE % _any_of("ELEMENT", "ACTION", "VALUE"))
_FOLLOWING: dict[Key, Key] = {"ELEMENT": "ACTION", "ANSWER": "ACTION", "ACTION": "VALUE"}
_FOLLOWERS = {
    (key, style): re.compile(_INSIDE % "|".join(words[: 1 + place]))
    for key in ("ACTION", "VALUE")
    for words in [(NAMES[key], NAMES[key].title(), NAMES[key].lower())]
    for place, style in enumerate(("upper", "title", "lower"))
}
# Before a key inside a line: "Final answer: ELEMENT: H".
_LABEL = re.compile(r"[^:]{1,40}:[\s*_`\"'(\[]{0,8}")
_LONGEST_LABEL = 80
_LONGEST_QUOTATION = 1_000
_MOST_LINES = 8
# A line that begins with a single letter, as in MindAct: "C." or "C. Search".
_LETTER_LINE = re.compile(
    r"[\s*_`\"'(\[>#-]*+[A-Z]{1,2}(?:[\s.,:;*_`\"')\]]*+$|[\s*_`\"')\]]*+[.:)]\s)"
)
_LETTER_ALONE = re.compile(r"\W*+[A-Z]{1,2}\W*+")
_RULE = re.compile(r"\s*+(?:```|[-*_=~#][\s*_=~#-]{2,}$)")
_WORD = re.compile(r"[^\W_]")
_MARKS = ("***", "**", "__", "*", "_", "`", '"', "'", "\u201c", "\u2018")
_CLOSING = {"\u201c": "\u201d", "\u2018": "\u2019"}
_TAG_BEFORE = re.compile(r"<(\w{1,8})[^<>]{0,60}>")
_TAG_BEHIND = re.compile(r"\s{0,3}</(\w{1,8})>\Z")
# A comment in YAML, whose keys are in lower case, behind a content that ends before it.
_COMMENTED = re.compile(
    r"(\s*+(?:\"(?:[^\"\\\n]|\\.){0,300}+\"|'[^'\n]{0,300}'|[A-Z]{1,2}|(?i:click|type|select|none|null|~)))\s++#\s"
)
_JSON_REST = re.compile(r"(\".*\")\s*[,}\]]+\s*", re.DOTALL)
_NOT_LETTERS = re.compile(r"[\W\d_]")


@dataclass(frozen=True, slots=True)
class BlockForm:
    """The keys of a block, and the texts that a line may have.

    line: matches a line that begins with a key.
    keys: the keys of a JSON object.
    free: the keys with any text, which is not searched.
    """

    line: re.Pattern[str]
    keys: frozenset[Key]
    free: frozenset[Key]


LETTERED = BlockForm(
    re.compile(_LINE % _any_of("ELEMENT", "ACTION", "VALUE", "ANSWER"), re.IGNORECASE),
    frozenset(("ELEMENT", "ACTION", "VALUE", "ANSWER")),
    frozenset(("VALUE",)),
)
"""SeeAct's three lines, or MindAct's with `Answer` for the element."""
POINTED = BlockForm(
    re.compile(_LINE % _any_of("ELEMENT", "ACTION", "VALUE"), re.IGNORECASE),
    LETTERED.keys,
    LETTERED.free,
)
"""Three lines with a location for the element, which may also stand without its key."""
DESCRIBED = BlockForm(
    re.compile(
        _LINE % _any_of("ELEMENT TYPE", "ELEMENT TEXT", "ELEMENT", "ACTION", "VALUE"), re.IGNORECASE
    ),
    frozenset(("ELEMENT", "ELEMENT TYPE", "ELEMENT TEXT", "ACTION", "VALUE")),
    frozenset(("ELEMENT", "ELEMENT TYPE", "ELEMENT TEXT", "ACTION", "VALUE")),
)
"""SeeAct's five lines, which describe the element."""


@dataclass(frozen=True, slots=True)
class KeyedLine:
    """One keyed line: its content, its span, and whether it ended with a line break."""

    key: Key
    content: Source
    start: int
    end: int
    finished: bool


def key_of(name: str) -> Key | None:
    """Return the key for a name in any spelling: `element_text`, `ELEMENT 2`."""
    return _KEYS.get(_NOT_LETTERS.sub("", name.upper()))


def read_fields(reply: Source, layout: BlockForm = LETTERED) -> list[KeyedLine]:
    """Return the keyed lines in order.

    If no line begins with an ELEMENT key, one inside a line counts, else `Answer:` or a letter on
    the line before an action (MindAct's format).
    """
    fields = list(_scan(reply, layout))
    if "ELEMENT" not in layout.free:
        known = {field.key for field in fields}
        needed: set[Key] = (
            {"ACTION", "VALUE"} if "ANSWER" in known else {"ELEMENT", "ACTION", "VALUE"}
        )
        missing = needed - known
        missing = {
            key for key in missing if any(name in reply.shadow for name in NAMES[key].split("|"))
        }
        letters = layout is LETTERED and "ELEMENT" not in known
        if missing or letters:
            fields = list(_scan(reply, layout, inside=missing, letters=letters))
    fields = [_with_quotation(reply, field, layout) for field in fields]
    if any(field.key == "ELEMENT" for field in fields):
        return [field for field in fields if field.key != "ANSWER"]
    return [replace(field, key="ELEMENT") if field.key == "ANSWER" else field for field in fields]


def _with_quotation(reply: Source, field: KeyedLine, layout: BlockForm) -> KeyedLine:
    """Return a VALUE with the lines below it up to the mark that closes its quotation."""
    text = field.content.text.strip()
    closing = {'"': '"', "\u201c": "\u201d"}.get(text[:1])
    if field.key != "VALUE" or closing is None or closing in text[1:]:
        return field
    end = field.end + 1
    for line in reply.text[end : end + _LONGEST_QUOTATION].split("\n")[:_MOST_LINES]:
        end += len(line) + 1
        if not line.strip() or layout.line.match(line):
            break
        if closing in line:
            if not line.rstrip().endswith(closing) or line.count(closing) > 1:
                break
            rest = reply.part(field.end, end - 1)
            content = Source(field.content.text + rest.text, field.content.shadow + rest.shadow)
            return replace(field, content=content, end=end - 1, finished=True)
    return field


def _scan(
    reply: Source, layout: BlockForm, *, inside: Collection[str] = (), letters: bool = False
) -> Iterator[KeyedLine]:
    waiting: KeyedLine | None = None
    offset = 0
    # A letter line, as long as no other line follows.
    letter: KeyedLine | None = None
    some = False
    for line in reply.shadow.split("\n"):
        start, end = offset, offset + len(line)
        offset = end + 1
        finished = end < len(reply.shadow)
        match = layout.line.match(line)
        if match is not None and match["alone"] is not None and not _is_heading(match, waiting):
            match = None
        if "ELEMENT" not in layout.free and (match is None or match["key"].upper() == "ANSWER"):
            match = _key_inside(line, inside) or match
        if match is None and letters and _LETTER_LINE.match(line):
            follower = _FOLLOWERS["ACTION", "title"].search(line)
            if follower is not None:
                content = _without(reply.part(start, start + follower.start()), trailing=" \t,;|")
                yield KeyedLine("ANSWER", content, start, start + follower.start(), True)
                match = follower
        if match is not None:
            # "Final answer:" above a block is not a field but a word about it.
            if waiting is not None and waiting.key != "ANSWER":
                yield waiting
            *whole, waiting = _on_line(reply, line, match, start, finished, layout)
            if letter is not None and (whole or [waiting])[0].key == "ACTION":
                yield letter
            letter, some = None, True
            yield from whole
            if waiting.content.shadow.strip():
                yield waiting
                waiting = None
        elif waiting is not None and _content_of(waiting.key, line):
            # The content of a key with an empty rest of line is the next non-empty line.
            content = reply.part(start, end)
            yield KeyedLine(waiting.key, content, waiting.start, end, finished)
            waiting = None
        elif letters and line.strip():
            content = reply.part(start, end)
            is_letter = _LETTER_LINE.match(line)
            letter = KeyedLine("ANSWER", content, start, end, finished) if is_letter else None
    if waiting is not None:
        yield waiting
    if some and letter is not None and _LETTER_ALONE.fullmatch(letter.content.shadow):
        yield letter


def _content_of(key: Key, line: str) -> bool:
    """Return True if a line below a key can be its content: marks alone can only be a value."""
    if key == "VALUE":
        return bool(line.strip()) and not _RULE.match(line)
    return _WORD.search(line) is not None and not _RULE.match(line)


def _is_heading(match: re.Match[str], waiting: KeyedLine | None) -> bool:
    """Return True if a key alone on its line is a heading, and not the value that is waited for."""
    if match["pre"].strip(" \t"):
        return True
    return match["key"][0].isupper() and (waiting is None or waiting.key != "VALUE")


def _key_inside(line: str, anywhere: Collection[str]) -> re.Match[str] | None:
    """Return a key inside a line that words lead up to: `Step 2: ELEMENT: H`, `No, wait, ELEMENT:
    H`. Those of `anywhere` need no such words."""
    match = _ANY_INSIDE.search(line)
    if match is None or key_of(match["key"]) in anywhere:
        return match
    before = line[: match.start()]
    if len(before) > _LONGEST_LABEL:
        return None
    introduced = _LABEL.fullmatch(before) or between(before) is not Between.DRAFT
    return match if introduced else None


def _on_line(
    reply: Source,
    line: str,
    match: re.Match[str] | None,
    start: int,
    finished: bool,
    layout: BlockForm,
) -> Iterator[KeyedLine]:
    """Yield the fields of one line; an action may follow the element, and a value the action."""
    while match is not None:
        key = key_of(match["key"])
        assert key is not None
        follower = None
        if key in _FOLLOWING and key not in layout.free:
            written = match["key"]
            style = "upper" if written.isupper() else "lower" if written.islower() else "title"
            follower = _FOLLOWERS[_FOLLOWING[key], style].search(line, match.end())
        end = follower.start() if follower else len(line)
        content = reply.part(start + match.end(), start + end)
        if follower:
            content = _without(content, trailing=" \t,;|")
        if match["key"].islower() and (comment := _COMMENTED.match(content.shadow)):
            content = content.part(0, comment.end(1))
        yield KeyedLine(
            key,
            _unmarked(content, match["pre"].strip(), match[0][len(match["pre"]) :]),
            start + match.start("key"),
            start + end,
            finished or follower is not None,
        )
        match = follower


def _without(content: Source, trailing: str) -> Source:
    return content.part(0, len(content.shadow.rstrip(trailing)))


def _unmarked(content: Source, before: str, after: str) -> Source:
    """Return the content without the closing mark of markup that began before the key.

    The closing mark precedes the content in `**ELEMENT:** H` and follows it in `**VALUE: x**`.
    """
    body = content.part(len(content.shadow) - len(content.shadow.lstrip()), len(content.shadow))
    body = _without(body, " \t")
    if '"' in after.partition(":")[0] and (rest := _JSON_REST.fullmatch(body.shadow)):
        return body.part(0, rest.end(1))
    mark = next((mark for mark in _MARKS if before.endswith(mark)), "")
    closing = _CLOSING.get(mark, mark)
    opened = _TAG_BEFORE.findall(before)
    while (tag := _TAG_BEHIND.search(body.shadow)) and tag[1] in opened:
        opened.remove(tag[1])
        body = body.part(0, tag.start())
    if not mark or closing in after:
        return body
    if body.shadow.startswith(closing):
        return body.part(len(closing), len(body.shadow))
    if body.shadow.endswith(closing):
        return body.part(0, len(body.shadow) - len(closing))
    return body
