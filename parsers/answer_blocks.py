"""Answer blocks: the ELEMENT, ACTION and VALUE lines of a reply, or a JSON object with these keys.

One pass over the lines; all patterns are anchored or bounded, so parsing takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from parsers.dictionaries import decode_object, opening_braces
from parsers.operations import read_operation
from parsers.reply_text import Source, source, tidy

Key = Literal["ELEMENT", "ACTION", "VALUE", "ANSWER"]

_AFTER = r"(?P<post>[\"'*_`)\]\u201d\u2019]*+)\s*+[:=]"
# What may precede a key: list marks, numbers, quotes, bold, headings, an opening brace.
_KEY = re.compile(
    r"(?P<pre>[\s\d\-*_`#>\"'\u2022\u00b7({\[.)\u201c\u2018|+]*+)"
    r"(?:FINAL\s{1,3})?(?P<key>ELEMENT|ACTION|VALUE|ANSWER)" + _AFTER,
    re.IGNORECASE,
)
# Inside a line only capitals count, because prose may well mention an action.
_INSIDE = r"(?<![A-Za-z])(?P<pre>[*_`\"']{0,3})(?P<key>%s)" + _AFTER
_ELEMENT_INSIDE = re.compile(_INSIDE % "ELEMENT")
_ACTION_INSIDE = re.compile(_INSIDE % "ACTION")
_VALUE_INSIDE = re.compile(_INSIDE % "VALUE")
_NEXT: dict[Key, re.Pattern[str]] = {
    "ELEMENT": _ACTION_INSIDE,
    "ANSWER": _ACTION_INSIDE,
    "ACTION": _VALUE_INSIDE,
}
_MARKS = ("***", "**", "__", "*", "_", "`", '"', "'", "\u201c", "\u2018")
_CLOSING = {"\u201c": "\u201d", "\u2018": "\u2019"}
_JSON_REST = re.compile(r"(\".*\")\s*[,}\]]+\s*", re.DOTALL)
_LETTERS = re.compile(r"[^A-Z]")
_TEMPLATE = re.compile(r"(?:uppercase|upper-case|capital) letter|letter of your choice", re.I)


@dataclass(frozen=True, slots=True)
class Field:
    """One keyed line: its content, its span, and whether it ended with a line break."""

    key: Key
    content: Source
    start: int
    end: int
    finished: bool


@dataclass(frozen=True, slots=True)
class Block:
    """An answer: the contents of its lines; None if a line is missing."""

    start: int
    element: Source | None = None
    action: Source | None = None
    value: Source | None = None
    finished: bool = True

    @property
    def template(self) -> bool:
        """Whether this echoes the format description instead of answering."""
        if self.element and _TEMPLATE.search(self.element.shadow[:200]):
            return True
        return self.action is not None and read_operation(self.action.shadow).several

    @property
    def complete(self) -> bool:
        """Whether element and action are both present."""
        present = self.element and self.element.shadow.strip(" *_`\"'")
        return bool(present and self.action and self.action.shadow.strip(" *_`\"'"))


def read_fields(source: Source) -> list[Field]:
    """The keyed lines in order. If no line begins with an ELEMENT key, one inside a line counts.

    `Answer:` (MindAct's format) counts as the element only if there is no ELEMENT line.
    """
    fields = list(_scan(source, loose=False))
    named = any(field.key in ("ELEMENT", "ANSWER") for field in fields)
    if not named and "ELEMENT" in source.shadow:
        fields = list(_scan(source, loose=True))
    if any(field.key == "ELEMENT" for field in fields):
        return [field for field in fields if field.key != "ANSWER"]
    return [
        Field("ELEMENT", f.content, f.start, f.end, f.finished) if f.key == "ANSWER" else f
        for f in fields
    ]


def _scan(source: Source, *, loose: bool) -> Iterator[Field]:
    waiting: Field | None = None
    offset = 0
    for line in source.shadow.split("\n"):
        start, end = offset, offset + len(line)
        offset = end + 1
        finished = end < len(source.shadow)
        match = _KEY.match(line)
        if match is None and loose:
            match = _ELEMENT_INSIDE.search(line)
        if match is not None:
            if waiting is not None:
                yield waiting
            *whole, waiting = _on_line(source, line, match, start, finished)
            yield from whole
            if waiting.content.shadow.strip():
                yield waiting
                waiting = None
        elif waiting is not None and line.strip() and not line.lstrip().startswith("```"):
            # The content of a key with an empty rest of line is the next non-empty line.
            content = source.part(start, end)
            yield Field(waiting.key, content, waiting.start, end, finished)
            waiting = None
    if waiting is not None:
        yield waiting


def _on_line(
    source: Source, line: str, match: re.Match[str] | None, start: int, finished: bool
) -> Iterator[Field]:
    """The fields of one line; an action may follow the element, and a value the action.

    The text of a value is never searched for keys, because it can be anything.
    """
    while match is not None:
        key: Key = match["key"].upper()  # type: ignore[assignment]
        follower = _NEXT[key].search(line, match.end()) if key in _NEXT else None
        end = follower.start() if follower else len(line)
        content = source.part(start + match.end(), start + end)
        if follower:
            content = _without(content, trailing=" \t,;|")
        yield Field(
            key,
            _unmarked(content, match["pre"].strip(), match["post"]),
            start + match.start("key"),
            start + end,
            finished or follower is not None,
        )
        match = follower


def _without(content: Source, trailing: str) -> Source:
    return content.part(0, len(content.shadow.rstrip(trailing)))


def _unmarked(content: Source, before: str, after: str) -> Source:
    """The content without the closing mark of markup that began before the key.

    The closing mark precedes the content in `**ELEMENT:** H` and follows it in `**VALUE: x**`.
    """
    body = content.part(len(content.shadow) - len(content.shadow.lstrip()), len(content.shadow))
    body = _without(body, " \t")
    if '"' in after and (rest := _JSON_REST.fullmatch(body.shadow)):
        return body.part(0, rest.end(1))
    mark = next((mark for mark in _MARKS if before.endswith(mark)), "")
    closing = _CLOSING.get(mark, mark)
    if not mark or closing in after:
        return body
    if body.shadow.startswith(closing):
        return body.part(len(closing), len(body.shadow))
    if body.shadow.endswith(closing):
        return body.part(0, len(body.shadow) - len(closing))
    return body


def group(fields: Sequence[Field]) -> list[Block]:
    """Group fields into answer blocks, in order.

    A key that the block already has starts a new block, with one exception: an action or value
    before the element of an incomplete block was a remark, and a later one replaces it.
    """
    blocks: list[dict[Key, Field]] = []
    for index, field in enumerate(fields):
        block = blocks[-1] if blocks else None
        if block is None or (field.key in block and not _replaces(block, field, fields, index)):
            blocks.append({field.key: field})
        else:
            block[field.key] = field
    return [_block(block) for block in blocks]


def _replaces(block: dict[Key, Field], field: Field, fields: Sequence[Field], index: int) -> bool:
    if field.key == "ELEMENT" or len(block) == 3:
        return False
    if index + 1 < len(fields) and fields[index + 1].key == "ELEMENT":
        return False
    element = block.get("ELEMENT")
    return element is None or block[field.key].start < element.start


def _block(fields: dict[Key, Field]) -> Block:
    element, action, value = (fields.get(key) for key in ("ELEMENT", "ACTION", "VALUE"))
    return Block(
        start=min(field.start for field in fields.values()),
        element=element.content if element else None,
        action=action.content if action else None,
        value=value.content if value else None,
        finished=value.finished if value else False,
    )


def read_json(text: Source, fields: list[Field]) -> list[tuple[Block, int]]:
    """JSON objects with an element or an action, each as a block with its end position.

    Braces in the content of a VALUE line belong to the value and are ignored.
    """
    values = [(field.start, field.end) for field in fields if field.key == "VALUE"]
    blocks: list[tuple[Block, int]] = []
    for start in opening_braces(text.text):
        if any(low < start < high for low, high in values):
            continue
        decoded = decode_object(text.text, start)
        if decoded is None:
            continue
        content, length = decoded
        block = _object_block(content, start)
        if block is not None:
            blocks.append((block, start + length))
    return blocks[::-1]


def _object_block(content: object, start: int) -> Block | None:
    if not isinstance(content, dict):
        return None
    parts = {_LETTERS.sub("", str(key).upper()): value for key, value in content.items()}
    if "ELEMENT" not in parts and "ANSWER" in parts and "ACTION" in parts:
        parts["ELEMENT"] = parts["ANSWER"]
    if "ELEMENT" not in parts and "ACTION" not in parts:
        return None
    element, action, value = (
        source(_plain(parts[key])) if key in parts else None
        for key in ("ELEMENT", "ACTION", "VALUE")
    )
    return Block(start, element, action, value)


def _plain(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, str):
        return " ".join(tidy(value).split())
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(tidy(item) for item in value if isinstance(item, str))
    return ""
