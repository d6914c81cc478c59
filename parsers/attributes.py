"""Parse and write answers that describe an element: SeeAct's five lines from ELEMENT to VALUE."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from parsers.answer_blocks import Block, read_blocks
from parsers.answer_lines import DESCRIBED, Key
from parsers.answers import as_lines
from parsers.elements import says_none
from parsers.plans import choose_answer
from parsers.records import Operation, Status
from parsers.reply_text import Nothing, open_reply, refuses
from parsers.values import clean_value, is_missing, said_value, written_value

_ELEMENT: tuple[Key, ...] = ("ELEMENT", "ELEMENT TYPE", "ELEMENT TEXT")
_TEMPLATE = re.compile(r"BUTTON\W+(?:or\W+)?TEXTBOX\W+(?:or\W+)?SELECTBOX", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ElementAttributes:
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


def read_attributes(text: str, *, finish: str = "stop") -> ElementAttributes:
    """Parse the description in `text`: lines, or a JSON object with the same keys, in any case.

    Of several blocks with both an element and an action one counts (see `plans`), flagged
    `multiple`; without any, the last that says something about an element. No text raises an
    exception, and parsing takes linear time. `finish` is as in `read_answer`.

    >>> described = read_attributes("ELEMENT TYPE: BUTTON\\nELEMENT TEXT: Search\\nACTION: CLICK")
    >>> described.type, described.text, described.operation
    ('BUTTON', 'Search', 'CLICK')

    Raises `ValueError` for an unknown `finish`.
    """
    reply = open_reply(text, finish)
    if isinstance(reply, Nothing):
        return ElementAttributes(reply.status, flags=reply.flags)
    reply = as_lines(reply)
    blocks = read_blocks(reply, DESCRIBED)
    block, flags = choose_answer(
        [block for block in blocks if not (block.template or _lists_types(block))],
        reply,
        lambda block: (
            _about_element(block)
            and _written(block, "ACTION") != ""
            and (block.whole or not reply.cut)
        ),
    )
    if block is None and reply.cut:
        return ElementAttributes(Status.TRUNCATED)
    about = [b for b in blocks if _about_element(b) and not _lists_types(b)]
    if block or about:
        return _answer(block or about[-1], flags)
    if refuses(reply.shadow):
        return ElementAttributes(Status.REFUSAL)
    acting = [b for b in blocks if b.operation.readable]
    if acting:
        answer = _answer(acting[-1], flags)
        return replace(answer, status=Status.NO_ELEMENT, name="", type="", text="")
    return ElementAttributes(Status.PARSE_ERROR)


def _written(block: Block, key: Key) -> str:
    content = block.content(key)
    return content.text.strip() if content else ""


def _about_element(block: Block) -> bool:
    return any(_written(block, key) for key in _ELEMENT)


def _lists_types(block: Block) -> bool:
    """Return True if a block lists the types of elements, as an echoed format description does."""
    return bool(_TEMPLATE.search(_written(block, "ELEMENT TYPE")[:200]))


def _answer(block: Block, flags: set[str]) -> ElementAttributes:
    operation = block.operation
    action = _written(block, "ACTION")
    value, missing = said_value(operation.operation, _written(block, "VALUE"), action=action)
    flags = {*flags, *operation.flags(named=block.action is not None), *missing}
    name, kind, text = (clean_value(_written(block, key)) for key in _ELEMENT)
    kind, text = ("" if is_missing(part) else part for part in (kind, text))
    status = Status.ANSWERED if name or kind or text else Status.NO_ELEMENT
    if not (kind or text) and name and says_none(name):
        status = Status.NONE
    return ElementAttributes(
        status, name, kind, text, operation.operation, value, tuple(sorted(flags))
    )


def write_attributes(
    about: Mapping[str, str] | None, operation: Operation | None, value: str
) -> str:
    """Write the five lines. `about` has `name`, `type` and `text`; None means that no element fits.

    Line breaks and runs of blanks become one blank. A text or a value that is itself a word for
    "nothing" (None, N/A, null) is read as missing.
    """
    element: Sequence[tuple[str, str]] = [(key, "None") for key in _ELEMENT]
    if about is not None:
        element = [
            ("ELEMENT", written_value(about["name"])),
            ("ELEMENT TYPE", about["type"] or "None"),
            ("ELEMENT TEXT", written_value(about["text"]) or "None"),
        ]
    written = written_value(value) if operation in ("TYPE", "SELECT") and value else "None"
    lines = [*element, ("ACTION", operation or "NONE"), ("VALUE", written)]
    return "\n\n".join(f"{key}: {content}" for key, content in lines)
