"""Parse a reply into an answer in terms of the offered options, and write an answer as a reply.

The format is SeeAct's three lines ELEMENT, ACTION and VALUE. Models deviate from it in many ways,
so the parser looks for answer blocks first (of several see `plans`), accepts the same keys as JSON,
and falls back to an isolated letter in prose. Text is only matched, never evaluated, and
parsing takes linear time.

Tags and tables are first written as keyed lines, one pass for each form:

    <element>C</element>            ELEMENT: C
    <parameter name="element">      with `</parameter>` behind the content: the same
    | ELEMENT | C |                 the same; a row per key, or a row of keys above one of contents
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from parsers.answer_blocks import Block, keyed, read_blocks
from parsers.answer_lines import LETTERED, NAMES
from parsers.calls import CALLED
from parsers.elements import ElementReading, Labels, read_element, read_prose
from parsers.option_text import is_letter, letters_for
from parsers.plans import choose_answer
from parsers.records import Answer, Operation, Status
from parsers.reply_text import Nothing, ReplyText, Source, open_reply, refuses, rewritten
from parsers.values import (
    OperationReading,
    ValueStyle,
    clean_value,
    is_missing,
    mentions_operation,
    operation_in_prose,
    read_operation,
    said_value,
    undressed,
    written_value,
)

_KEYS = "|".join(sorted(NAMES.values(), key=lambda names: "?" not in names))
_OPENING = re.compile(
    rf"(?:(?<=\n)|(?<=>)|\A)[ \t]{{0,20}}<(?:(?P<tag>{_KEYS})"
    rf"|(?P<named>param(?:eter)?|arg(?:ument)?|field|key|item)(?:\s?=\s?|\s{{1,3}}name\s?=\s?)[\"']?(?P<name>{_KEYS})[\"']?"
    rf"|(?:arg_key|dt|key)>\s{{0,3}}(?P<cell>{_KEYS}):?\s{{0,3}}</(?:arg_key|dt|key)>\s{{0,20}}"
    r"<(?P<beside>arg_value|dd|string))\s?>",
    re.IGNORECASE,
)
_ATTRIBUTED = re.compile(
    r"<([A-Za-z]\w{0,20})((?:\s{1,9}[\w-]{1,30}\s?=\s?(?:\"[^\"<>\n]{0,300}\"|'[^'<>\n]{0,300}')){1,6})\s{0,9}/?>"
)
_ATTRIBUTE = re.compile(r"([\w-]{1,30})\s?=\s?(?:\"([^\"]*)\"|'([^']*)')")
_BREAK = re.compile(rf"<br ?/?>(?=[^\w<]{{0,5}}(?:{_KEYS})\b)", re.IGNORECASE)
_LONGEST = 2_000
_MOST = 96
_CELL = re.compile(rf"[^\w<]*+(?:(?:the|selected|chosen|final)\s)?({_KEYS})[^\w<]*+", re.IGNORECASE)
_BEGUN = re.compile(r"[:=](\s+\W+)?\Z")
"""The end of a cell in which a value has begun."""
_BAR = re.compile(r"(?<!\\)[|\t\u2502\u2503\uff5c]")
_ROW = re.compile(r"<tr\b[^<>]*>\s*<t[dh]\b[^<>]*>|</t[dh]>\s*</tr>", re.IGNORECASE)
_BETWEEN = re.compile(r"</t[dh]>\s*<t[dh]\b[^<>]*>", re.IGNORECASE)
_RULE = re.compile(r"[\s|:+=-]+")


def as_lines(reply: ReplyText) -> ReplyText:
    r"""Return the reply with what it says in tags and tables as keyed lines.

    >>> from parsers.reply_text import open_reply
    >>> as_lines(open_reply("| ACTION | TYPE |\n<value>Ohio</value>", "stop")).text.split("\n")
    ['ACTION: TYPE', '', 'VALUE: Ohio', '']
    """
    text = reply.text
    if "<" in text:
        text = _BETWEEN.sub(" | ", _ROW.sub("\n", _BREAK.sub("\n", text)))
        text = _without_tags(_without_attributes(CALLED.sub(_as_action, text)))
    if _BAR.search(text):
        text = _without_tables(text)
    return reply if text == reply.text else rewritten(reply, text)


def _as_action(called: re.Match[str]) -> str:
    """Write the function of a call in tags as the action, if its name says one."""
    name = (called["function"] or called["invoke"]).replace("_", " ")
    return f"\nACTION: {name}\n" if read_operation(name).operation else called[0]


def _without_attributes(text: str) -> str:
    """Write tags with the keys as attributes as lines: `<action element="D" type="CLICK"/>`."""

    def lines(tag: re.Match[str]) -> str:
        given = {name: undressed(one or other) for name, one, other in _ATTRIBUTE.findall(tag[2])}
        said = keyed({"name": tag[1], **given}, LETTERED)
        if not {"ELEMENT", "ACTION"} <= said.keys():
            return tag[0]
        return "".join(f"\n{key}: {content.text}" for key, content in said.items()) + "\n"

    return _ATTRIBUTED.sub(lines, text)


def _without_tags(text: str) -> str:
    openings = list(_OPENING.finditer(text))
    if len(openings) > _MOST:
        openings = openings[: _MOST // 2] + openings[-_MOST // 2 :]
    pieces, done = [], 0
    for opening in openings:
        if opening.start() < done:
            continue
        closing = f"</{opening['tag'] or opening['named'] or opening['beside']}>"
        window = text[opening.end() : opening.end() + _LONGEST]
        end = window.lower().find(closing.lower())
        content = " ".join(undressed(window[: max(end, 0)]).split())
        if end < 0 or content.startswith("{"):
            continue
        key = (opening["tag"] or opening["name"] or opening["cell"]).replace("_", " ")
        pieces += [text[done : opening.start()], f"\n{key.upper()}: {content}\n"]
        done = opening.end() + end + len(closing)
    return "".join([*pieces, text[done:]]) if pieces else text


def _without_tables(text: str) -> str:
    kept: list[str] = []
    keys: list[str | None] = []
    changed = False
    for line in text.split("\n"):
        cells = _cells(line) if _BAR.search(line) else []
        named = [_key(cell) for cell in cells]
        if sum(key is not None for key in named) > 1:
            keys, changed = named, True
        elif keys and len(cells) == len(keys):
            if not _RULE.fullmatch(line):
                pairs = zip(keys, cells, strict=True)
                kept += [f"{key}: {cell}" for key, cell in pairs if key is not None]
        elif len(cells) > 1 and named[0] is not None and _is_row(line, cells):
            kept.append(f"{named[0]}: {cells[1]}")
            keys, changed = [], True
        else:
            kept.append(line)
            keys = keys if not line.strip() else []
    return "\n".join(kept) if changed else text


def _is_row(line: str, cells: Sequence[str]) -> bool:
    """Return True for `| ELEMENT | C |` and `ELEMENT | C`, not for `VALUE: | C` or `VALUE: {|0`."""
    return line.lstrip()[:1] in ("|", "\u2502", "\u2503", "\uff5c") or (
        len(cells) == 2 and not _BEGUN.search(cells[0])
    )


def _cells(line: str) -> list[str]:
    cells = [cell.strip().replace("\\|", "|") for cell in _BAR.split(line)]
    first = 1 if not cells[0] else 0
    return cells[first : len(cells) - (len(cells) > 1 and not cells[-1])]


def _key(cell: str) -> str | None:
    match = _CELL.fullmatch(cell) if len(cell) < 40 else None
    return match[1].upper().replace("_", " ") if match else None


def read_answer(
    text: str,
    options: Sequence[str],
    *,
    none_letter: str | None,
    letters: Sequence[str] | None = None,
    finish: str = "stop",
    first_of_many: bool = False,
    value_style: ValueStyle = "plain",
) -> Answer:
    """Parse the reply `text` to a question with `options`.

    Args:
        text: the reply; no text raises an exception.
        options: the choice texts in listed order.
        none_letter: the letter of the None option, which may be the first (MindAct) or the last
            (SeeAct); None without such an option. The word "none" is understood in any case.
        letters: the letters of the options; by default A, B, ... without `none_letter`.
        finish: why the reply ended: `stop`, `length`, `refusal`, `content_filter`,
            `provider_refused` or `too_long`.
        first_of_many: take the first of several letters on the ELEMENT line instead of treating
            the answer as ambiguous.
        value_style: see `clean_value`.

    A reply that ended by `length` or inside a thought counts only if it has a complete block:
    element, readable action, and for TYPE and SELECT a finished VALUE line. Otherwise it is
    `truncated`, whatever else it says, because the missing rest might have changed the answer.

    The operation is kept if only the element is unreadable, and vice versa; if both are unreadable,
    the status is `parse_error` (or `refusal`, judging by the wording).

    Examples:
        >>> reply = "ELEMENT: H\\nACTION: TYPE\\nVALUE: Ohio"
        >>> answer = read_answer(reply, ["x"] * 9, none_letter="J")
        >>> answer.status, answer.option, answer.operation, answer.value
        (<Status.ANSWERED: 'answered'>, 7, 'TYPE', 'Ohio')

    Raises `ValueError` for letters that do not fit the options and for an unknown `finish`.
    """
    labels = _labels(options, letters, none_letter)
    return read_named(
        text,
        lambda content: read_element(content, labels, first_of_many=first_of_many),
        lambda shadow: read_prose(shadow, labels),
        finish=finish,
        value_style=value_style,
    )


def read_named(
    text: str,
    named: Callable[[Source], ElementReading],
    named_in_prose: Callable[[str], ElementReading],
    *,
    finish: str = "stop",
    value_style: ValueStyle = "plain",
) -> Answer:
    """Parse a reply whose element is named in some other way than by a letter.

    `named` reads the content of an ELEMENT line, `named_in_prose` a reply without one. The rest is
    as in `read_answer`.
    """
    reply = open_reply(text, finish)
    if isinstance(reply, Nothing):
        return Answer(reply.status, flags=reply.flags)
    whole, reply = as_lines(reply), as_lines(reply.inside or reply)
    blocks = read_blocks(reply)
    if not any(block.complete for block in blocks):
        reply, blocks = whole, read_blocks(whole)
    block, flags = choose_answer(
        [block for block in blocks if not block.template],
        reply,
        lambda block: block.complete and (block.whole or not reply.cut),
    )
    if block is None:
        if reply.cut:
            return Answer(Status.TRUNCATED)
        block = _best(blocks)
    if block is None or block.element is None:
        return _from_prose(reply, block, named_in_prose, flags, value_style)
    flags |= _dropped(block, blocks)
    element, operation = named(block.element), block.operation
    if block.action is None and mentions_operation(reply.shadow):
        operation = operation_in_prose(reply.shadow)
        flags.add("prose" if operation.readable else "unknown_action")
    if element.status is Status.NO_ELEMENT and not operation.readable:
        element = ElementReading(_why_nothing(reply, block))
    return _answer(element, operation, block, flags, value_style)


def _dropped(block: Block, blocks: Sequence[Block]) -> set[str]:
    """Return the flag `multiple` if another operation or value follows the answer."""
    value = clean_value(block.value.text) if block.value else ""
    for other in blocks:
        if other.start >= block.end and not other.complete and not other.template:
            said = clean_value(other.value.text) if other.value else ""
            operations = {other.operation.operation, block.operation.operation} - {None}
            if len(operations) > 1 or not (is_missing(said) or said == value):
                return {"multiple"}
    return set()


def _why_nothing(reply: Source, block: Block) -> Status:
    """Return the status of an answer block without a readable element or operation.

    A lone ELEMENT line that names no option still is an answer about the element. An empty one, an
    echoed template, and one next to an unreadable action are not.
    """
    if refuses(reply.shadow):
        return Status.REFUSAL
    content = block.element.shadow.strip() if block.element else ""
    alone = block.action is None and not block.template
    return Status.NO_ELEMENT if alone and content else Status.PARSE_ERROR


def _labels(options: Sequence[str], letters: Sequence[str] | None, none: str | None) -> Labels:
    if none is not None and not is_letter(none):
        raise ValueError(f"not an option letter for None: {none!r}")
    if letters is None:
        letters = letters_for(len(options), none)
    index = {letter: position for position, letter in enumerate(letters)}
    if len(letters) != len(options) or len(index) != len(letters) or none in index:
        raise ValueError("every option needs its own letter, different from that of None")
    if not all(is_letter(letter) for letter in index):
        raise ValueError(f"option letters run from A to ZZ, got {list(letters)}")
    return Labels(index, none, options)


def _best(blocks: Sequence[Block]) -> Block | None:
    """Return the block to use if none is complete: the last that names an element, else the
    last."""
    for block in reversed(blocks):
        if block.element is not None and block.element.shadow.strip() and not block.template:
            return block
    return blocks[-1] if blocks else None


def _from_prose(
    reply: ReplyText,
    block: Block | None,
    named: Callable[[str], ElementReading],
    flags: set[str],
    style: ValueStyle,
) -> Answer:
    """Return the answer of a reply without an ELEMENT line."""
    shadow = reply.shadow
    refused = refuses(shadow)
    if block is not None and block.action is not None:
        operation = block.operation
        # The answer lines say nothing about the element.
        before, behind = shadow[: block.start], shadow[block.end :]
        element = named(before)
        if element.status is Status.NO_ELEMENT and not element.denied and behind.strip():
            element = named(behind)
    else:
        operation = operation_in_prose(shadow)
        element = named(reply.boxed.shadow if reply.boxed else shadow)
    is_named = element.status in (Status.ANSWERED, Status.AMBIGUOUS, Status.OUT_OF_RANGE)
    if refused and block is None and not is_named:
        return Answer(Status.REFUSAL)
    if element.status is Status.NO_ELEMENT and not (operation.readable or element.denied):
        return _answer(ElementReading(Status.PARSE_ERROR), operation, block, flags, style)
    return _answer(element, operation, block, flags | {"prose"}, style)


def _answer(
    element: ElementReading,
    operation: OperationReading,
    block: Block | None,
    flags: set[str],
    style: ValueStyle,
) -> Answer:
    written = block.value.text if block is not None and block.value is not None else ""
    action = block.action.text if block is not None and block.action is not None else ""
    value, missing = said_value(operation.operation, written, style, action)
    named = block is not None and block.action is not None
    flags = {*flags, *element.flags, *operation.flags(named=named), *missing}
    return Answer(element.status, element.option, operation.operation, value, tuple(sorted(flags)))


def write_answer(
    option: int | None,
    operation: Operation | None,
    value: str,
    *,
    letters: Sequence[str],
    none_letter: str | None,
) -> str:
    """Write ELEMENT, ACTION and VALUE lines that `read_answer` parses into the same answer.

    `option` is an index into `letters`, None for the None option. A value whose own quotes
    or bold marks would be stripped on parsing is wrapped in quotes that it does not contain. The
    format does not preserve everything: line breaks and runs of blanks become one blank, and a
    value that is itself a word for "no value" (None, N/A, null) is read as missing.

    Examples:
        >>> write_answer(1, "TYPE", "Ohio", letters="ABC", none_letter="D")
        'ELEMENT: B\\n\\nACTION: TYPE\\n\\nVALUE: Ohio'

    Raises `IndexError` if `option` is not an index of `letters`.
    """
    if option is None:
        element = none_letter or "None"
    elif 0 <= option < len(letters):
        element = letters[option]
    else:
        raise IndexError(f"option {option} of {len(letters)}")
    written = "None" if operation not in ("TYPE", "SELECT") or not value else written_value(value)
    return f"ELEMENT: {element}\n\nACTION: {operation or 'NONE'}\n\nVALUE: {written}"
