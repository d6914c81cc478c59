"""Parse and write answers that describe an element: SeeAct's five lines from ELEMENT to VALUE."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from parsers.dictionaries import json_objects
from parsers.elements import says_none
from parsers.operations import OperationReading, read_operation
from parsers.records import Operation, Status
from parsers.reply_text import Nothing, Source, open_reply, refuses
from parsers.values import clean_value, is_missing, written_value

KEYS = ("ELEMENT TYPE", "ELEMENT TEXT", "ELEMENT", "ACTION", "VALUE")
_LINE = re.compile(
    r"[\s\d\-*_`#>\"'\u2022\u00b7({\[.)\u201c\u2018|+]{0,40}"
    r"(?P<key>ELEMENT[ _]?TYPE|ELEMENT[ _]?TEXT|ELEMENT|ACTION|VALUE)"
    r"[\"'*_`)\]\u201d\u2019]{0,6}\s{0,4}[:=]",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^A-Z]")
_BY_LETTERS = {key.replace(" ", ""): key for key in KEYS}
_TEMPLATE = re.compile(r"BUTTON\W+(?:or\W+)?TEXTBOX\W+(?:or\W+)?SELECTBOX", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Described:
    """The parsed content of one reply. With status `answered`, name, type or text is not empty.

    name: the element in the model's own words.
    type, text: as written; "" if missing.
    """

    status: Status
    name: str = ""
    type: str = ""
    text: str = ""
    operation: Operation | None = None
    value: str = ""
    flags: tuple[str, ...] = ()


@dataclass(slots=True)
class _Block:
    start: int
    fields: dict[str, str] = field(default_factory=dict)
    value_finished: bool = False

    @property
    def about_element(self) -> bool:
        contents = (self.fields.get(key, "").strip() for key in KEYS[:3])
        return any(contents) and not _TEMPLATE.search(self.fields.get("ELEMENT TYPE", "")[:200])

    @property
    def operation(self) -> OperationReading:
        return read_operation(self.fields.get("ACTION", ""))


def read_described(text: str, *, finish: str = "stop") -> Described:
    """Parse the description in `text`: lines, or a JSON object with the same keys, in any case.

    The last block with both an element and an action counts, flagged `multiple` if there are
    several; else the last that says anything about an element. No text raises an exception, and
    parsing takes linear time. `finish` is as in `read_answer`.

    >>> described = read_described("ELEMENT TYPE: BUTTON\\nELEMENT TEXT: Search\\nACTION: CLICK")
    >>> described.type, described.text, described.operation
    ('BUTTON', 'Search', 'CLICK')

    Raises `ValueError` for an unknown `finish`.
    """
    reply = open_reply(text, finish)
    if isinstance(reply, Nothing):
        return Described(reply.status, flags=reply.flags)
    objects = _from_objects(reply)
    spans = [(block.start, end) for block, end in objects]
    lines = _from_lines(reply, spans)
    blocks = sorted([*lines, *(block for block, _ in objects)], key=lambda block: block.start)
    complete = [b for b in blocks if b.about_element and b.fields.get("ACTION", "").strip()]
    if reply.cut:
        complete = [b for b in complete if _is_whole(b)]
        if not complete:
            return Described(Status.TRUNCATED)
    flags = {"truncated"} if reply.cut else set()
    if len(complete) > 1:
        flags.add("multiple")
    described = complete or [b for b in blocks if b.about_element]
    if described:
        return _answer(described[-1], flags)
    if refuses(reply.shadow):
        return Described(Status.REFUSAL)
    acting = [b for b in blocks if b.operation.readable]
    if acting:
        answer = _answer(acting[-1], flags)
        return replace(answer, status=Status.NO_ELEMENT, name="", type="", text="")
    return Described(Status.PARSE_ERROR)


def _answer(block: _Block, flags: set[str]) -> Described:
    operation = block.operation
    flags |= operation.flags(named="ACTION" in block.fields)
    value = ""
    if operation.operation in ("TYPE", "SELECT"):
        value = clean_value(block.fields.get("VALUE", ""))
        if is_missing(value):
            value = ""
            flags.add("missing_value")
    name, kind, text = (clean_value(block.fields.get(k, "")) for k in ("ELEMENT", *KEYS[:2]))
    kind, text = ("" if is_missing(part) else part for part in (kind, text))
    status = Status.ANSWERED if name or kind or text else Status.NO_ELEMENT
    if not (kind or text) and name and says_none(name):
        status = Status.NONE
    return Described(status, name, kind, text, operation.operation, value, tuple(sorted(flags)))


def _is_whole(block: _Block) -> bool:
    operation = block.operation
    return operation.readable and (operation.operation in (None, "CLICK") or block.value_finished)


def _from_lines(reply: Source, objects: Sequence[tuple[int, int]]) -> list[_Block]:
    blocks: list[_Block] = []
    waiting: str | None = None
    offset = 0
    for line in reply.shadow.split("\n"):
        start, end = offset, offset + len(line)
        offset = end + 1
        finished = end < len(reply.shadow)
        match = _LINE.match(line)
        if match is not None and any(s <= start + match.start("key") < e for s, e in objects):
            waiting = None
            continue
        if match is None:
            # The content of a key with an empty rest of line is the next non-empty line.
            if waiting is not None and line.strip() and not line.lstrip().startswith("```"):
                blocks[-1].fields[waiting] = reply.text[start:end].strip()
                blocks[-1].value_finished |= waiting == "VALUE" and finished
                waiting = None
            continue
        key = _BY_LETTERS[_LETTERS.sub("", match["key"].upper())]
        if not blocks or key in blocks[-1].fields:
            blocks.append(_Block(start))
        content = _unmarked(reply.text[start + match.end() : end].strip(), match, line)
        blocks[-1].fields[key] = content
        blocks[-1].value_finished |= key == "VALUE" and finished and bool(content)
        waiting = None if content else key
    return blocks


def _unmarked(content: str, match: re.Match[str], line: str) -> str:
    """The content without the closing mark of markup that began before the key."""
    before = line[: match.start("key")]
    for mark in ("**", "__", "*", "_", "`"):
        if before.endswith(mark):
            if mark not in line[match.end("key") : match.end()]:
                content = content.removeprefix(mark).strip()
                return content.removesuffix(mark).rstrip() if content.count(mark) == 1 else content
            break
    return content


def _from_objects(reply: Source) -> list[tuple[_Block, int]]:
    """JSON objects with such keys, each with its end; braces after a key are its content."""
    blocks = []
    for start, end, content in json_objects(reply.text):
        line = _LINE.match(reply.shadow, reply.shadow.rfind("\n", 0, start) + 1)
        if line is not None and line.end() <= start:
            continue
        parts = {_LETTERS.sub("", str(key).upper()): value for key, value in content.items()}
        fields = {
            _BY_LETTERS[key]: " ".join(value.split()) if isinstance(value, str) else ""
            for key, value in parts.items()
            if key in _BY_LETTERS
        }
        if fields:
            blocks.append((_Block(start, fields, value_finished=True), end))
    return blocks


def spell_described(
    about: Mapping[str, str] | None, operation: Operation | None, value: str
) -> str:
    """Write the five lines. `about` has `name`, `type` and `text`; None means that no element fits.

    Line breaks and runs of blanks become one blank. A text or a value that is itself a word for
    "nothing" (None, N/A, null) is read as missing.
    """
    element: Sequence[tuple[str, str]] = [("ELEMENT", "None"), (KEYS[0], "None"), (KEYS[1], "None")]
    if about is not None:
        element = [
            ("ELEMENT", written_value(about["name"])),
            (KEYS[0], about["type"] or "None"),
            (KEYS[1], written_value(about["text"]) or "None"),
        ]
    written = written_value(value) if operation in ("TYPE", "SELECT") and value else "None"
    lines = [*element, ("ACTION", operation or "NONE"), ("VALUE", written)]
    return "\n\n".join(f"{key}: {content}" for key, content in lines)
